// paddock-probe: what `paddock verify` runs inside a sandbox, to try what the policy forbids. Not
// meant to be run by hand; probe/probe.h says how it is called.
#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "probe/probe.h"

namespace {

int refuse(const std::string& why) {
  (void)paddock::write_all(2, paddock::cat("paddock-probe: ", why, "\n"));
  return 125;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace paddock;
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "exceed")
    return probe::exceed(words[1], std::strtoull(words[2].c_str(), nullptr, 10));
  if (words.empty() || words[0] != "check")
    return refuse("is started by paddock verify, not by hand");
  Result<probe::Targets> targets = probe::parse_targets({words.begin() + 1, words.end()});
  if (!targets) return refuse(targets.error().message);
  probe::check_all(targets.value());
  return 0;
}
