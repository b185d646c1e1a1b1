#include "net/connect_rpc.h"

#include <algorithm>

#include "base/text.h"
#include "net/bytes.h"

namespace paddock::net {

void append_envelope(std::string_view message, uint8_t flags, std::string& out) {
  out += static_cast<char>(flags);
  append_number(out, message.size(), 4);
  out += message;
}

Result<std::string_view> only_envelope(std::string_view body) {
  ByteReader reader(body);
  uint32_t flags = reader.number(1);
  std::string_view message = reader.counted(4);
  if (!reader.ok()) return Error{Code::invalid, "read the request: its envelope is not complete"};
  if (flags & kEnvelopeCompressed)
    return Error{Code::invalid,
                 "read the request: its envelope is compressed, which was not agreed upon"};
  if (flags != 0)
    return Error{Code::invalid,
                 cat("read the request: an envelope with flags ", flags, " is not a message")};
  if (!reader.at_end()) return Error{Code::invalid, "read the request: more than one message"};
  return message;
}

Result<std::optional<int64_t>> parse_connect_timeout(std::string_view header) {
  if (header.empty()) return std::optional<int64_t>();
  bool digits =
      std::all_of(header.begin(), header.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || header.size() > 10)
    return Error{Code::invalid, cat("read Connect-Timeout-Ms: '", printable(header),
                                    "' is not a number of at most ten digits")};
  return std::optional<int64_t>(std::stoll(std::string(header)));
}

}  // namespace paddock::net
