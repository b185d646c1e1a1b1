// paddock-guest: the first process of a living sandbox, started by paddock-launch; and under the
// name of sudo its client inside.
#include <string_view>

#include "guest/sudo.h"

int main(int argc, char** argv) {
  using namespace paddock::guest;
  std::string_view name = argc > 0 ? argv[0] : "";
  if (name == "sudo" || name.ends_with("/sudo")) return sudo_main(argc, argv);
  run_guest(0, kSudoSocket);
}
