#include "egress/refusal.h"

#include "base/text.h"

namespace paddock::egress {

namespace {

const char* reason_of(int status) {
  switch (status) {
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 421: return "Misdirected Request";
    case 431: return "Request Header Fields Too Large";
    case 504: return "Gateway Timeout";
    default: return "Bad Gateway";
  }
}

// Programs that ask for JSON can read the reason as data.
bool wants_json(const net::RequestHead* request) {
  const net::Header* accept = request ? net::find_header(request->headers, "Accept") : nullptr;
  return accept && accept->value.find("json") != std::string::npos;
}

std::string response(int status, const char* type, const std::string& body, bool with_body) {
  return cat("HTTP/1.1 ", status, " ", reason_of(status), "\r\nContent-Type: ", type,
             "\r\nContent-Length: ", body.size(),
             "\r\nX-Paddock: ", status == 403 || status == 421 ? "denied" : "failed",
             "\r\nConnection: close\r\n\r\n", with_body ? body : "");
}

// The answer to HEAD has the headers of a body, and no body.
bool has_body(const net::RequestHead* request) { return !request || request->method != "HEAD"; }

}  // namespace

std::string denied_response(const Target& target, const policy::Verdict& verdict,
                            const net::RequestHead* request) {
  int status = verdict.rule == "network.host" ? 421 : 403;
  std::string listing = verdict.listing.empty() ? target.text() : verdict.listing;
  bool can_be_listed = starts_with(verdict.rule, "network.allow");
  std::string hint = can_be_listed ? cat("allow it with: paddock run --allow-net ", listing,
                                         ", or network.allow = [\"", listing, "\"] in the policy")
                                   : "";
  if (!wants_json(request)) {
    std::string body = cat("paddock: ", target.text(), " is denied by ", verdict.rule, ": ",
                           verdict.why, "\n", hint.empty() ? "" : cat(hint, "\n"));
    return response(status, "text/plain; charset=utf-8", body, has_body(request));
  }
  Value error, whole;
  error.set("code", "denied");
  error.set("host", target.host_text());
  error.set("port", static_cast<int>(target.port));
  error.set("rule", verdict.rule);
  error.set("why", verdict.why);
  error.set("hint", hint);
  whole.set("error", std::move(error));
  return response(status, "application/json", to_json(whole) + "\n", has_body(request));
}

std::string error_response(int status, std::string_view what, const net::RequestHead* request) {
  if (!wants_json(request))
    return response(status, "text/plain; charset=utf-8", cat("paddock: ", what, "\n"),
                    has_body(request));
  Value error, whole;
  error.set("code", status < 500 ? "invalid" : "failed");
  error.set("message", what);
  whole.set("error", std::move(error));
  return response(status, "application/json", to_json(whole) + "\n", has_body(request));
}

}  // namespace paddock::egress
