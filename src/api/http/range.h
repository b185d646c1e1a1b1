// "Range: bytes=…" of HTTP (RFC 9110, section 14).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::api {

// Part of a file. Never empty.
struct ByteRange {
  uint64_t offset = 0, length = 0;
};

// The one range of the header, in a file of `size` bytes. None: the header is absent, or asks for
// what a server need not give (several ranges, another unit). Code::invalid: nothing of the file
// lies in it.
Result<std::optional<ByteRange>> parse_range(std::string_view header, uint64_t size);

std::string content_range(const ByteRange& range, uint64_t size);  // "bytes 0-9/100"
std::string unsatisfied_range(uint64_t size);                      // "bytes */100", with a 416

}  // namespace paddock::api
