// One connection of the program: accept → identify → decide → resolve → connect → relay.
#pragma once

#include <memory>
#include <string>

#include "egress/dial.h"
#include "egress/gate.h"
#include "egress/stream.h"
#include "net/http.h"

namespace paddock::egress {

class Connection {
 public:
  // Serves a connection from its beginning to its end. The coroutine owns it meanwhile.
  static Task<void> serve(Gate& gate, Fd client);
  // Resets a connection that exceeds a limit.
  static void refuse(Gate& gate, Fd client);
  ~Connection() { gate_.leave(*this); }

  // Resets both sides. The coroutines notice it at their next step.
  void end();
  // Logs what no entry has counted, for connections that are open at the end of everything.
  void tell_unfinished() { log_rest("tcp"); }
  // Called after the rules have changed: ends the connection if they no longer allow its target.
  void judge_again();

 private:
  Connection(Gate& gate, Fd client);

  Task<void> run();
  Task<void> run_redirected(Target target);
  Task<void> run_dns();
  Task<void> run_proxy();
  Task<void> run_socks();
  Task<void> run_http_proxy();

  // How the bytes are carried depends on what a client that is connected to `target_` sends first.
  Task<void> carry();
  Task<void> carry_tls();
  Task<void> carry_http();
  Task<void> carry_opaque(const char* protocol);
  Task<void> intercept();
  // Who sends first. `nobody` means that one side ended before any byte came.
  enum class First { client, server, nobody };
  Task<First> first_to_speak();
  // What the client speaks. `unclear` means that it never came to an end, `broken` that the
  // connection did.
  enum class Speech { tls, http, other, unclear, broken };
  Task<Speech> listen_to_client();
  Task<bool> server_greets_in_http2();

  // Decides about `target_` and connects to it. False if either fails; the log then has the reason.
  Task<bool> reach();
  Task<void> refuse_redirected();
  void limit_buffers();
  void deny(const char* rule, std::string why);
  void log(const char* protocol);
  // Adds the bytes since the last entry, so that the sums by host count each byte once.
  void log(Entry entry);
  void log_rest(const char* protocol);  // what no entry has counted yet
  Entry entry(const char* protocol) const;
  bool is_strict_port() const;

  friend class HttpRelay;
  Gate& gate_;
  Stream client_, server_;
  Target target_;
  policy::Verdict verdict_;
  Dialled dialled_;
  uint64_t up_logged_ = 0, down_logged_ = 0;
  bool logged_ = false;
  // How many bytes of client_.ahead the server has already got.
  size_t sent_ahead_ = 0;
  std::string method_;  // CONNECT through the proxy, else empty
  Milliseconds started_;
};

}  // namespace paddock::egress
