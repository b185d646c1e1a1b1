#include "api/e2b/envd_access.h"

#include "base/base64.h"
#include "base/digest.h"
#include "base/error_table.h"
#include "base/text.h"
#include "base/units.h"

namespace paddock::api {

std::string sign_file(const SignedFile& file, std::string_view token) {
  std::string text =
      cat(file.path, ":", file.to_write ? "write" : "read", ":", file.user, ":", token);
  if (file.expiration) text += cat(":", *file.expiration);
  std::string signature = "v1_" + base64(sha256_bytes(text));
  while (signature.back() == '=') signature.pop_back();
  return signature;
}

SignedFile signed_file(const Exchange& exchange) {
  SignedFile file;
  file.path = exchange.query("path").value_or("");
  file.to_write = exchange.head().method == "POST";
  file.user = exchange.query("username").value_or("");
  file.expiration = exchange.query("signature_expiration");
  if (file.expiration && file.expiration->empty()) file.expiration.reset();
  return file;
}

const char* why_not_by_token(const Exchange& exchange, std::string_view token) {
  std::string shown = exchange.header("X-Access-Token");
  if (!shown.empty() && same_secret(shown, token)) return nullptr;
  return "unauthorized access, please provide a valid access token or method signing if supported";
}

const char* why_not_for_file(const Exchange& exchange, std::string_view token,
                             int64_t now_seconds) {
  std::string shown = exchange.header("X-Access-Token");
  if (!shown.empty())
    return same_secret(shown, token) ? nullptr
                                     : "access token present in header but does not match";
  std::string signature = exchange.query("signature").value_or("");
  if (signature.empty()) return "missing signature query parameter";
  SignedFile file = signed_file(exchange);
  if (file.path.size() > kLongestSigned || !same_secret(signature, sign_file(file, token)))
    return "invalid signature";
  if (!file.expiration) return nullptr;
  std::optional<int64_t> expires = parse_digits(*file.expiration);
  return expires && *expires >= now_seconds ? nullptr : "signature is already expired";
}

Result<std::string> user_of(const Exchange& exchange) {
  std::string header = exchange.header("Authorization");
  if (header.size() < 6 || !same_ignoring_case(header.substr(0, 6), "Basic ")) return std::string();
  Result<std::string> pair = from_base64(header.substr(6));
  if (!pair)
    return make_error(Kind::unauthenticated,
                      "read Authorization: its Basic credentials are not base64");
  return pair.value().substr(0, pair.value().find(':'));
}

}  // namespace paddock::api
