// paddock: the slim program. It links almost nothing, so that `paddock run` starts in well under a
// millisecond; what needs more libraries is handed over to paddock-server.
#include <unistd.h>

#include "base/text.h"
#include "bin/commands.h"
#include "cli/cli.h"
#include "launch/launcher.h"

namespace {
using namespace paddock;

// The arguments stay as they are: paddock-server has the same sub-commands.
int hand_over(char** argv) {
  Result<std::string> program = launch::find_program("paddock-server");
  if (!program) return cli::report(program.error(), false);
  ::execv(program.value().c_str(), argv);
  return cli::report(errno_error(errno, cat("start ", program.value())), false);
}

int usage(bool wanted) {
  std::string text =
      cat("paddock: let agents run, inside the fence\n\nusage: paddock COMMAND [OPTIONS]\n\n",
          cli::list_verbs(kCommands),
          "\ntry: paddock run -- python3 -c 'print(1)'      options of each: paddock COMMAND "
          "--help\n");
  (wanted ? cli::print : cli::print_error)(text);
  return wanted ? 0 : cli::kFailed;
}

// Finds the command. Nothing is loaded or opened before it is known which one runs.
int dispatch(int argc, char** argv) {
  if (argc < 2) return usage(false);
  std::string command = argv[1];
  if (command == "--help" || command == "-h" || command == "help") return usage(true);
  if (command == "--version") return cli::version_main(argc - 1, argv + 1);
  if (const cli::Verb* found = cli::find_verb(kCommands, command))
    return found->main ? found->main(argc - 1, argv + 1) : hand_over(argv);
  std::string meant = cli::nearest_verb(kCommands, command);
  return cli::report({Code::invalid, cat("there is no command '", printable(command), "'"),
                      meant.empty() ? "see: paddock --help" : cat("did you mean: paddock ", meant)},
                     false);
}

}  // namespace

// No exit handlers: there is nothing left to do.
int main(int argc, char** argv) { ::_exit(dispatch(argc, argv)); }
