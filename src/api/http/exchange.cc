#include "api/http/exchange.h"

#include <sys/socket.h>
#include <time.h>

#include <algorithm>

#include "base/instant.h"
#include "base/peer_json.h"
#include "base/percent.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using io::Milliseconds;
using io::Task;

constexpr Milliseconds kBodyPatience = 60'000;   // for the next bytes of a body
constexpr Milliseconds kWritePatience = 60'000;  // for a client that does not read
constexpr Milliseconds kSettleTime = 5'000;      // for the rest of a body that was not read
constexpr size_t kSettleBytes = 1 << 20;
constexpr size_t kAheadWhileBusy = 64 << 10;  // of a next request, while one is under way
constexpr size_t kReadSize = 256 << 10;
// Of bodies that are being read as a whole, of all exchanges together.
constexpr size_t kMostHeld = 256'000'000;

// The share of one holder, and of one address, which several holders may use.
constexpr size_t kMostOfHolder = kMostHeld / 4, kMostOfAddress = kMostHeld / 4 * 3;

// The bytes that one body holds.
class HeldBytes {
 public:
  HeldBytes(std::string holder, const std::string& address)
      : names_{"", std::move(holder), "address " + address} {}
  HeldBytes(const HeldBytes&) = delete;
  ~HeldBytes() {
    for (const std::string& name : names_)
      if (auto found = all().find(name); found != all().end() && (found->second -= mine_) == 0)
        all().erase(found);
  }
  bool add(size_t bytes) {
    static constexpr size_t kMost[] = {kMostHeld, kMostOfHolder, kMostOfAddress};
    for (size_t i = 0; i < std::size(names_); ++i) {
      auto found = all().find(names_[i]);
      size_t held = found == all().end() ? 0 : found->second;
      if (bytes > kMost[i] - std::min(kMost[i], held)) return false;
    }
    for (const std::string& name : names_) all()[name] += bytes;
    mine_ += bytes;
    return true;
  }

 private:
  static std::map<std::string, size_t>& all() {
    static std::map<std::string, size_t> bytes;  // by holder; "" for all of them together
    return bytes;
  }
  std::string names_[3];
  size_t mine_ = 0;
};

// The date of now. Made once a second.
const std::string& date_header() {
  static time_t made = 0;
  static std::string text;
  time_t now = ::time(nullptr);
  if (now != made) text = http_date(now);
  made = now;
  return text;
}

}  // namespace

Exchange::Exchange(io::Stream& stream, net::RequestHead head, Peer peer)
    : stream_(stream),
      head_(std::move(head)),
      peer_(std::move(peer)),
      body_(head_.body),
      keep_alive_(head_.keep_alive),
      watch_ended_(stream.loop()) {
  size_t mark = head_.path.find('?');
  path_ = head_.path.substr(0, mark);
  if (mark != std::string::npos) query_ = head_.path.substr(mark + 1);
  awaits_continue_ = head_.version == "HTTP/1.1" &&
                     same_ignoring_case(header("Expect"), "100-continue") && !body_.done();
}

std::string Exchange::header(std::string_view name) const {
  const net::Header* found = net::find_header(head_.headers, name);
  return found ? found->value : "";
}

std::optional<std::string> Exchange::query(std::string_view name) const {
  for (auto& [key, value] : parse_query(query_))
    if (key == name) return value;
  return std::nullopt;
}

// ---- the body

void Exchange::admit(std::string holder) { holder_ = std::move(holder); }

Task<Result<std::string>> Exchange::read() {
  if (holder_.empty())
    co_return Error{Code::denied, "read the request's body: no key or token was shown for it", ""};
  Result<std::string> piece = co_await read_piece();
  co_return piece;
}

