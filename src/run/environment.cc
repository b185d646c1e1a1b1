#include "run/environment.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "redact/redact.h"

namespace paddock::runs {

namespace {

// Variables that make common programs load code or run commands. The list cannot be complete; it
// serves notes for people, and denies nothing.
constexpr std::string_view kPrefixes[] = {"LD_", "BASH_FUNC_", "GIT_CONFIG"};
constexpr std::string_view kNames[] = {
    // libc and shells
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "LOCPATH",
    "BASH_ENV",
    "ENV",
    "ZDOTDIR",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    // interpreters
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONWARNINGS",
    "PYTHONBREAKPOINT",
    "PYTHONUSERBASE",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5OPT",
    "PERL5LIB",
    "PERLLIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    // git and what it starts
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "SSH_ASKPASS",
    "PAGER",
    "LESSOPEN",
    "LESSCLOSE",
};

}  // namespace

bool steers_programs(std::string_view name) {
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return starts_with(name, prefix); }) ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// What a call passes and what the policy sets are looked at; values are never quoted.
std::vector<std::string> environment_notes(const Command& command, const Policy& policy) {
  std::vector<std::string> notes;
  for (const auto& [name, value] : command.env) {
    if (std::string why = redact::looks_secret(name, value); !why.empty())
      notes.push_back(cat(name, " looks like a secret (", why,
                          "): pass it with --secret so that it is kept out of output"));
    if (steers_programs(name))
      notes.push_back(
          cat(name, " makes programs inside load or run what it names, and was passed in"));
  }
  for (const auto& [name, value] : policy.env.set) {
    if (command.env.count(name)) continue;  // the call's own stands in its place
    if (std::string why = redact::looks_secret(name, value); !why.empty())
      notes.push_back(
          cat(name, " of env.set looks like a secret (", why,
              "): pass it with --secret so that it is kept out of output, and out of the policy"));
  }
  return notes;
}

}  // namespace paddock::runs
