// What a TLS client says before encryption begins (RFC 8446, 4.1.2): the name it wants, and what it
// hides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paddock::net {

struct ClientHello {
  std::string server_name;        // SNI as it came; empty: none
  bool encrypted = false;         // an encrypted_client_hello extension (ECH), real or greased
  std::vector<std::string> alpn;  // what the client would speak
};

// `more`: more bytes are needed. `done`: understood. `wrong`: not that protocol, or against its
// rules.
enum class Parse { more, done, wrong };

// Whether these first bytes can be the start of a TLS connection at all (one byte is enough to say
// no).
bool looks_like_tls(std::string_view bytes);

// Looks at the first bytes of a connection, over as many records as the ClientHello spans. `wrong`
// also for two SNI extensions, two names in one, a name with a NUL, and a ClientHello larger than
// kLargestClientHello.
inline constexpr size_t kLargestClientHello = 64 << 10;
Parse parse_client_hello(std::string_view bytes, ClientHello& hello);

}  // namespace paddock::net
