#include "net/http.h"

#include <algorithm>

#include "base/text.h"
#include "net/address.h"

namespace paddock::net {

namespace {

// Every refusal names its reason. The text never quotes the message, which may hold secrets.
Error refuse(std::string_view why) { return Error{Code::invalid, cat("read HTTP head: ", why)}; }
Error too_large(std::string_view what, size_t most) {
  return Error{Code::exhausted, cat("read HTTP head: ", what, " (at most ", most, ")")};
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z'); }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_visible(char c) { return c > ' ' && c < 0x7f; }
bool is_token_byte(char c) {
  return is_alphanumeric(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
// What may stand in a header's value: blanks, visible ASCII, and the bytes above, which mean
// nothing here.
bool is_text_byte(char c) {
  return is_blank(c) || is_visible(c) || static_cast<unsigned char>(c) >= 0x80;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_byte);
}
bool is_text(std::string_view text) { return std::all_of(text.begin(), text.end(), is_text_byte); }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// The lines of a whole head, without the empty one at its end.
Result<std::vector<std::string_view>> lines_of(std::string_view head) {
  if (head.size() > kLargestHead) return too_large("too many bytes", kLargestHead);
  std::vector<std::string_view> lines;
  while (true) {
    size_t end = head.find_first_of("\r\n");
    if (end == head.npos) return refuse("not complete");
    if (head.substr(end, 2) != "\r\n") return refuse("a bare CR or LF");
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.empty()) break;
    if (lines.size() > kMostHeaders) return too_large("too many headers", kMostHeaders);
    lines.push_back(line);
  }
  if (lines.empty()) return refuse("an empty line in place of the first");
  if (!head.empty()) return refuse("an empty line before the end");
  return lines;
}

// The first line is not a header.
Result<std::vector<Header>> parse_headers(const std::vector<std::string_view>& lines) {
  std::vector<Header> headers;
  for (size_t i = 1; i < lines.size(); ++i) headers.push_back(TRY(parse_header_line(lines[i])));
  return headers;
}

// The only header of that name, null when there is none.
Result<const Header*> find_single(const std::vector<Header>& headers, std::string_view name) {
  const Header* found = nullptr;
  for (const Header& header : headers) {
    if (!same_ignoring_case(header.name, name)) continue;
    if (found) return refuse(cat("two ", name, " headers"));
    found = &header;
  }
  return found;
}

// Eighteen digits always fit 64 bits, and are more than any body has.
Result<uint64_t> parse_length(std::string_view text) {
  if (text.empty() || text.size() > 18 || !std::all_of(text.begin(), text.end(), is_digit)) {
    return refuse("a Content-Length that is not a decimal number");
  }
  uint64_t length = 0;
  for (char digit : text) length = length * 10 + static_cast<uint64_t>(digit - '0');
  return length;
}

// What the headers say about the body; `until_close` when they say nothing.
Result<Body> parse_framing(const std::vector<Header>& headers, std::string_view version) {
  const Header* length = TRY(find_single(headers, "Content-Length"));
  const Header* encoding = TRY(find_single(headers, "Transfer-Encoding"));
  if (length && encoding) return refuse("Content-Length together with Transfer-Encoding");
  if (encoding) {
    if (version != "HTTP/1.1") return refuse("Transfer-Encoding in HTTP/1.0");
    if (encoding->value != "chunked") return refuse("a Transfer-Encoding that is not 'chunked'");
    return Body{Body::Kind::chunked};
  }
  if (length) return Body{Body::Kind::length, TRY(parse_length(length->value))};
  return Body{Body::Kind::until_close};
}

// Connection is a list, and may come several times.
bool connection_names(const std::vector<Header>& headers, std::string_view option) {
  for (const Header& header : headers) {
    if (!same_ignoring_case(header.name, "Connection")) continue;
    for (const std::string& named : split(header.value, ',')) {
      if (same_ignoring_case(trim(named), option)) return true;
    }
  }
  return false;
}

// HTTP/1.1 stays open unless told otherwise; HTTP/1.0 closes.
bool keeps_alive(const std::vector<Header>& headers, std::string_view version) {
  if (connection_names(headers, "close")) return false;
  return version == "HTTP/1.1" || connection_names(headers, "keep-alive");
}

bool is_known_version(std::string_view version) {
  return version == "HTTP/1.0" || version == "HTTP/1.1";
}

// Only http:// is passed on. An https:// target would ask a proxy to speak TLS, which none does
// here.
Result<void> parse_absolute_target(RequestHead& request) {
  constexpr std::string_view kScheme = "http://";
  std::string_view rest = request.target;
  if (!same_ignoring_case(rest.substr(0, kScheme.size()), kScheme))
    return refuse("a target that is neither a path nor http://");
  rest.remove_prefix(kScheme.size());
  size_t end = std::min(rest.find_first_of("/?"), rest.size());
  request.form = RequestHead::Form::absolute;
  request.authority = rest.substr(0, end);
  request.path = rest.substr(end);
  if (!starts_with(request.path, "/")) request.path.insert(0, "/");
  TRY(parse_authority(request.authority));
  return {};
}

// The form of the target decides what the request means, so the four forms are told apart exactly.
Result<void> parse_target(RequestHead& request) {
  const std::string& target = request.target;
  if (target.size() > kLongestTarget)
    return too_large("a target of too many bytes", kLongestTarget);
  if (!std::all_of(target.begin(), target.end(), is_visible))
    return refuse("a target with bytes that must be percent-encoded");
  if (target.find('#') != target.npos) return refuse("a fragment in the target");
  if (request.method == "CONNECT") {
    request.form = RequestHead::Form::authority;
    request.authority = target;
    if (!TRY(parse_authority(target)).port) return refuse("CONNECT without a port");
    return {};
  }
  if (target == "*") {
    if (request.method != "OPTIONS") return refuse("the target '*' of another method than OPTIONS");
    request.form = RequestHead::Form::asterisk;
    return {};
  }
  if (target.front() != '/') return parse_absolute_target(request);
  request.form = RequestHead::Form::origin;
  request.path = target;
  return {};
}

// Exactly two blanks. Some servers accept more and others do not, which is how requests are
// smuggled.
Result<RequestHead> parse_request_line(std::string_view line) {
  size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last || line.find(' ', first + 1) != last ||
      last == first + 1) {
    return refuse("a first line that is not 'METHOD TARGET VERSION' with single blanks");
  }
  RequestHead request{.method = std::string(line.substr(0, first)),
                      .target = std::string(line.substr(first + 1, last - first - 1)),
                      .version = std::string(line.substr(last + 1))};
  if (!is_token(request.method)) return refuse("a method that is no token");
  if (request.method.size() > kLongestMethod) return refuse("a method that is too long");
  if (!is_known_version(request.version))
    return refuse("a version that is neither HTTP/1.0 nor HTTP/1.1");
  TRY(parse_target(request));
  return request;
}

// Whether two authorities of http:// name the same place.
Result<bool> same_authority(std::string_view a, std::string_view b) {
  Authority first = TRY(parse_authority(a)), second = TRY(parse_authority(b));
  return same_ignoring_case(first.host, second.host) &&
         first.port.value_or(80) == second.port.value_or(80);
}

// HTTP/1.1 needs a Host header; an absolute target must agree with it.
Result<void> parse_host(RequestHead& request) {
  const Header* host = TRY(find_single(request.headers, "Host"));
  if (!host) {
    if (request.version == "HTTP/1.1") return refuse("no Host header");
    return {};
  }
  TRY(parse_authority(host->value));
  request.host = host->value;
  // A tunnel is never passed on as a request, so its Host header decides nothing; clients differ in
  // what they write there.
  if (request.form == RequestHead::Form::absolute &&
      !TRY(same_authority(request.authority, request.host))) {
    return refuse("a target of another host than the Host header's");
  }
  return {};
}

// Ends with the empty line.
std::string header_bytes(const std::vector<Header>& headers) {
  std::string bytes;
  for (const Header& header : headers) bytes += cat(header.name, ": ", header.value, "\r\n");
  return bytes + "\r\n";
}

}  // namespace

Result<size_t> head_size(std::string_view bytes) {
  std::string_view head = bytes.substr(0, kLargestHead);
  for (size_t at = head.find('\n'); at != head.npos; at = head.find('\n', at + 1)) {
    std::string_view next = head.substr(at + 1, 2);
    if (next == "\r\n") return at + 3;
    if (starts_with(next, "\n")) return at + 2;
  }
  if (head.size() == kLargestHead) return too_large("too many bytes", kLargestHead);
  return 0;
}

Result<Header> parse_header_line(std::string_view line) {
  if (!line.empty() && is_blank(line.front())) return refuse("a header folded over two lines");
  size_t colon = line.find(':');
  if (colon == line.npos) return refuse("a header without a colon");
  std::string_view name = line.substr(0, colon), value = trim(line.substr(colon + 1));
  if (!is_token(name)) return refuse("a header name that is no token");
  if (!is_text(value)) return refuse("control bytes in a header");
  return Header{std::string(name), std::string(value)};
}

Result<RequestHead> parse_request(std::string_view head) {
  std::vector<std::string_view> lines = TRY(lines_of(head));
  RequestHead request = TRY(parse_request_line(lines.front()));
  request.headers = TRY(parse_headers(lines));
  TRY(parse_host(request));

  request.body = TRY(parse_framing(request.headers, request.version));
  if (request.body.kind == Body::Kind::until_close) request.body = {};
  bool has_body = request.body.kind == Body::Kind::chunked || request.body.length != 0;
  if (request.form == RequestHead::Form::authority && has_body)
    return refuse("CONNECT with a body");

  // The next hop would remove what Connection names, and then read another request than the one
  // that was judged.
  for (std::string_view name : {"Host", "Content-Length", "Transfer-Encoding"}) {
    if (connection_names(request.headers, name))
      return refuse(cat("a Connection header that names ", name));
  }
  request.keep_alive = keeps_alive(request.headers, request.version);
  const Header* upgrade = TRY(find_single(request.headers, "Upgrade"));
  if (upgrade && connection_names(request.headers, "Upgrade")) request.upgrade = upgrade->value;
  return request;
}

Result<ResponseHead> parse_response(std::string_view head, std::string_view method) {
  std::vector<std::string_view> lines = TRY(lines_of(head));
  std::string_view line = lines.front(), version = line.substr(0, 8),
                   status = line.substr(std::min<size_t>(line.size(), 8), 4);
  if (!is_known_version(version)) return refuse("a version that is neither HTTP/1.0 nor HTTP/1.1");
  bool is_number = status.size() == 4 && status[0] == ' ' && status[1] != '0' &&
                   std::all_of(status.begin() + 1, status.end(), is_digit);
  std::string_view reason = line.substr(std::min<size_t>(line.size(), 12));
  if (!is_number || (!reason.empty() && reason[0] != ' '))
    return refuse("a status that is not a number of three digits");
  if (!is_text(reason)) return refuse("control bytes in the first line");

  ResponseHead response{
      .version = std::string(version),
      .reason = std::string(trim(reason)),
      .status = (status[1] - '0') * 100 + (status[2] - '0') * 10 + (status[3] - '0')};
  response.headers = TRY(parse_headers(lines));
  response.body = TRY(parse_framing(response.headers, version));
  bool opens_tunnel = method == "CONNECT" && response.status / 100 == 2;
  bool bodiless = response.status / 100 == 1 || response.status == 204 || response.status == 304;
  if (method == "HEAD" || opens_tunnel || bodiless) response.body = {};
  response.keep_alive =
      keeps_alive(response.headers, version) && response.body.kind != Body::Kind::until_close;
  return response;
}

const Header* find_header(const std::vector<Header>& headers, std::string_view name) {
  auto found = std::find_if(headers.begin(), headers.end(), [&](const Header& header) {
    return same_ignoring_case(header.name, name);
  });
  return found == headers.end() ? nullptr : &*found;
}

Result<Authority> parse_authority(std::string_view text) {
  Authority authority;
  size_t end = text.find(':');
  if (starts_with(text, "[")) {
    end = text.find(']');
    std::string_view inside = end == text.npos ? "" : text.substr(1, end - 1);
    if (inside.find(':') == inside.npos || !parse_address(inside))
      return refuse("brackets without an IPv6 address in them");
    end += 1;
  }
  end = std::min(end, text.size());
  authority.host = text.substr(0, end);
  auto is_name_byte = [](char c) { return is_alphanumeric(c) || c == '-' || c == '.' || c == '_'; };
  if (authority.host.empty()) return refuse("a host that is empty");
  if (authority.host[0] != '[' &&
      !std::all_of(authority.host.begin(), authority.host.end(), is_name_byte)) {
    return refuse("a host with other bytes than letters, digits, '-', '_' and '.'");
  }
  if (end == text.size()) return authority;

  std::string_view digits = text.substr(end + 1);
  bool decimal =
      !digits.empty() && digits.size() <= 5 && std::all_of(digits.begin(), digits.end(), is_digit);
  if (text[end] != ':' || !decimal || digits[0] == '0')
    return refuse("a port that is not a number from 1 to 65535");
  uint32_t port = 0;
  for (char digit : digits) port = port * 10 + static_cast<uint32_t>(digit - '0');
  if (port > UINT16_MAX) return refuse("a port that is not a number from 1 to 65535");
  authority.port = static_cast<uint16_t>(port);
  return authority;
}

std::string to_bytes(const RequestHead& head) {
  return cat(head.method, " ", head.target, " ", head.version, "\r\n", header_bytes(head.headers));
}

std::string to_bytes(const ResponseHead& head) {
  return cat(head.version, " ", head.status, " ", head.reason, "\r\n", header_bytes(head.headers));
}

Looks looks_like_http(std::string_view bytes) {
  // Servers skip more before and between the words than the standard says; so does this.
  constexpr std::string_view kBlanks = " \t\v\f\r\n", kVersion = "http/", kScheme = "http:";
  constexpr size_t kLongestLine = kLongestTarget + 64;
  Looks undecided = bytes.size() > kLongestLine ? Looks::http : Looks::more;
  bytes = bytes.substr(0, kLongestLine);
  bytes.remove_prefix(std::min(bytes.find_first_not_of(kBlanks), bytes.size()));

  size_t end = bytes.find('\n');
  std::string_view line = bytes.substr(0, end);
  auto word_end = line.begin() + std::min(line.find_first_of(kBlanks), line.size());
  if (std::find_if_not(line.begin(), word_end, is_token_byte) != word_end) return Looks::other;
  auto same = [](char a, char b) { return lower(a) == b; };
  auto contains = [&](std::string_view text, std::string_view part) {
    return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
  };
  // A path makes it a request, also without a version: some servers read headers after that, too.
  // git:// looks the same.
  std::string_view word(line.begin(), word_end), rest(word_end, line.end());
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  bool is_git = word.size() > 8 && word.substr(4, 4) == "git-";
  bool is_path = !rest.empty() && (rest[0] == '/' || rest[0] == '*' ||
                                   contains(rest.substr(0, kScheme.size()), kScheme));
  if (is_path && !is_git) return Looks::http;
  size_t nul = line.find('\0');
  if (contains(line.substr(0, nul), kVersion)) return Looks::http;
  bool ended = end != bytes.npos || nul != line.npos;
  return ended ? Looks::other : undecided;
}

Looks looks_like_http2_settings(std::string_view bytes) {
  // Length (three bytes, six for each setting), type 4, flags 0 or ACK, stream 0 with a bit that
  // does not count.
  auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
  for (size_t at = 0; at < std::min(bytes.size(), kHttp2FrameHead); ++at) {
    bool fits = at == 0   ? byte(at) == 0
                : at <= 2 ? true
                : at == 3 ? byte(at) == 4
                : at == 4 ? byte(at) <= 1
                          : (byte(at) & (at == 5 ? 0x7f : 0xff)) == 0;
    if (!fits) return Looks::other;
  }
  if (bytes.size() >= 3 && (byte(1) * 256 + byte(2)) % 6 != 0) return Looks::other;
  return bytes.size() < kHttp2FrameHead ? Looks::more : Looks::http;
}

}  // namespace paddock::net
