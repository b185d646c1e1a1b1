#include "cli/cli.h"
namespace paddock::cli {
__attribute__((weak)) int doctor_main(int, char**) { return 1; }
}
