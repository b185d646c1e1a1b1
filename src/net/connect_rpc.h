// Connect-RPC on the wire: the envelopes of streams, and the codes that errors have. Messages are
// JSON; what is in them is not known here. https://connectrpc.com/docs/protocol
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::net {

inline constexpr size_t kEnvelopeHead = 5;  // u8 flags, u32 length, big-endian
inline constexpr uint8_t kEnvelopeCompressed = 0x01, kEnvelopeEnd = 0x02;

// One message of a stream. The last one of an answer has kEnvelopeEnd.
void append_envelope(std::string_view message, uint8_t flags, std::string& out);

// The one message in the body of a request for a server stream. Refused: less or more than one
// envelope, compressed ones.
Result<std::string_view> only_envelope(std::string_view body);

// The HTTP status of an unary answer that fails with this code ("not_found" → 404); 500 for one
// that is unknown.
int http_status_of(std::string_view connect_code);

// What a request means by Connect-Timeout-Ms; none when absent. At most ten digits, as the protocol
// says.
Result<std::optional<int64_t>> parse_connect_timeout(std::string_view header);

}  // namespace paddock::net
