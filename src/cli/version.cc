#include "cli/cli.h"
#include "cli/options.h"

namespace paddock::cli {

int version_main(int argc, char** argv) {
  bool json = false;
  Options options("version", "Prints the version.");
  options.flag("--json", &json, "as JSON");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Value value;
  value.set("version", PADDOCK_VERSION);
  print(json ? to_json(value) + "\n" : std::string("paddock ") + PADDOCK_VERSION + "\n");
  return 0;
}

}  // namespace paddock::cli