Task<Result<std::string>> Exchange::read_piece() {
  std::string content;
  while (content.empty() && !body_.done()) {
    if (body_failed_)
      co_return Error{Code::io, "read the request's body: the connection is broken", ""};
    if (awaits_continue_) {
      awaits_continue_ = false;
      bool written = co_await stream_.write("HTTP/1.1 100 Continue\r\n\r\n", kWritePatience);
      body_failed_ = !written;
      continue;
    }
    if (stream_.ahead.empty()) {
      Milliseconds deadline = stream_.loop().now() + kBodyPatience;
      io::Stream::More more = co_await stream_.read(deadline, kReadSize);
      if (more != io::Stream::More::yes) {
        body_failed_ = true;
        co_return Error{Code::io,
                        cat("read the request's body: the client ",
                            more == io::Stream::More::late ? "is too slow" : "broke off"),
                        ""};
      }
    }
    Result<size_t> taken = body_.take(stream_.ahead, &content);
    if (!taken) {
      body_failed_ = true;
      co_return Error{Code::invalid, taken.error().message, ""};
    }
    stream_.ahead.erase(0, taken.value());
    if (turn_.is_over(taken.value())) co_await stream_.loop().yield();
  }
  co_return content;
}

Task<Result<std::string>> Exchange::read_all(size_t most) {
  std::string all;
  HeldBytes held(holder_, peer_.address);
  Milliseconds deadline = stream_.loop().now() + kBodyPatience;
  Error larger{Code::exhausted,
               cat("read the request's body: it is larger than ", human_size(most)), ""};
  too_large_ = head_.body.kind == net::Body::Kind::length && head_.body.length > most;
  if (too_large_) co_return larger;
  while (true) {
    Result<std::string> piece = co_await read();
    if (!piece) co_return piece.error();
    if (piece.value().empty()) co_return all;
    if (!held.add(piece.value().size()))
      co_return Error{Code::exhausted,
                      "read the request's body: too much is being read at once, of yours or of all",
                      "try again"};
    all += piece.value();
    too_large_ = all.size() > most;
    if (too_large_) co_return larger;
    if (stream_.loop().now() > deadline && !body_.done()) {
      body_failed_ = true;
      co_return Error{Code::io, "read the request's body: the client is too slow", ""};
    }
  }
}

Task<Result<Value>> Exchange::read_json(size_t most) {
  Result<std::string> text = co_await read_all(most);
  if (!text) co_return text.error();
  if (text.value().empty()) co_return Value(Value::Object{});
  co_return parse_peer_json(text.value(), "the request's body");
}

void Exchange::stop_reading() {
  body_failed_ = true;
  keep_alive_ = false;
  (void)::shutdown(stream_.socket.get(), SHUT_RD);
}

// ---- the answer

const char* reason_of(int status) {
  switch (status) {
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 507: return "Insufficient Storage";
    default: return status < 400 ? "OK" : "Error";
  }
}

Reply refusal(int status, std::string_view message) {
  return Reply::json(status, Value::Object{{"code", status}, {"message", message}});
}

void Exchange::set_reason(std::string_view text) {
  constexpr size_t kLongest = 300;
  reason_.clear();
  for (char c : text.substr(0, kLongest)) reason_ += c >= 0x20 && c < 0x7f ? c : '?';
}

std::string Exchange::make_head(int status, const Headers& headers,
                                std::optional<uint64_t> length) {
  status_ = status;
  silent_ = head_.method == "HEAD" || status == 204 || status == 304;
  chunked_ = !length && !silent_ && head_.version == "HTTP/1.1";
  if (!length && !silent_ && !chunked_) keep_alive_ = false;
  // What follows on the connection cannot be told apart from the body.
  if (awaits_continue_ || body_failed_ || too_large_) keep_alive_ = false;
  left_ = silent_ ? std::optional<uint64_t>(0) : length;

  std::string text =
      cat("HTTP/1.1 ", status, " ", reason_.empty() ? reason_of(status) : reason_, "\r\n");
  if (!net::find_header(headers, "Date")) text += cat("Date: ", date_header(), "\r\n");
  for (const net::Header& header : always)
    if (!net::find_header(headers, header.name))
      text += cat(header.name, ": ", header.value, "\r\n");
  for (const net::Header& header : headers) text += cat(header.name, ": ", header.value, "\r\n");
  if (length && status != 204 && status != 304) text += cat("Content-Length: ", *length, "\r\n");
  if (chunked_) text += "Transfer-Encoding: chunked\r\n";
  if (!keep_alive_)
    text += "Connection: close\r\n";
  else if (head_.version == "HTTP/1.0")
    text += "Connection: keep-alive\r\n";
  return text + "\r\n";
}

