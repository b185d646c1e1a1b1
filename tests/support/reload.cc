// paddock-reload HOST -- COMMAND…: runs a command that may reach HOST, through the library. Each
// line on stdin is another allowlist, which takes effect while the command runs; the answer is
// printed.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <thread>

#include "base/text.h"
#include "policy/load.h"
#include "run/run.h"
#include "store/load_context.h"

namespace {

using namespace paddock;

Result<Policy> policy_allowing(const std::vector<std::string>& hosts) {
  Policy call;
  call.network.allow = hosts;
  return TRY(policy::load({}, call, store::load_context())).policy;
}

Result<void> reload(runs::Egress& egress, const std::string& line) {
  return egress.reload(TRY(policy_allowing(words_in(line))));
}

Result<int> run(const std::string& host, const Command& command) {
  runs::Prepared prepared = TRY(runs::prepare(command, TRY(policy_allowing({host})), {}));
  std::weak_ptr<runs::Egress> running = prepared.egress;
  // What stands on stdin is for us, not for the command.
  FILE* orders = ::fdopen(::dup(0), "r");
  (void)!::freopen("/dev/null", "r", stdin);
  std::thread([running, orders] {
    char text[4096];
    while (std::fgets(text, sizeof text, orders)) {
      std::string line(text, std::strcspn(text, "\n"));
      std::shared_ptr<runs::Egress> egress = running.lock();
      if (!egress) return;
      // "!…" goes around the checks of the policy layer, straight to egress.
      Policy raw;
      raw.network.allow = {line.substr(1)};
      Result<void> taken = line[0] == '!' ? egress->reload(raw) : reload(*egress, line);
      std::cout << (taken ? "taken" : "refused: " + taken.error().message) << std::endl;
    }
  }).detach();
  RunResult result = TRY(runs::run(std::move(prepared), {.capture = true}));
  std::cout << to_json(to_value(result)) << std::endl;
  return exit_status(result.outcome);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  Command command{.argv = {argv + 3, argv + argc}};
  Result<int> status = run(argv[1], command);
  if (!status) std::cerr << status.error().message << std::endl;
  std::_Exit(status ? status.value() : 125);
}
