// Paddock as a C++ library: a program that works, one that a limit stops, and one that wants a
// network it does not have.
#include <cstdio>

#include "paddock/paddock.h"

namespace {

void show(const char* what, const std::string& code, const paddock::Policy& policy) {
  paddock::Result<paddock::RunResult> result =
      paddock::run({.argv = {"python3", "-c", code}}, policy);
  if (!result) {
    std::printf("%s: refused: %s\n", what, result.error().message.c_str());
    return;
  }
  const paddock::RunResult& run = result.value();
  std::printf("%s: exit status %d, stdout: %s", what, paddock::exit_status(run.outcome),
              run.out.empty() ? "(none)\n" : run.out.c_str());
  for (const paddock::LimitHit& hit : run.limits_hit)
    std::printf("  limit %s: value %llu, peak %llu\n", paddock::info(hit.limit).name,
                static_cast<unsigned long long>(hit.value),
                static_cast<unsigned long long>(hit.peak));
  for (const paddock::Denial& denial : run.denials)
    std::printf("  denied: %s (%s: %s)\n", denial.action.c_str(), denial.rule.c_str(),
                denial.why.c_str());
}

}  // namespace

int main() {
  paddock::Policy policy;
  policy.limits[paddock::LimitKind::memory] = 64 << 20;
  policy.limits[paddock::LimitKind::wall_time] = 20'000;  // milliseconds
  show("sum", "print(sum(range(10)))", policy);
  show("memory", "x = bytearray(512 << 20)", policy);

  policy.network.allow = {{"pypi.org"}};
  show("network",
       "import socket\ntry: socket.create_connection(('evil.example', 443), 5)\nexcept OSError as "
       "error: print(error)",
       policy);
}
