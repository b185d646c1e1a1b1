// The services of envd: processes and files by Connect-RPC, whole files over plain HTTP. Each is
// defined in the file that is named after it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/e2b/envd_rpc.h"

namespace paddock::api {

// process.Process: starting commands and terminals, and what one does with them while they run.
io::Task<Reply> serve_process(SandboxCall& envd, std::string method);
// filesystem.Filesystem: looking at files, moving, making and removing them, and watching
// directories.
io::Task<Reply> serve_filesystem(SandboxCall& envd, std::string method);

// Watching directories: as a stream of events, and as watchers that collect them until they are
// asked for.
io::Task<Result<Reply>> watch_directory(SandboxCall& envd, Value message);
io::Task<Result<Reply>> create_watcher(SandboxCall& envd, Value message);
io::Task<Result<Reply>> watcher_events(SandboxCall& envd, Value message);
io::Task<Result<Reply>> remove_watcher(SandboxCall& envd, Value message);

// /files: whole files over plain HTTP.
io::Task<Result<Reply>> download_file(SandboxCall& envd);
io::Task<Result<Reply>> upload_files(SandboxCall& envd);
io::Task<Result<Reply>> compose_files(SandboxCall& envd);
// {"code":404,"message":"…"}: what /files answers when it fails. The status is that of the error's
// Connect code, but a full disk is 507.
Reply file_error(SandboxCall& envd, const Error& error);

// What X-Metadata-* headers say: at most 4096 bytes, printable ASCII.
Result<std::map<std::string, std::string>> metadata_of(const std::vector<net::Header>& headers);
Value entry_info(const Value& entry);  // a guest's entry as E2B's EntryInfo
// Since 1970: "2026-01-01T00:00:00.123456789Z".
std::string rfc3339_nanoseconds(int64_t nanoseconds);
// How the end of a process is told, in the words of Go, which E2B's clients show:
// {"exitCode":3,"exited":true,"status":"exit status 3","error":"exit status 3"}, from a guest's
// {"code":3}; without "error" for 0; "signal: killed" and exitCode -1 from {"signal":"SIGKILL"} or
// {"signal":9}. `limit`: the limit that ended it, in words; it stands in front of the error.
Value end_event(const Value& result, const std::string& limit = "");

}  // namespace paddock::api
