#include "store/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/text.h"

namespace paddock::store {

Result<std::string> sha256_of(int file) {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(::EVP_MD_CTX_new(), ::EVP_MD_CTX_free);
  if (!context || ::EVP_DigestInit_ex(context.get(), ::EVP_sha256(), nullptr) != 1)
    return Error{Code::internal, "hash: libcrypto refused", ""};
  std::string buffer(1 << 18, '\0');
  for (off_t at = 0;;) {
    ssize_t count = ::pread(file, buffer.data(), buffer.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(errno, "hash");
    if (count == 0) break;
    if (::EVP_DigestUpdate(context.get(), buffer.data(), static_cast<size_t>(count)) != 1)
      return Error{Code::internal, "hash: libcrypto refused", ""};
    at += count;
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (::EVP_DigestFinal_ex(context.get(), digest, &length) != 1) return Error{Code::internal, "hash: libcrypto refused", ""};
  return to_hex({reinterpret_cast<char*>(digest), length});
}

std::string sha256_bytes(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (::EVP_Digest(bytes.data(), bytes.size(), digest, &length, ::EVP_sha256(), nullptr) != 1) std::abort();  // out of memory
  return {reinterpret_cast<char*>(digest), length};
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  const unsigned char* data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (!::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(), digest, &length)) std::abort();
  return {reinterpret_cast<char*>(digest), length};
}

std::string to_hex(std::string_view bytes) {
  static const char kHex[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) text += {kHex[byte >> 4], kHex[byte & 15]};
  return text;
}

Result<std::string> random_bytes(size_t count) {
  std::string bytes(count, '\0');
  ssize_t got = ::getrandom(bytes.data(), count, 0);  // up to 256 bytes come whole
  if (got != static_cast<ssize_t>(count)) return errno_error(errno, "get random bytes");
  return bytes;
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace paddock::store
