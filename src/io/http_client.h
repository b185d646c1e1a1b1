// HTTP/1.1 towards one server, on connections that are kept for the next request. Names are looked
// up by a thread; the address that was vetted is the one that is dialled. Redirects are answers
// like any other.
//
//   net::HttpUrl url = TRY(net::parse_http_url("https://mcp.example/mcp"));
//   std::unique_ptr<HttpClient> client = TRY(HttpClient::create(loop, {.url = url}));
//
//   auto exchange = std::make_shared<HttpExchange>();
//   CO_TRY_VOID(co_await client->send(request, exchange, deadline));
//   … exchange->head.status …
//   Stream::More more = co_await exchange->read(content, deadline);  // until it is not `yes`
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/stream.h"
#include "io/worker.h"
#include "net/http.h"
#include "net/http_body.h"
#include "net/http_url.h"

namespace paddock::io {

struct HttpClientOptions {
  net::HttpUrl url;
  // Also allows http: and addresses that are not public; only for servers of the operator's own.
  bool private_addresses = false;
  std::string trust;  // PEM; empty: what this system trusts
  size_t most_connections = 64;
};

struct HttpRequest {
  std::string method;
  std::vector<net::Header> headers;  // besides Host and Content-Length; checked
  std::string body;
};

// One response on its way. Dropping it before its end closes its connection.
class HttpExchange {
 public:
  ~HttpExchange();
  net::ResponseHead head;
  // Adds what there is of the body, at least a byte. `end` means that all of it was there; `failed`
  // that it was cut short, or is not HTTP.
  Task<Stream::More> read(std::string& content, Milliseconds deadline);
  // Gives the exchange up, also before its head has come or while it is being dialled: waiters and
  // readers are woken, and fail.
  void cut();

 private:
  friend class HttpClient;
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Stream> stream_;
  Stream* dialling_ = nullptr;
  net::BodyReader body_;
  bool reading_ = false, cut_ = false;
  // Returns the connection for the next request if its response was read to the end; closes it
  // otherwise.
  void let_go();
};

class HttpClient {
 public:
  static Result<std::unique_ptr<HttpClient>> create(Loop& loop, HttpClientOptions options);
  ~HttpClient();

  // Sends the request and waits for the head of the response. Fails if nothing could be sent, or if
  // what came is not HTTP.
  Task<Result<void>> send(HttpRequest request, std::shared_ptr<HttpExchange> exchange,
                          Milliseconds deadline);
  const net::HttpUrl& url() const;

 private:
  explicit HttpClient(std::shared_ptr<HttpExchange::Shared> shared) : shared_(std::move(shared)) {}
  static Task<Result<void>> answer(HttpExchange& exchange, std::string_view bytes,
                                   std::string method, Milliseconds deadline);
  std::shared_ptr<HttpExchange::Shared> shared_;
};

}  // namespace paddock::io
