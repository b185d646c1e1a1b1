// paddock-server: the sub-commands that need more libraries than the slim program should link. Started by paddock.
#include <cstring>

#include "cli/cli.h"

int main(int argc, char** argv) {
  using namespace paddock;
  if (argc > 1 && std::strcmp(argv[1], "image") == 0) return cli::image_main(argc - 1, argv + 1);
  return cli::report({Code::invalid, "paddock-server is started by paddock, not by hand", "see: paddock --help"}, false);
}
