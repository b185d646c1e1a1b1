// Build step: the built-in tools (JSON) → a C++ table of their definitions, as clients get them.
//
// Two things keep the files readable: a description may be a list of pieces, and a member "$name"
// stands for the members that shared.json has under that name.
#include <cstdio>
#include <fstream>

#include "base/fd.h"
#include "base/text.h"
#include "base/value.h"

using namespace paddock;

namespace {

Result<Value> read_json(const std::string& path) {
  std::string text = TRY(read_file(path));
  return parse_json(text, path);
}

Value expanded(const Value& value, const Value& shared) {
  if (const Value::Array* items = value.as_array()) {
    Value::Array list;
    for (const Value& item : *items) list.push_back(expanded(item, shared));
    return list;
  }
  if (!value.as_object()) return value;
  Value object{Value::Object{}};
  for (const auto& [key, member] : *value.as_object()) {
    const Value* members = key[0] == '$' ? shared.find(key.substr(1)) : nullptr;
    if (key == "description" && member.as_array())
      object.set(key, join(texts_in(value, key), ""));
    else if (!members)
      object.set(key, expanded(member, shared));
    else
      for (const auto& [name, each] : *members->as_object())
        object.set(name, expanded(each, shared));
  }
  return object;
}

// MCP's definition of a tool has no scope: it is Paddock's own.
std::string definition_of(const Value& tool) {
  Value definition{Value::Object{}};
  for (const auto& [key, member] : *tool.as_object())
    if (key != "scope") definition.set(key, member);
  return to_json(definition);
}

Result<void> compile(int count, char** paths, std::ofstream& out) {
  Value shared = TRY(read_json(paths[0]));
  out << "#include \"presets/presets.h\"\n\nnamespace paddock {\n\nconst EmbeddedTool "
         "kEmbeddedTools[] = {\n";
  for (int i = 1; i < count; ++i) {
    Value tool = expanded(TRY(read_json(paths[i])), shared);
    out << "    {\"" << text_in(tool, "name") << "\", \"" << text_in(tool, "scope")
        << "\", R\"TOOL(" << definition_of(tool) << ")TOOL\"},\n";
  }
  out << "};\nconst size_t kEmbeddedToolCount = sizeof kEmbeddedTools / sizeof "
         "*kEmbeddedTools;\n\n}  // namespace paddock\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: tools_compile OUTPUT SHARED TOOL…\n"), 1;
  std::ofstream out(argv[1]);
  Result<void> compiled = compile(argc - 2, argv + 2, out);
  if (!compiled)
    return std::fprintf(stderr, "tools_compile: %s\n", compiled.error().message.c_str()), 1;
  return out.good() ? 0 : 1;
}
