#include "api/http/range.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace paddock::api {

Result<std::optional<ByteRange>> parse_range(std::string_view header, uint64_t size) {
  std::optional<ByteRange> none;
  if (!starts_with(header, "bytes=") || header.find(',') != std::string_view::npos) return none;
  std::string_view text = header.substr(6);
  size_t dash = text.find('-');
  if (dash == std::string_view::npos) return none;
  std::optional<uint64_t> first = parse_digits(text.substr(0, dash)),
                          last = parse_digits(text.substr(dash + 1));
  // Not a range at all: ignored.
  if ((!first && dash > 0) || (!last && dash + 1 < text.size()) || (!first && !last)) return none;
  if (first && last && *last < *first) return none;
  Error unsatisfiable{Code::invalid, cat("read a range: '", printable(header),
                                         "' lies outside of the file's ", size, " bytes")};
  if (!first) {  // the last so many
    if (*last == 0 || size == 0) return unsatisfiable;
    uint64_t length = std::min(*last, size);
    return std::optional<ByteRange>(ByteRange{size - length, length});
  }
  if (*first >= size) return unsatisfiable;
  uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  return std::optional<ByteRange>(ByteRange{*first, end - *first + 1});
}

std::string content_range(const ByteRange& range, uint64_t size) {
  return cat("bytes ", range.offset, "-", range.offset + range.length - 1, "/", size);
}

std::string unsatisfied_range(uint64_t size) { return cat("bytes */", size); }

}  // namespace paddock::api
