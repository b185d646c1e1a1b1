// process.Process of envd: starting commands and terminals, and what one does with them while they
// run.
#pragma once

#include "api/envd_rpc.h"

namespace paddock::api {

io::Task<void> serve_process(Envd& envd, std::string method);

}  // namespace paddock::api
