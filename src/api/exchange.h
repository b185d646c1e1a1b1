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

#include "base/value.h"
#include "io/stream.h"
#include "net/http.h"
#include "net/http_body.h"

namespace paddock::api {

using Headers = std::vector<net::Header>;

// Where a request came from.
struct Peer {
  bool local = false;          // over the UNIX socket
  uint32_t uid = 0;            // local: by peer credentials
  std::string address;         // else
};

class Exchange {
 public:
  const net::RequestHead& head() const;
  const Peer& peer() const;
  const std::string& path() const;                          // without the query, still percent-encoded
  std::optional<std::string> query(std::string_view name) const;  // decoded once; the first of that name
  std::string header(std::string_view name) const;          // "" when absent

  // The body. read() gives the next piece, empty at its end; Error when the client broke off, was too slow or framed it badly.
  io::Task<Result<std::string>> read();
  io::Task<Result<std::string>> read_all(size_t most);      // Code::exhausted when it is longer
  io::Task<Result<Value>> read_json(size_t most = 1 << 20); // strict; an empty body is an empty object

  // The answer, at once or in pieces. False: the client is gone. CORS headers and Date are added. HEAD sends no body.
  io::Task<bool> answer(int status, Headers headers, std::string_view body);
  io::Task<bool> answer_json(int status, const Value& value);
  io::Task<bool> begin(int status, Headers headers, std::optional<uint64_t> length = {});  // without a length: chunked
  io::Task<bool> write(std::string_view piece);  // flushed; waits for a slow client, at most a minute without progress
  io::Task<bool> finish();
  bool answered() const;  // begun, at least

  void cut();  // ends the connection in the middle, with a reset
  // Called once when the client closes or breaks the connection while an answer is under way (the body having been read).
  void on_client_gone(std::function<void()> gone);

  // For upgrades (WebSocket, previews): the bare connection, to do with as one likes; it is closed after the handler returns.
  io::Stream& take_over();
};

std::string percent_decode(std::string_view text);                      // malformed escapes stay as they are
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query, bool plus_is_blank = true);
int status_of(Code code);  // invalid 400, denied 403, not_found 404, conflict 409, exhausted 429, unsupported 400, else 500

}  // namespace paddock::api
