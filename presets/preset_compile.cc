// Build step: presets (TOML) → JSON in a C++ table. JSON is read several times faster when a run
// starts.
#include <cstdio>
#include <fstream>

#include "base/fd.h"
#include "base/text.h"
#include "base/value.h"

using namespace paddock;

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: preset_compile OUTPUT PRESET…\n"), 1;
  std::ofstream out(argv[1]);
  out << "#include \"presets/presets.h\"\n\nnamespace paddock {\n\nconst EmbeddedPreset "
         "kEmbeddedPresets[] = {\n";
  for (int i = 2; i < argc; ++i) {
    Result<std::string> text = read_file(argv[i]);
    Result<Value> value = text ? parse_toml(text.value(), argv[i]) : Result<Value>(text.error());
    if (!value)
      return std::fprintf(stderr, "preset_compile: %s\n", value.error().message.c_str()), 1;
    std::string name = split(argv[i], '/').back();
    out << "    {\"" << name.substr(0, name.find('.')) << "\", R\"PRESET(" << to_json(value.value())
        << ")PRESET\"},\n";
  }
  out << "};\nconst size_t kEmbeddedPresetCount = sizeof kEmbeddedPresets / sizeof "
         "*kEmbeddedPresets;\n\n}  // namespace paddock\n";
  return out.good() ? 0 : 1;
}
