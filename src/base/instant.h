// Points in time as texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock {

// Reads a time such as "2026-01-31T12:00:00.5Z" or "2026-01-31T14:00:00+02:00" (RFC 3339), in
// microseconds since 1970. Finer digits are dropped. A blank counts as the plus of an offset, since
// that is what the query of a URL makes of it.
Result<int64_t> parse_rfc3339(std::string_view text);

// The same, or a day ("2026-01-31", UTC), or how long ago: "90s", "15m", "2h", "3d".
Result<int64_t> parse_instant(std::string_view text, int64_t now_us);

// As HTTP writes it: "Sat, 31 Jan 2026 12:00:00 GMT".
std::string http_date(int64_t seconds);

}  // namespace paddock
