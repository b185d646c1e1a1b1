// A command line of a shell taken apart into the commands it would run, as far as that can be told
// word by word. What hides a command (a substitution, a variable, a wrapper such as env or xargs,
// an option that runs a program) is refused with the reason: it is judged by its effect, and an
// effect that cannot be seen is no effect that was allowed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "paddock/error.h"

namespace paddock::policy {

using Command = std::vector<std::string>;  // its words

// The simple commands of a line, in order: "git fetch && git log | head" has three.
Result<std::vector<Command>> commands_in(std::string_view line);

// Refuses what would make the program run or overwrite something that its words do not show by
// themselves: find -exec, git -c, tar --to-command, ….
Result<void> check_command(const Command& command);

// Programs and shell words that run or set up other commands: to list one would be to allow
// everything. Null: it is none; else why.
const char* runs_other_commands(std::string_view name);

}  // namespace paddock::policy
