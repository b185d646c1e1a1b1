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
  // Serves a connection from its beginning to its end; it owns itself meanwhile.
  static Task<void> serve(Gate& gate, Fd client);
  // Resets a connection that a limit stands in the way of.
  static void refuse(Gate& gate, Fd client);
  ~Connection() { gate_.leave(*this); }

  void end();                                  // both sides get a reset
  void tell_unfinished() { log_rest("tcp"); }  // at the end of everything
  void judge_again();  // the rules have changed: ends it if they no longer allow where it goes

 private:
  Connection(Gate& gate, Fd client);

  Task<void> run();
  Task<void> run_redirected(Target target);
  Task<void> run_dns();
  Task<void> run_proxy();
  Task<void> run_socks();
  Task<void> run_http_proxy();

  // What a client that is connected to `target` says first decides how the bytes are carried.
  Task<void> carry();
  Task<void> carry_tls();
  Task<void> carry_http();
  Task<void> carry_opaque(const char* protocol);
  Task<void> intercept();
  enum class First { client, server, nobody };
  Task<First> first_to_speak();
  enum class Speech { tls, http, other, unclear, broken };
  Task<Speech> listen_to_client();
  Task<bool> server_greets_in_http2();

  // Decides about `target_` and connects to it; says why not in the log, and returns false.
  Task<bool> reach();
  Task<void> refuse_redirected();
  void limit_buffers();
  void deny(const char* rule, std::string why);
  void log(const char* protocol);
  void log(Entry entry);                // with the bytes since the last entry
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
  size_t sent_ahead_ = 0;  // of client_.ahead: what the server has already
  std::string method_;     // CONNECT through the proxy, else empty
  Milliseconds started_;
};

}  // namespace paddock::egress
