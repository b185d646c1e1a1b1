// Sizes and durations as people write them: 256M, 1.5G, 500ms, 2m.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock {

// K M G T are 1024-based; a plain number is bytes.
Result<uint64_t> parse_size(std::string_view text);
// ms s m h; to milliseconds; a unit is required.
Result<uint64_t> parse_duration(std::string_view text);
Result<uint64_t> parse_age(std::string_view text);  // a duration that may also be in days: 90d
Result<uint64_t> parse_count(std::string_view text);
// A number of a protocol: digits and nothing else, at most so many of them. None: it is not one.
std::optional<int64_t> parse_digits(std::string_view text, size_t most_digits = 18);
Result<uint64_t> parse_cores(std::string_view text);  // "0.5" → 500 millicores

// The value of a limit as it stands on a command line or in a policy file, in the limit's unit.
// Never 0.
Result<uint64_t> parse_limit(const LimitInfo& limit, std::string_view text);

// The reverse: "256M", "30s", "64", "0.5".
std::string format_limit(const LimitInfo& limit, uint64_t value);
std::string format_duration(uint64_t milliseconds);
std::string format_age(uint64_t milliseconds);

}  // namespace paddock
