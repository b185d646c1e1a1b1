// SHA-256, from OpenSSL's libcrypto.
#pragma once

#include <string>

#include "paddock/error.h"

namespace paddock::store {

Result<std::string> sha256_of(int file);  // of the whole file, as 64 hex digits

}  // namespace paddock::store
