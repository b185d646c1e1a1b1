// paddock-launch: makes one sandbox from a finished plan and keeps it. Started by paddock with its
// control socket as descriptor 3; not meant to be run by hand.
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "launch/boot.h"
#include "launch/carrier.h"
#include "launch/keeper.h"

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string_view(paddock::launch::kCarriedArgument))
    paddock::launch::carry_inside(paddock::Fd(0));
  struct stat info;
  if (::fstat(3, &info) != 0 || !S_ISSOCK(info.st_mode)) {
    static const char kMessage[] = "paddock-launch is started by paddock, not by hand\n";
    (void)!::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
    return 125;
  }
  if (argc > 1 && argv[1] == std::string_view(paddock::launch::kInsideArgument))
    paddock::launch::launch_inside();
  // With any other argument, a container's namespaces are made ahead of the plan.
  return paddock::launch::keep(3, argc > 1);
}
