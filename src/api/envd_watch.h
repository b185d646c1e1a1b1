// Watching directories: as a stream of events, and as watchers that collect them until they are
// asked for.
#pragma once

#include "api/envd_rpc.h"

namespace paddock::api {

io::Task<void> watch_directory(Envd& envd);
io::Task<void> create_watcher(Envd& envd);
io::Task<void> watcher_events(Envd& envd);
io::Task<void> remove_watcher(Envd& envd);

}  // namespace paddock::api
