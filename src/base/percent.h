// Percent-encoding (RFC 3986) and the queries of URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paddock {

// Everything but letters, digits and -._~ becomes %XX.
std::string percent_encode(std::string_view text);
// Malformed escapes stay as they are.
std::string percent_decode(std::string_view text);
// None if a % is not followed by two hexadecimal digits.
std::optional<std::string> percent_decode_strictly(std::string_view text);

// "a=b&c" → {"a","b"},{"c",""}, decoded. '+' is a blank, as in forms, unless told otherwise.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query,
                                                             bool plus_is_blank = true);

}  // namespace paddock
