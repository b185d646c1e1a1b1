// filesystem.Filesystem of envd: looking at files, moving, making and removing them, and watching
// directories.
#pragma once

#include "api/e2b/envd_rpc.h"

namespace paddock::api {

io::Task<Reply> serve_filesystem(SandboxCall& envd, std::string method);

Value entry_info(const Value& entry);  // a guest's entry as E2B's EntryInfo
// Since 1970: "2026-01-01T00:00:00.123456789Z".
std::string rfc3339_nanoseconds(int64_t nanoseconds);

}  // namespace paddock::api
