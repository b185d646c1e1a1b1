// Watching directories: as a stream of events, and as watchers that collect them until they are
// asked for.
#pragma once

#include "api/e2b/envd_rpc.h"

namespace paddock::api {

io::Task<Result<Reply>> watch_directory(Envd& envd, Value message);
io::Task<Result<Reply>> create_watcher(Envd& envd, Value message);
io::Task<Result<Reply>> watcher_events(Envd& envd, Value message);
io::Task<Result<Reply>> remove_watcher(Envd& envd, Value message);

}  // namespace paddock::api
