#include "policy/presets.h"

#include "base/text.h"
#include "policy/cursor.h"
#include "policy/decode.h"
#include "presets/presets.h"

namespace paddock::policy {

// The presets are compiled into the program (presets/*.toml), so that no file on the host can
// change what a name such as `strict` means.
std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (size_t i = 0; i < kEmbeddedPresetCount; ++i) names.push_back(kEmbeddedPresets[i].name);
  return names;
}

Result<Policy> preset(const std::string& name) {
  for (size_t i = 0; i < kEmbeddedPresetCount; ++i)
    if (name == kEmbeddedPresets[i].name) return decode_text(kEmbeddedPresets[i].json, name, {});
  std::string list = cat("presets: ", join(preset_names(), ", "));
  std::string meant = suggestion(name, preset_names());
  return Error{
      Code::not_found, cat("policy '", printable(name), "': no preset has this name"),
      meant.empty() ? cat(list, "; a file is named by its path") : cat(meant, " (", list, ")")};
}

}  // namespace paddock::policy
