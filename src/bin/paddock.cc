// paddock: the slim program. It links almost nothing, so that `paddock run` starts in well under a
// millisecond; what needs more libraries is handed over to paddock-server.
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/text.h"
#include "bin/commands.h"
#include "cli/cli.h"

namespace {
using namespace paddock;

int hand_over(char** argv) {
  char path[4096];
  ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  std::string program(path, size > 0 ? static_cast<size_t>(size) : 0),
      folder = program.substr(0, program.rfind('/'));
  for (const char* relative : {"/paddock-server", "/../libexec/paddock/paddock-server"})
    ::execv((folder + relative).c_str(), argv);
  return cli::report({Code::not_found, "find paddock-server beside paddock",
                      "build or install all of Paddock's programs together"},
                     false);
}

int usage(bool wanted) {
  std::string text =
      "paddock: let agents run, inside the fence\n\nusage: paddock COMMAND [OPTIONS]\n\n";
  for (const Entry& entry : kEntries)
    text += cat("  ", entry.name, std::string(10 - std::strlen(entry.name), ' '), entry.what, "\n");
  text +=
      "\ntry: paddock run -- python3 -c 'print(1)'      options of each: paddock COMMAND --help\n";
  (wanted ? cli::print : cli::print_error)(text);
  return wanted ? 0 : cli::kFailed;
}

int dispatch(int argc, char** argv) {
  if (argc < 2) return usage(false);
  std::string command = argv[1];
  if (command == "--help" || command == "-h" || command == "help") return usage(true);
  if (command == "--version") return cli::version_main(argc - 1, argv + 1);
  std::vector<std::string> names;
  for (const Entry& entry : kEntries)
    if (names.emplace_back(entry.name) == command)
      return entry.main ? entry.main(argc - 1, argv + 1) : hand_over(argv);
  std::string meant = nearest(command, names);
  return cli::report({Code::invalid, cat("there is no command '", printable(command), "'"),
                      meant.empty() ? "see: paddock --help" : cat("did you mean: paddock ", meant)},
                     false);
}

}  // namespace

// No exit handlers: there is nothing left to do.
int main(int argc, char** argv) { ::_exit(dispatch(argc, argv)); }
