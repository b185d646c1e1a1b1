// HTTP/1 message heads, read strictly: what two implementations could understand differently is
// refused. A request that is refused gets 400; the reason names what was wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paddock/error.h"

namespace paddock::net {

struct Header {
  std::string name, value;  // as they came, the value without surrounding blanks
};

// How long a body is.
struct Body {
  enum class Kind : uint8_t { none, length, chunked, until_close } kind = Kind::none;
  uint64_t length = 0;
};

struct RequestHead {
  std::string method, target, version;  // version: "HTTP/1.0" or "HTTP/1.1"
  std::vector<Header> headers;
  Body body;
  bool keep_alive = true;
  // Where the target says it goes. origin: "/path". absolute: "http://host/path", with `authority`
  // and `path` filled. authority: CONNECT's "host:port". asterisk: "*".
  enum class Form : uint8_t { origin, absolute, authority, asterisk } form = Form::origin;
  std::string authority;  // of the target (absolute, authority); as it came
  // With the query, as it came; "/" when absolute-form has none.
  std::string path;
  std::string host;                    // the Host header; empty when there is none (HTTP/1.0 only)
  std::optional<std::string> upgrade;  // the Upgrade header, when Connection names it
};

struct ResponseHead {
  std::string version, reason;
  int status = 0;
  std::vector<Header> headers;
  Body body;
  bool keep_alive = true;
};

inline constexpr size_t kLargestHead = 64 << 10, kMostHeaders = 200, kLongestTarget = 16 << 10,
                        kLongestMethod = 64;

// The number of bytes of the head with its empty line, 0 while it is not complete. A head that can
// no longer become a valid one because of its size is an error (Code::exhausted). An empty line
// that ends in a bare LF also ends the head, so that its sender is refused and not waited for.
Result<size_t> head_size(std::string_view bytes);

// `head` is exactly a whole head. Refused: bare CR or LF, obsolete folding, blanks before the
// colon, NUL and other control bytes, a method or name that is not a token, more or less than
// single blanks in the first line, an unknown version, no or two Host headers (1.1), a Host or
// authority with user information, blanks or commas, Content-Length together with
// Transfer-Encoding, a repeated or non-decimal Content-Length, any Transfer-Encoding but exactly
// "chunked" (1.1 only), an absolute target other than http://, one whose authority is not that of
// the Host header, a fragment in the target or a byte that must be percent-encoded, CONNECT with a
// body or without a port, two Upgrade headers, a Connection header that names one of those that say
// where the request goes or ends. Pass on to_bytes() of the result, not the bytes that came: blanks
// around values are gone from it.
Result<RequestHead> parse_request(std::string_view head);
// `method` is the request's: the answer to HEAD has no body, nor that to a CONNECT that succeeded.
// The same rules for lines, headers and lengths.
Result<ResponseHead> parse_response(std::string_view head, std::string_view method);
// One header line (or trailer), without its CR LF.
Result<Header> parse_header_line(std::string_view line);

// Case-insensitive; the first.
const Header* find_header(const std::vector<Header>& headers, std::string_view name);

// "host", "host:80", "[::1]:80" into the host as it came (without brackets: see
// policy::canonical_host) and the port.
struct Authority {
  std::string host;  // an IPv6 address keeps its brackets
  std::optional<uint16_t> port;
};
Result<Authority> parse_authority(std::string_view text);

// The heads as bytes again. Header names and values must be free of CR, LF and NUL: asserted by
// what parsed them. Method, target, version and headers as they stand.
std::string to_bytes(const RequestHead& head);
std::string to_bytes(const ResponseHead& head);

// Whether the first bytes of a connection begin an HTTP/1 (or cleartext HTTP/2) request. `more`:
// cannot say yet. Leading CR, LF and blanks do not hide a request; neither does an odd or long
// method. `other`: a first line that ends without "HTTP/", a first word with control bytes or bytes
// above ASCII, a NUL. In doubt `http`: parse_request refuses it then.
enum class Looks { more, http, other };
Looks looks_like_http(std::string_view bytes);

// Whether the first bytes of a server begin HTTP/2 (RFC 9113, 3.4): a SETTINGS frame of stream 0.
inline constexpr size_t kHttp2FrameHead = 9;
Looks looks_like_http2_settings(std::string_view bytes);

}  // namespace paddock::net
