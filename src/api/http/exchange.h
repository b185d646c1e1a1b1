// One HTTP request and the answer to it, on a connection that several share one after the other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/reply.h"
#include "io/stream.h"
#include "io/turn.h"
#include "net/http_body.h"

namespace paddock::api {

// Where a request came from.
struct Peer {
  bool local = false;   // over the UNIX socket
  uint32_t uid = 0;     // local: by peer credentials
  std::string address;  // else
};

class Exchange {
 public:
  Exchange(io::Stream& stream, net::RequestHead head, Peer peer);
  Exchange(Exchange&&) = delete;

  const net::RequestHead& head() const { return head_; }
  const Peer& peer() const { return peer_; }
  // Without the query, still percent-encoded.
  const std::string& path() const { return path_; }
  const std::string& query_string() const { return query_; }
  // Decoded once; the first of that name.
  std::optional<std::string> query(std::string_view name) const;
  std::string header(std::string_view name) const;  // "" when absent

  // Lets the body be read, once it is known whose it is. Until then read() fails: a handler that
  // forgets to ask for a key or token reads nothing. `holder` is whose share of the server's memory
  // the body takes: "key ID", "tenant NAME", …
  void admit(std::string holder);

  // The body. read() gives the next piece, empty at its end; Error when the client broke off, was
  // too slow or framed it badly.
  io::Task<Result<std::string>> read();
  // Code::exhausted when it is longer, or all together too long.
  io::Task<Result<std::string>> read_all(size_t most);
  // Strict; an empty body is an empty object.
  io::Task<Result<Value>> read_json(size_t most = 1 << 20);

  // The answer, at once or in pieces. False: the client is gone. CORS headers and Date are added.
  // HEAD sends no body.
  io::Task<bool> answer(Reply reply);
  // Without a length: chunked.
  io::Task<bool> begin(int status, Headers headers, std::optional<uint64_t> length = {});
  // Flushed; waits for a slow client, at most a minute without progress.
  io::Task<bool> write(std::string_view piece);
  io::Task<bool> finish();
  bool answered() const { return state_ != State::open; }  // begun, at least
  int status() const { return status_; }                   // that was answered; 0 before
  bool body_too_large() const { return too_large_; }
  bool body_failed() const { return body_failed_; }  // broken off, too slow, badly framed
  void stop_reading();  // reads of the body fail from now on; no request follows this one

  // Stands in the answer's first line instead of the usual words ("Bad Request"): some clients show
  // nothing else of an error.
  void set_reason(std::string_view text);

  // Headers that every answer to this request carries: of the plane that it belongs to.
  Headers always;

  void cut() { stream_.cut(); }  // ends the connection in the middle, with a reset
  bool is_cut() const { return stream_.is_cut(); }
  // Called once when the client closes or breaks the connection while an answer is under way (the
  // body having been read).
  void on_client_gone(std::function<void()> gone);

  // For upgrades (WebSocket, previews): the bare connection, to do with as one likes; it is closed
  // after the handler returns. Ends the watch for a client that goes.
  io::Task<io::Stream*> take_over();

  // For the connection that it stands on. Whether another request can follow; reads what is left of
  // the body first.
  io::Task<bool> settle();
  void close_after() { keep_alive_ = false; }
  bool body_done() const { return body_.done(); }
  io::Loop& loop() { return stream_.loop(); }

 private:
  enum class State : uint8_t { open, begun, finished, taken };
  std::string make_head(int status, const Headers& headers, std::optional<uint64_t> length);
  io::Task<Result<std::string>> read_piece();
  io::Task<void> watch_client();
  io::Task<void> end_watch();

  io::Stream& stream_;
  net::RequestHead head_;
  Peer peer_;
  std::string path_, query_, reason_;
  net::BodyReader body_;
  std::string holder_;  // empty: no caller was admitted
  io::Turn turn_;
  bool awaits_continue_ = false, body_failed_ = false, too_large_ = false;
  State state_ = State::open;
  int status_ = 0;
  bool keep_alive_, chunked_ = false, silent_ = false;  // silent: HEAD, 204, 304
  std::optional<uint64_t> left_;                        // of the length that was announced
  std::function<void()> gone_;
  bool watching_ = false, stop_watching_ = false;
  io::Event watch_ended_;
};

const char* reason_of(int status);  // "Not Found"

}  // namespace paddock::api
