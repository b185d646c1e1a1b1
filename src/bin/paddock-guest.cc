// paddock-guest: the first process of a living sandbox, started by paddock-launch; and under the name of sudo its client inside.
#include <string_view>

#include "guest/sudo.h"

#if defined(__SANITIZE_ADDRESS__)
// The guest's filter lets nobody change limits, and nobody may trace it.
extern "C" const char* __asan_default_options() { return "disable_coredump=0:detect_leaks=0"; }
#endif

int main(int argc, char** argv) {
  using namespace paddock::guest;
  std::string_view name = argc > 0 ? argv[0] : "";
  if (name == "sudo" || name.ends_with("/sudo")) return sudo_main(argc, argv);
  run_guest(0, kSudoSocket);
}
