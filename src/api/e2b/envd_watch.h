// Watching directories: as a stream of events, and as watchers that collect them until they are
// asked for.
#pragma once

#include "api/e2b/envd_rpc.h"

namespace paddock::api {

io::Task<Result<Reply>> watch_directory(SandboxCall& envd, Value message);
io::Task<Result<Reply>> create_watcher(SandboxCall& envd, Value message);
io::Task<Result<Reply>> watcher_events(SandboxCall& envd, Value message);
io::Task<Result<Reply>> remove_watcher(SandboxCall& envd, Value message);

}  // namespace paddock::api
