// /files of envd: whole files over plain HTTP.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "api/envd_rpc.h"

namespace paddock::api {

io::Task<void> download_file(Envd& envd);
io::Task<void> upload_files(Envd& envd);
io::Task<void> compose_files(Envd& envd);

// {"code":404,"message":"…"}, the status by the error's Connect code; no room is 507 here.
io::Task<void> answer_file_error(Envd& envd, Error error);

// One range of "Range: bytes=…" in a file of `size` bytes. None: the header is absent, or asks for
// what nobody must give (several ranges, another unit). Code::invalid: nothing of the file lies in
// it.
struct ByteRange {
  uint64_t offset = 0, length = 0;
};
Result<std::optional<ByteRange>> parse_range(std::string_view header, uint64_t size);

// What X-Metadata-* headers say: at most 4096 bytes, printable ASCII.
Result<std::map<std::string, std::string>> metadata_of(const std::vector<net::Header>& headers);

}  // namespace paddock::api
