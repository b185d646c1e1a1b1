#define OPENSSL_SUPPRESS_DEPRECATED  // SHA256_Update and friends: see the header
#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/text.h"

namespace paddock {

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { (void)::SHA256_Init(&state_->context); }
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  (void)::SHA256_Update(&state_->context, bytes.data(), bytes.size());
}

std::string Sha256::finish() {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  (void)::SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &state_->context);
  return digest;
}

std::string sha256_bytes(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

// pread leaves the position alone, which other users of the descriptor may share.
Result<std::string> sha256_of(int file) {
  Sha256 hash;
  std::string buffer(1 << 18, '\0');
  for (off_t at = 0;;) {
    ssize_t count = ::pread(file, buffer.data(), buffer.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(errno, "hash");
    if (count == 0) return to_hex(hash.finish());
    hash.add({buffer.data(), static_cast<size_t>(count)});
    at += count;
  }
}

// RFC 2104.
std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string block(key.size() > SHA256_CBLOCK ? sha256_bytes(key) : std::string(key));
  block.resize(SHA256_CBLOCK, '\0');
  auto padded = [&](char pad) {
    std::string text = block;
    for (char& byte : text) byte = static_cast<char>(byte ^ pad);
    return text;
  };
  Sha256 inner, outer;
  inner.add(padded('\x36'));
  inner.add(bytes);
  outer.add(padded('\x5c'));
  outer.add(inner.finish());
  return outer.finish();
}

std::string to_hex(std::string_view bytes) {
  static const char kHex[] = "0123456789abcdef";
  std::string text(bytes.size() * 2, '\0');
  char* out = text.data();
  for (unsigned char byte : bytes) {
    *out++ = kHex[byte >> 4];
    *out++ = kHex[byte & 15];
  }
  return text;
}

Result<std::string> random_bytes(size_t count) {
  std::string bytes(count, '\0');
  ssize_t got = ::getrandom(bytes.data(), count, 0);  // up to 256 bytes come whole
  if (got != static_cast<ssize_t>(count)) return errno_error(errno, "get random bytes");
  return bytes;
}

// Lengths are not secret, so different ones may return early.
bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace paddock
