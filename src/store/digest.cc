#include "store/digest.h"

#include <openssl/evp.h>
#include <unistd.h>

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
  static const char kHex[] = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += {kHex[digest[i] >> 4], kHex[digest[i] & 15]};
  return text;
}

}  // namespace paddock::store