Task<bool> Exchange::answer(Reply reply) {
  if (state_ != State::open || reply.status == 0) co_return false;
  std::string bytes = make_head(reply.status, reply.headers, reply.body.size());
  if (!silent_) bytes += reply.body;
  state_ = State::finished;
  left_ = 0;
  bool written = co_await stream_.write(bytes, kWritePatience);
  if (!written) keep_alive_ = false;
  co_return written;
}

Task<bool> Exchange::begin(int status, Headers headers, std::optional<uint64_t> length) {
  if (state_ != State::open) co_return false;
  std::string bytes = make_head(status, headers, length);
  state_ = State::begun;
  bool written = co_await stream_.write(bytes, kWritePatience);
  if (!written) keep_alive_ = false;
  co_return written;
}

Task<bool> Exchange::write(std::string_view piece) {
  if (state_ != State::begun || stream_.is_cut()) co_return false;
  if (piece.empty() || silent_) co_return true;
  bool written = false;
  if (chunked_) {
    std::string chunk = net::make_chunk(piece);
    written = co_await stream_.write(chunk, kWritePatience);
  } else {
    // More than was announced: settle() sees that it is not whole.
    if (left_ && *left_ < piece.size()) co_return false;
    if (left_) *left_ -= piece.size();
    written = co_await stream_.write(piece, kWritePatience);
  }
  if (!written) keep_alive_ = false;
  co_return written;
}

Task<bool> Exchange::finish() {
  if (state_ != State::begun || left_.value_or(0) != 0) co_return false;
  state_ = State::finished;
  if (!chunked_) co_return true;
  bool written = co_await stream_.write("0\r\n\r\n", kWritePatience);
  if (!written) keep_alive_ = false;
  co_return written;
}

// ---- the client

// While a handler is busy it does not read; a client that goes away is noticed here.
void Exchange::on_client_gone(std::function<void()> gone) {
  gone_ = std::move(gone);
  if (watching_ || !body_.done() || state_ == State::taken) return;
  watching_ = true;
  io::spawn(watch_client());
}

Task<void> Exchange::watch_client() {
  while (!stop_watching_ && stream_.ahead.size() < kAheadWhileBusy) {
    (void)co_await stream_.socket.readable();
    if (stop_watching_) break;
    Milliseconds now = stream_.loop().now();
    io::Stream::More more = co_await stream_.read(now, 4096);
    if (more == io::Stream::More::yes || more == io::Stream::More::late) continue;
    keep_alive_ = false;
    std::function<void()> gone = std::move(gone_);
    if (gone && !stop_watching_) gone();
    break;
  }
  watching_ = false;
  watch_ended_.happen();
}

Task<void> Exchange::end_watch() {
  gone_ = nullptr;
  if (!watching_) co_return;
  stop_watching_ = true;
  stream_.socket.wake_readers();
  co_await watch_ended_;
}

Task<io::Stream*> Exchange::take_over() {
  co_await end_watch();
  state_ = State::taken;
  co_return &stream_;
}

Task<bool> Exchange::settle() {
  co_await end_watch();
  if (state_ != State::finished || stream_.is_cut()) {
    // An answer that is not whole must not look so.
    if (state_ == State::open || state_ == State::begun) stream_.cut();
    co_return false;
  }
  if (!keep_alive_ || awaits_continue_) co_return false;
  Milliseconds deadline = stream_.loop().now() + kSettleTime;
  size_t dropped = 0;
  while (!body_.done()) {
    Result<std::string> piece = co_await read_piece();
    if (!piece) co_return false;
    dropped += piece.value().size();
    if (dropped > kSettleBytes || stream_.loop().now() > deadline) co_return false;
  }
  co_return true;
}

}  // namespace paddock::api
