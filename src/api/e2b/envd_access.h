// Access to a sandbox's data: by its access token in a header, or by a signature made with it in
// the URL of a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/http/exchange.h"

namespace paddock::api {

constexpr size_t kLongestSigned = 4096;  // of a path: longer ones are not signed

// What a URL signs. The path as it stands in the URL, not resolved.
struct SignedFile {
  std::string path;
  bool to_write = false;
  std::string user;
  std::optional<std::string> expiration;  // seconds since 1970, as it stands in the URL
};
// "v1_" and base64 without padding.
std::string sign_file(const SignedFile& file, std::string_view token);
// What a request for /files asks for.
SignedFile signed_file(const Exchange& exchange);

// Null when the request may go on, otherwise why not (the words that clients know).
const char* why_not_by_token(const Exchange& exchange, std::string_view token);
const char* why_not_for_file(const Exchange& exchange, std::string_view token, int64_t now_seconds);

// The name in "Authorization: Basic …": the user inside the sandbox. Empty when there is none.
Result<std::string> user_of(const Exchange& exchange);

}  // namespace paddock::api
