// A client of a running paddock-server, for the command line and the library. It blocks, and makes
// one connection for each request.
//
//   Client client = TRY(Client::find());
//   Value sandbox = TRY(client.ask("GET", "/v1/sandboxes/abc"));
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/percent.h"
#include "base/value.h"
#include "net/http.h"
#include "net/http_body.h"
#include "paddock/sandbox.h"

namespace paddock::client {

// Where the server is: a UNIX socket, or a host and a port with a key.
struct Endpoint {
  std::string socket;
  std::string host;
  uint16_t port = 0;
  std::string key;
};

// $PADDOCK_URL with $PADDOCK_API_KEY; else $PADDOCK_SOCKET; else server.sock in $PADDOCK_STATE;
// else the user's default one.
Result<Endpoint> find_endpoint(const std::function<const char*(const char*)>& variable,
                               bool is_root);
// "http://HOST[:PORT]": there is no TLS here.
Result<Endpoint> parse_server_url(const std::string& url);

// A response whose body is read as it comes.
class Response {
 public:
  int status() const { return head_.status; }
  const net::ResponseHead& head() const { return head_; }
  // The next piece of the body; empty at its end.
  Result<std::string> read();
  // The next line without its end; nothing at the end of the body. A line longer than 16 MiB is an
  // error.
  Result<std::optional<std::string>> line();
  Result<std::string> read_all(size_t most = 64 << 20);

  // After an upgrade: the bare connection, and what was read of it already.
  Fd take(std::string& ahead);

 private:
  friend class Client;
  Result<void> receive_head(const std::string& method);
  Result<size_t> receive();

  Fd connection_;
  net::ResponseHead head_;
  net::BodyReader body_;
  std::string ahead_, lines_;
};

// Gives the next piece of a body to send; empty at its end.
using Source = std::function<Result<std::string>()>;

struct Upload {
  // Unset: sent in chunks.
  std::optional<uint64_t> size;
  Source next;
};

class Client {
 public:
  static Result<Client> find();
  explicit Client(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}
  // For the server's records.
  void act_for(std::string agent) { agent_ = std::move(agent); }

  // JSON there and back. A refusal becomes the Error that it describes.
  Result<Value> ask(const std::string& method, const std::string& path,
                    const Value& body = {}) const;
  // The head has come and says success; the body is read from the response.
  Result<Response> open(const std::string& method, const std::string& path,
                        const Value& body = {}) const;
  Result<Response> send(const std::string& method, const std::string& path,
                        const Upload& upload) const;
  // 101 Switching Protocols to WebSocket, the accept key having been checked.
  Result<Response> upgrade(const std::string& path) const;

 private:
  Result<Fd> connect() const;
  Result<Response> begin(const std::string& method, const std::string& path,
                         const std::vector<net::Header>& headers) const;

  Endpoint endpoint_;
  std::string agent_;
};

// "/v1/sandboxes/ID" and what follows it.
std::string sandbox_path(const std::string& id, std::string_view rest = "");

// How a command ended, as the server writes it: {"kind":"exited","code":0}.
Result<Outcome> read_outcome(const Value& value);

}  // namespace paddock::client
