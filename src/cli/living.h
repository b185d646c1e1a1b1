// The commands about living sandboxes, all in paddock-server: each asks a running server
// (client/client.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/percent.h"
#include "base/value.h"
#include "client/client.h"
#include "paddock/error.h"

namespace paddock::cli {

using client::Client;
using client::Response;
using client::sandbox_path;

int create_main(int argc, char** argv);
int ls_main(int argc, char** argv);
int exec_main(int argc, char** argv);
int cp_main(int argc, char** argv);
int logs_main(int argc, char** argv);
int pause_main(int argc, char** argv);
int resume_main(int argc, char** argv);
int snapshot_main(int argc, char** argv);
int fork_main(int argc, char** argv);
int kill_main(int argc, char** argv);
int top_main(int argc, char** argv);
int volume_main(int argc, char** argv);

// Does `act` for each name with one client; all are tried. Prints the names that went well, a line
// each, or {"sandboxes":[…],"errors":[…]}. Returns the exit status.
using EachAct = std::function<Result<Value>(const Client& client, const std::string& name)>;
Result<int> for_each(const std::vector<std::string>& names, bool json, const EachAct& act);

// Calls `take` with each line of a response that is a stream of lines, until it ends. Empty lines
// only keep the connection alive.
Result<void> for_each_line(Response& response,
                           const std::function<Result<void>(const std::string& line)>& take);

// All of them, page after page. `all`: the ended ones that the server still knows too.
Result<std::vector<Value>> list_sandboxes(const Client& client, bool all);

int64_t now_ms();  // since 1970

}  // namespace paddock::cli
