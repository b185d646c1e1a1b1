// SHA-256 from OpenSSL's libcrypto, random bytes, and the comparison of secrets.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock {

// Piece by piece. Uses libcrypto's own routine directly: the general interface loads providers and
// a configuration at its first use, which every `paddock run` would pay for.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  ~Sha256();
  void add(std::string_view bytes);
  // The 32 bytes of the digest. Nothing may be added afterwards.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_bytes(std::string_view bytes);  // 32 bytes
// The digest of the whole file as 64 hex digits. Its read position does not matter and does not
// change.
Result<std::string> sha256_of(int file);
std::string hmac_sha256(std::string_view key, std::string_view bytes);  // 32 bytes
std::string to_hex(std::string_view bytes);
// From the kernel. At most 256, which it gives without interruption.
Result<std::string> random_bytes(size_t count);
// In a time that does not depend on where they differ (only on the lengths).
bool same_secret(std::string_view a, std::string_view b);

}  // namespace paddock
