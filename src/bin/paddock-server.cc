// paddock-server: the sub-commands that need more libraries than the slim program should link.
// Started by paddock.
#include "cli/cli.h"
#include "cli/living.h"

namespace {

using namespace paddock;

constexpr cli::Verb kCommands[] = {
    {"image", cli::image_main, ""},
    {"serve", cli::serve_main, ""},
    {"key", cli::key_main, ""},
    {"create", cli::create_main, ""},
    {"ls", cli::ls_main, ""},
    {"exec", cli::exec_main, ""},
    {"cp", cli::cp_main, ""},
    {"logs", cli::logs_main, ""},
    {"pause", cli::pause_main, ""},
    {"resume", cli::resume_main, ""},
    {"snapshot", cli::snapshot_main, ""},
    {"fork", cli::fork_main, ""},
    {"kill", cli::kill_main, ""},
    {"top", cli::top_main, ""},
    {"volume", cli::volume_main, ""},
    {"template", cli::template_main, ""},
    {"audit", cli::audit_main, ""},
    {"tool", cli::tool_main, ""},
    {"approve", cli::approve_main, ""},
    {"mcp", cli::mcp_main, ""},
    {"telemetry-send", cli::telemetry_send_main, ""},
};

}  // namespace

int main(int argc, char** argv) {
  if (const cli::Verb* found = argc > 1 ? cli::find_verb(kCommands, argv[1]) : nullptr)
    return found->main(argc - 1, argv + 1);
  return cli::report(
      {Code::invalid, "paddock-server is started by paddock, not by hand", "see: paddock --help"},
      false);
}
