// HTTP/1.1 towards one server, on connections that are kept for the next request. Names are looked
// up by a thread; the address that was vetted is the one that is dialled. Redirects are answers
// like any other.
//
//   std::unique_ptr<HttpClient> client = TRY(HttpClient::create(loop, {.url =
//   TRY(parse_http_url("https://mcp.example/mcp"))})); auto exchange =
//   std::make_shared<HttpExchange>(); Result<void> sent = co_await client->send(request, exchange,
//   deadline); … exchange->head.status … Stream::More more = co_await exchange->read(content,
//   deadline);   // until it is not `yes`
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/stream.h"
#include "io/worker.h"
#include "net/http.h"
#include "net/http_body.h"

namespace paddock::io {

struct HttpUrl {
  bool tls = true;
  std::string host;       // a name, or an address without brackets
  std::string authority;  // for the Host header
  uint16_t port = 443;
  std::string path;  // with the query
};
// http://HOST[:PORT][/PATH] and https://…; without user information and fragment.
Result<HttpUrl> parse_http_url(std::string_view text);

struct HttpClientOptions {
  HttpUrl url;
  bool private_addresses = false;  // http:, and addresses that are not public
  std::string trust;               // PEM; empty: what this system trusts
  size_t most_connections = 64;
};

struct HttpRequest {
  std::string method;
  std::vector<net::Header> headers;  // besides Host and Content-Length; checked
  std::string body;
};

// One answer on its way. Dropping it before its end closes its connection.
class HttpExchange {
 public:
  ~HttpExchange();
  net::ResponseHead head;
  // Adds what there is of the body, at least a byte. `end`: all of it was there. `failed`: it was
  // cut short, or is no HTTP.
  Task<Stream::More> read(std::string& content, Milliseconds deadline);
  void cut();  // also before its head has come: who waits for it or reads is woken, and fails

 private:
  friend class HttpClient;
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Stream> stream_;
  net::BodyReader body_;
  bool reading_ = false, cut_ = false;
  void let_go();
};

class HttpClient {
 public:
  static Result<std::unique_ptr<HttpClient>> create(Loop& loop, HttpClientOptions options);
  ~HttpClient();

  // Up to the answer's head. The error arm: nothing could be sent, or nothing came that is HTTP.
  Task<Result<void>> send(HttpRequest request, std::shared_ptr<HttpExchange> exchange,
                          Milliseconds deadline);
  const HttpUrl& url() const;

 private:
  explicit HttpClient(std::shared_ptr<HttpExchange::Shared> shared) : shared_(std::move(shared)) {}
  static Task<Result<void>> answer(HttpExchange& exchange, std::string_view bytes,
                                   std::string method, Milliseconds deadline);
  std::shared_ptr<HttpExchange::Shared> shared_;
};

}  // namespace paddock::io
