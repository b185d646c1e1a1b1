#include "cli/policy_flags.h"

#include <algorithm>

#include "base/text.h"
#include "policy/identifier.h"
#include "policy/keys.h"

namespace paddock::cli {

namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

// The flags come from the table of keys, so that a new key needs no change here.
void declare_policy(Options& options, PolicyFlags& flags, const std::vector<std::string>& tables,
                    const std::vector<std::string>& without) {
  options.list("--policy", "FILE|PRESET", &flags.policies,
               "what is allowed; several are combined, each can only narrow");
  for (const auto& key : policy::keys()) {
    const policy::CommandLineFlag& flag = key->words.flag;
    if (flag.name.empty() || !is_among(tables, key->table()) || is_among(without, key->path))
      continue;
    PolicyFlags::Given& given = flags.given[key->path];
    if (key->repeats())
      options.list(flag.name, flag.placeholder, &given.list, flag.what);
    else
      options.text(flag.name, flag.placeholder, &given.text, flag.what);
  }
  options.list("--env", "NAME=VALUE", &flags.env, "set a variable inside");
  options.text("--agent", "NAME", &flags.agent, "who asks for it; stands in the records");
}

// The error never quotes what stands after the equals sign: it may be a secret.
Result<std::pair<std::string, std::string>> assignment(const char* flag, const std::string& text) {
  size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  if (equals == std::string::npos || !policy::is_identifier(name))
    return Error{Code::invalid,
                 cat(flag, " takes NAME=VALUE, not '",
                     printable(equals == std::string::npos ? text : name), "'"),
                 ""};
  return std::pair{name, text.substr(equals + 1)};
}

// Reads every flag by its key. Relative paths and the like are resolved later, as in a file.
Result<Policy> call_policy(const PolicyFlags& flags) {
  Policy call;
  call.name = "the command line";
  for (const auto& key : policy::keys()) {
    auto found = flags.given.find(key->path);
    if (found == flags.given.end()) continue;
    std::vector<std::string> texts = found->second.list;
    if (!found->second.text.empty()) texts.push_back(found->second.text);
    for (const std::string& text : texts)
      if (Result<void> taken = key->take_flag(text, call); !taken)
        return Error{Code::invalid, cat(key->words.flag.name, ": ", taken.error().message),
                     taken.error().hint};
  }
  bool pauses =
      std::any_of(call.monitor.rules.begin(), call.monitor.rules.end(),
                  [](const MonitorRule& rule) { return rule.action == MonitorAction::pause; });
  if (pauses && !flags.lives_on)
    return Error{Code::invalid, "--pause-if: a run that is paused has nobody to resume it",
                 "use --kill-if or --warn-if, or make a sandbox that lives on: paddock create"};
  return call;
}

}  // namespace paddock::cli
