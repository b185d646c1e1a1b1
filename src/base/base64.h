// Decoding base64; encoding is in text.h.
#pragma once

#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock {

// RFC 4648, strictly: no white space, padded, and no bits left over in the last group, so that
// bytes have one spelling.
Result<std::string> from_base64(std::string_view text);

}  // namespace paddock
