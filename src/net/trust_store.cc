#include "net/trust_store.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <cstdint>

#include "base/base64.h"
#include "base/fd.h"
#include "base/text.h"
#include "net/bytes.h"

namespace paddock::net {

namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";

// Whether `bytes` are exactly one DER sequence: enough to catch a certificate that lost its end or
// its beginning.
bool is_one_sequence(std::string_view bytes) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() < 2 || byte(0) != 0x30) return false;
  if (byte(1) < 0x80) return bytes.size() == 2u + byte(1);
  size_t digits = byte(1) & 0x7f;
  if (digits == 0 || digits > 4 || bytes.size() < 2 + digits) return false;
  size_t length = 0;
  for (size_t i = 0; i < digits; ++i) length = length << 8 | byte(2 + i);
  return bytes.size() == 2 + digits + length;
}

// As Java's DataOutput.writeUTF writes it; for ASCII that is the text itself.
void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size(), 2);
  out += text;
}

}  // namespace

Result<std::string> read_system_bundle() {
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"})
    if (Result<std::string> pem = read_file(path)) return pem;
  return Error{Code::not_found, "find the bundle of authorities that this system trusts",
               "install the package ca-certificates"};
}

Result<std::vector<std::string>> certificates_in(std::string_view pem) {
  std::vector<std::string> certificates;
  for (size_t at = pem.find(kBegin); at != std::string_view::npos; at = pem.find(kBegin, at)) {
    at += kBegin.size();
    Error broken{Code::invalid,
                 cat("certificate ", certificates.size() + 1, " of the bundle is broken")};
    size_t end = pem.find(kEnd, at);
    if (end == std::string_view::npos) return broken;
    Result<std::string> certificate = from_base64(join(words_in(pem.substr(at, end - at)), ""));
    if (!certificate || !is_one_sequence(certificate.value())) return broken;
    certificates.push_back(std::move(certificate.value()));
    at = end + kEnd.size();
  }
  return certificates;
}

// The format is Sun's own, version 2; sun.security.provider.JavaKeyStore is its only description.
// PKCS #12 would be the modern choice, but every Java reads this one, and it needs no key
// derivation.
std::string make_java_trust_store(const std::vector<std::string>& certificates) {
  constexpr uint32_t kMagic = 0xfeedfeed, kVersion = 2, kTrustedCertificate = 2;
  constexpr uint64_t kAddedAt = 0;  // constant, so that the same certificates make the same file
  std::string store;
  append_number(store, kMagic, 4);
  append_number(store, kVersion, 4);
  append_number(store, certificates.size(), 4);
  for (size_t i = 0; i < certificates.size(); ++i) {
    append_number(store, kTrustedCertificate, 4);
    append_text(store, cat("authority-", i + 1));
    append_number(store, kAddedAt, 8);
    append_text(store, "X.509");
    append_number(store, certificates[i].size(), 4);
    store += certificates[i];
  }

  // The seal is SHA-1 over the password in UTF-16, a fixed phrase of the format, and the store.
  std::string sealed;
  for (char c : std::string_view("changeit")) append_number(sealed, static_cast<uint64_t>(c), 2);
  sealed += "Mighty Aphrodite";
  sealed += store;
  unsigned char digest[SHA_DIGEST_LENGTH];
  (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  SHA1(reinterpret_cast<const unsigned char*>(sealed.data()), sealed.size(), digest);
  return store.append(reinterpret_cast<const char*>(digest), sizeof digest);
}

}  // namespace paddock::net
