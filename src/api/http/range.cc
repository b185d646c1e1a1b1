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
  bool has_first = dash > 0, has_last = dash + 1 < text.size();
  std::optional<int64_t> first = parse_digits(text.substr(0, dash)),
                         last = parse_digits(text.substr(dash + 1));
  // Not a range at all: ignored.
  if (has_first != first.has_value() || has_last != last.has_value()) return none;
  if (!has_first && !has_last) return none;
  uint64_t from = static_cast<uint64_t>(first.value_or(0)),
           to = static_cast<uint64_t>(last.value_or(0));
  if (has_first && has_last && to < from) return none;
  Error unsatisfiable{Code::invalid, cat("read a range: '", printable(header),
                                         "' lies outside of the file's ", size, " bytes")};
  if (!has_first) {  // the last so many
    if (to == 0 || size == 0) return unsatisfiable;
    uint64_t length = std::min(to, size);
    return std::optional<ByteRange>(ByteRange{size - length, length});
  }
  if (from >= size) return unsatisfiable;
  uint64_t end = has_last ? std::min(to, size - 1) : size - 1;
  return std::optional<ByteRange>(ByteRange{from, end - from + 1});
}

std::string content_range(const ByteRange& range, uint64_t size) {
  return cat("bytes ", range.offset, "-", range.offset + range.length - 1, "/", size);
}

std::string unsatisfied_range(uint64_t size) { return cat("bytes */", size); }

}  // namespace paddock::api
