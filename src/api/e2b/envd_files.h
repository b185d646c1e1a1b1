// /files of envd: whole files over plain HTTP.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "api/e2b/envd_rpc.h"

namespace paddock::api {

io::Task<Result<Reply>> download_file(SandboxCall& envd);
io::Task<Result<Reply>> upload_files(SandboxCall& envd);
io::Task<Result<Reply>> compose_files(SandboxCall& envd);

// {"code":404,"message":"…"}: what /files answers when it fails. The status is that of the error's
// Connect code, but a full disk is 507.
Reply file_error(SandboxCall& envd, const Error& error);

// What X-Metadata-* headers say: at most 4096 bytes, printable ASCII.
Result<std::map<std::string, std::string>> metadata_of(const std::vector<net::Header>& headers);

}  // namespace paddock::api
