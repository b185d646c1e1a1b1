#include "policy/load.h"

#include <algorithm>

#include "base/text.h"
#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/presets.h"

namespace paddock::policy {

namespace {

bool is_preset(const std::string& name) {
  std::vector<std::string> names = preset_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Decides the error only: a missing file with such a name is reported as a file, another as a
// preset.
bool looks_like_a_file(const std::string& name) {
  return name.find('/') != std::string::npos || ends_with(name, ".toml") ||
         ends_with(name, ".json");
}

// "conf/agent.toml" → "./conf/". A leading ~ is the shell's business: here it is a name like any
// other.
std::string directory_of(const std::string& path) {
  std::string directory = path.substr(0, path.rfind('/') + 1);  // empty without a slash
  return starts_with(directory, "/") ? directory : "./" + directory;
}

// A preset's name wins over a file of the same name in the current directory, so that a file that
// an agent drops there cannot replace a preset.
Result<Policy> read_policy(const std::string& name, const LoadContext& context) {
  if (is_preset(name)) return preset(name);
  Result<std::string> text = context.read(name);
  // For its error.
  if (!text && text.error().code == Code::not_found && !looks_like_a_file(name))
    return preset(name);
  if (!text)
    return Error{text.error().code, cat("policy '", printable(name), "': ", text.error().message),
                 text.error().hint};
  DecodeContext paths{context.paths};
  paths.base_directory = TRY(absolute_path(directory_of(name), context.paths));
  return decode_text(text.value(), name, paths);
}

}  // namespace

Result<std::vector<Layer>> load_layers(const std::string& name, const LoadContext& context) {
  Policy policy = TRY(read_policy(name, context));
  std::vector<Layer> layers;
  if (!policy.extends.empty())
    layers.push_back({.policy = TRY(preset(policy.extends)), .named = false});
  layers.push_back({.policy = std::move(policy), .named = true});
  return layers;
}

// The flags are decoded like a file of their own. Wide network entries in them are judged after the
// combination, since a flag has no [danger] to accept them in.
Result<Combined> load(const std::vector<std::string>& names, const Policy& call,
                      const LoadContext& context) {
  std::vector<Layer> layers;
  for (const std::string& name : names)
    for (Layer& layer : TRY(load_layers(name, context))) layers.push_back(std::move(layer));
  DecodeContext flags{context.paths};
  flags.refuse_wide_network = false;
  Policy checked = TRY(decode(to_value(call, Secrets::kept), "command line", flags));
  Combined combined = TRY(combine(layers, checked, TRY(preset("default"))));
  TRY(refused(combined.refusals,
              "ask for less, or change the policy: what a call asks for is given or refused"));
  return combined;
}

}  // namespace paddock::policy
