// `paddock verify` with a hand on every plan, for tests that take a layer out and show that verify
// notices.
#pragma once

#include "cli/run.h"

namespace paddock::cli {

int verify_edited(int argc, char** argv, const EditPrepared& edit);

}  // namespace paddock::cli
