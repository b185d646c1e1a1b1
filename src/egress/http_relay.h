// HTTP/1 requests of one connection, one after the other, each judged on its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "egress/connection.h"
#include "egress/scrub.h"
#include "net/http.h"

namespace paddock::egress {

// A request's head; or the end of the stream; or what is wrong, with the status to answer.
struct RequestRead {
  enum class Kind { request, end, wrong } kind = Kind::end;
  net::RequestHead head;
  int status = 400;  // what a wrong one is answered with
  std::string why;
};
// Takes a request's head from the front of the stream.
Task<RequestRead> read_request(Stream& client, Milliseconds deadline);
// Queries may hold secrets and are not logged.
std::string path_without_query(const std::string& path);

class HttpRelay {
 public:
  enum class Kind {
    direct,       // the program connected to one target and speaks HTTP with it
    intercepted,  // the same inside TLS
    proxy,        // it speaks HTTP with us; each request names its own target
  };
  HttpRelay(Connection& connection, Kind kind);

  // Serves requests until the connection ends, or becomes a tunnel.
  Task<void> run();
  // A CONNECT was granted; the connection goes on as something else.
  bool tunnel_wanted() const { return tunnel_; }

 private:
  Task<bool> wait_for_request();
  // Finds the server for request_. False if the request was answered here.
  Task<bool> find_server();
  Task<bool> find_server_for_proxy();
  // Whether a secret may be sent to this target without TLS.
  bool may_show_secrets() const;
  // On a direct connection the Host header must name where the connection goes.
  bool check_host();
  Task<void> answer(int status, std::string what);
  Task<void> answer_denied();
  // True if another request may follow on this connection.
  Task<bool> exchange();
  void rewrite_request();
  Task<void> send_body();
  Task<void> receive();
  Task<bool> receive_body(const net::ResponseHead& response);
  Task<void> switch_protocols();
  Task<void> pump(Stream& from, Stream& to, bool scrub);
  void log();

  Connection& connection_;
  Gate& gate_;
  Stream &client_, &server_;
  Kind kind_;
  // The headers to add to this request, and the secrets in them that must not come back.
  std::vector<const Inject*> injections_;
  std::vector<std::string> secrets_;  // that must not come back

  net::RequestHead request_;
  Entry entry_;
  bool request_sent_ = false, response_done_ = false, response_begun_ = false, keep_ = false,
       upgraded_ = false, tunnel_ = false;
};

}  // namespace paddock::egress
