// paddock-verify-without LAYER[,LAYER…] [flags of paddock verify]: the same probes with layers
// taken out by hand.
//
// For tests only: it shows that verify notices a missing layer. The product has no such switch.
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "support/layers.h"

int main(int argc, char** argv) {
  using namespace paddock;
  if (argc < 2)
    return cli::report({Code::invalid, "usage: paddock-verify-without LAYERS [FLAGS]", ""}, false);
  std::vector<std::string> layers = split(argv[1], ',');
  return cli::verify_edited(argc - 1, argv + 1, [&](runs::Prepared& prepared) -> Result<void> {
    for (const std::string& layer : layers) TRY(tests::remove_layer(prepared, layer));
    tests::mend(prepared);
    return {};
  });
}
