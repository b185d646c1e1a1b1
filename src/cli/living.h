// The commands about living sandboxes, all in paddock-server: each asks a running server
// (cli/client.h).
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

// "--timeout 5m" and the like into milliseconds, errors naming the flag. "0" is 0: none.
Result<int64_t> duration_flag(const char* flag, const std::string& text);

// Does `act` for each id; all are tried. Prints the ids that went well, a line each, or
// {"sandboxes":[…],"errors":[…]}.
int for_each_sandbox(const std::vector<std::string>& ids, bool json,
                     const std::function<Result<Value>(const Client&, const std::string& id)>& act);

// All of them, page after page. `all`: the ended ones that the server still knows too.
Result<std::vector<Value>> list_sandboxes(const Client& client, bool all);

int64_t now_ms();  // since 1970

}  // namespace paddock::cli
