// The answers to a program that may not go somewhere, in words that people and agents can act on.
#pragma once

#include <string>
#include <string_view>

#include "egress/gate.h"
#include "net/http.h"

namespace paddock::egress {

// A whole HTTP response that closes the connection; JSON when the request accepts that.
std::string denied_response(const Target& target, const policy::Verdict& verdict,
                            const net::RequestHead* request);
std::string error_response(int status, std::string_view what, const net::RequestHead* request);

}  // namespace paddock::egress
