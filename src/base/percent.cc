#include "base/percent.h"

#include <algorithm>

namespace paddock {

namespace {

// The value of a hex digit, or -1.
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// Decodes escapes. A malformed one stays as it is, and sets `malformed`.
std::string decode(std::string_view text, bool& malformed) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    int high = text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    malformed = malformed || (text[i] == '%' && low < 0);
    decoded += low < 0 ? text[i] : static_cast<char>(high << 4 | low);
    if (low >= 0) i += 2;
  }
  return decoded;
}

}  // namespace

std::string percent_encode(std::string_view text) {
  static const char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (char c : text) {
    if (is_unreserved(c))
      encoded += c;
    else
      encoded += {'%', kHex[static_cast<unsigned char>(c) >> 4], kHex[c & 15]};
  }
  return encoded;
}

std::string percent_decode(std::string_view text) {
  bool malformed = false;
  return decode(text, malformed);
}

std::optional<std::string> percent_decode_strictly(std::string_view text) {
  bool malformed = false;
  std::string decoded = decode(text, malformed);
  if (malformed) return std::nullopt;
  return decoded;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query,
                                                             bool plus_is_blank) {
  std::vector<std::pair<std::string, std::string>> pairs;
  auto decoded = [&](std::string_view text) {
    std::string copy(text);
    if (plus_is_blank) std::replace(copy.begin(), copy.end(), '+', ' ');
    return percent_decode(copy);
  };
  while (!query.empty()) {
    size_t end = std::min(query.find('&'), query.size());
    std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    size_t equals = std::min(pair.find('='), pair.size());
    pairs.emplace_back(decoded(pair.substr(0, equals)),
                       decoded(pair.substr(std::min(equals + 1, pair.size()))));
  }
  return pairs;
}

}  // namespace paddock
