// paddock: the slim program. It links almost nothing, so that `paddock run` starts in well under a
// millisecond; what needs more libraries is handed over to paddock-server.
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/cli.h"

namespace {
using namespace paddock;

struct Entry {
  const char* name;
  int (*main)(int, char**);  // null: in paddock-server
  const char* what;
};
constexpr Entry kEntries[] = {
    {"run", cli::run_main, "run a command in a sandbox"},
    {"doctor", cli::doctor_main, "what this host can enforce, and how to fix what it cannot"},
    {"verify", cli::verify_main, "prove with live probes that a policy holds here"},
    {"policy", cli::policy_main, "check, show or explain a policy"},
    {"diff", cli::diff_main, "what a run changed in its copy of the workspace"},
    {"apply", cli::apply_main, "take such changes over"},
    {"image", nullptr, "import, list and remove root filesystems"},
    {"serve", nullptr, "serve living sandboxes over HTTP, for the E2B SDK too"},
    {"key", nullptr, "make, list and revoke API keys of the server"},
    {"create", nullptr, "make a sandbox that lives on"},
    {"ls", nullptr, "list sandboxes"},
    {"exec", nullptr, "run a command in one"},
    {"cp", nullptr, "copy files into one or out of it"},
    {"logs", nullptr, "what happened in one"},
    {"pause", nullptr, "stop one, keeping its processes or its files"},
    {"resume", nullptr, "let it go on"},
    {"snapshot", nullptr, "keep its files as a template"},
    {"fork", nullptr, "make copies of one"},
    {"kill", nullptr, "end one"},
    {"top", nullptr, "what sandboxes use, as it changes"},
    {"template", nullptr, "build, list and remove templates"},
    {"volume", nullptr, "make, list and remove volumes"},
    {"audit", nullptr, "what was recorded, and proof that it is still what was recorded"},
    {"mcp", nullptr, "serve tools to MCP clients: sandboxes, and other servers behind a fence"},
    {"tool", nullptr, "call the tools of a policy, or see what it would decide"},
    {"approve", nullptr, "calls of tools that wait for your word, and the word"},
    {"version", cli::version_main, "print the version"},
};

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
