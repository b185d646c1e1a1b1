// Connect-RPC on the wire: the envelopes of streams, and deadlines. Messages are JSON; what is in
// them is not known here, and the codes of errors are in base/error_table.h.
// https://connectrpc.com/docs/protocol
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

// What a request means by Connect-Timeout-Ms; none when absent. At most ten digits, as the protocol
// says.
Result<std::optional<int64_t>> parse_connect_timeout(std::string_view header);

}  // namespace paddock::net
