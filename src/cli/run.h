// `paddock run` and `paddock verify` with a chance to edit the plan. For tests that take a layer
// out and show that it was needed; such a run has no report, since nothing of it could be vouched
// for.
#pragma once

#include <functional>

#include "run/prepare.h"

namespace paddock::cli {

using EditPrepared = std::function<Result<void>(runs::Prepared&)>;
int run_edited(int argc, char** argv, const EditPrepared& edit);
int verify_edited(int argc, char** argv, const EditPrepared& edit);

}  // namespace paddock::cli
