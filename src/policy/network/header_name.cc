#include "policy/network/header_name.h"

#include "base/text.h"

namespace paddock::policy {

namespace {

// What frames a message or concerns one hop only: whoever sets these decides where a request ends
// or how it is read.
constexpr const char* kFramingHeaders[] = {"host",       "content-length", "transfer-encoding",
                                           "connection", "upgrade",        "te",
                                           "trailer",    "expect",         "accept-encoding"};

Error refuse(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text), "' ", why), std::move(hint)};
}

}  // namespace

Result<std::string> header_name(const std::string& text) {
  static const char kTokenCharacters[] =
      "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (text.empty() || text.find_first_not_of(kTokenCharacters) != std::string::npos)
    return refuse(text, "is not a header's name", "write it like Authorization, without the colon");
  for (const char* framing : kFramingHeaders)
    if (same_ignoring_case(text, framing))
      return refuse(text, "cannot be set: it decides how a request is read");
  if (same_ignoring_case(text.substr(0, 6), "proxy-"))
    return refuse(text, "cannot be set: it is meant for a proxy, not for the host");
  return text;
}

}  // namespace paddock::policy
