// What the native and the E2B side of templates share.
#pragma once

#include "api/http/call.h"
#include "template/builder.h"

namespace paddock::api {

Value describe(const store::Template& record);         // native
Value describe_log(const templates::BuildLog& entry);  // native and E2B

// Takes the request's body as an archive for COPY steps.
io::Task<Result<void>> take_upload(Call& call, std::string permit);

// The hash that names files for COPY steps: 64 hexadecimal digits.
bool is_files_hash(const std::string& text);
// Lets the files that the path names be uploaded once.
Result<std::string> permit_upload(Call& call);

}  // namespace paddock::api
