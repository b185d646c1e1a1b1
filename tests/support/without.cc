// paddock-without LAYER[,LAYER…] [flags of paddock run] -- COMMAND: the same plan with layers taken
// out by hand.
//
// For tests only: it shows that an attack is real when nothing stands in its way, and that any one
// of the layers is enough to stop it. The product has no such switch.
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "support/layers.h"

int main(int argc, char** argv) {
  using namespace paddock;
  if (argc < 3)
    return cli::report({Code::invalid, "usage: paddock-without LAYERS [FLAGS] -- COMMAND", ""},
                       false);
  std::vector<std::string> layers = split(argv[1], ',');
  return cli::run_edited(argc - 1, argv + 1, [&](runs::Prepared& prepared) -> Result<void> {
    for (const std::string& layer : layers) TRY(tests::remove_layer(prepared, layer));
    tests::mend(prepared);
    return {};
  });
}
