// Signing: a full segment ends with a record that is signed with Ed25519, and the next begins.
// Needs OpenSSL's providers, so the slim program does not link it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "audit/log.h"

namespace paddock::audit {

// Ends the current segment with a signed record, begins the next, and removes segments by the
// retention rules. Nothing to do when the segment has no records but its first.
Result<void> seal_and_rotate(Log& log);

// PEM; from the key, or what stands in key.pub.
Result<std::string> public_key(const std::string& directory);

// What is signed: these lines, each ended by a line break.
struct SealText {
  uint64_t segment = 0, first = 0, last = 0;
  std::string_view prev;  // hash of record `last`, hex
};
std::string to_text(const SealText& seal);

// One side of the key, for audit/verify.cc.
class PublicKey {
 public:
  static Result<PublicKey> from_pem(std::string_view pem);
  static Result<PublicKey> from_seed(std::string_view seed);
  bool signed_this(std::string_view text, std::string_view signature) const;  // 64 bytes
  // Hex SHA-256 of its 32 bytes.
  std::string id() const;
  Result<std::string> pem() const;
  bool operator==(const PublicKey& other) const { return raw_ == other.raw_; }

 private:
  explicit PublicKey(std::string raw) : raw_(std::move(raw)) {}
  std::string raw_;
};

}  // namespace paddock::audit
