// `paddock serve`: listeners, connections, and what is common to all requests.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/http/exchange.h"
#include "api/http/rate.h"
#include "api/http/request_stats.h"
#include "api/http/router.h"
#include "api/native/audit_worker.h"
#include "api/native/mcp.h"
#include "manager/keys.h"
#include "manager/manager.h"
#include "net/tls.h"
#include "template/builder.h"

namespace paddock::tools {
class Toolbox;  // tools/toolbox.h
}

namespace paddock::api {

// Where to listen, and what each client may take.
struct ServerOptions {
  std::vector<std::string> listen;  // ADDRESS:PORT
  std::string socket;               // path of the UNIX socket; empty: none
  bool plaintext = false;           // other addresses than loopback may go without TLS
  std::string certificate, key;     // PEM files
  // Of previews: PORT-ID.domain. Empty: none was given; see Server::domain().
  std::string domain;
  uint64_t requests_per_second = 500;  // per key, in twice that burst; 0: no limit
  size_t most_connections = 0;         // 0: by the limit of descriptors
  // Answers every request, in place of all that this server knows.
  std::function<io::Task<void>(Exchange&)> instead;
};

// A socket that accepts connections.
struct Listener {
  io::Socket socket;
  bool local = false, tls = false;
  std::string where;  // "http://127.0.0.1:7350", "unix:/run/paddock/server.sock"
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> create(io::Loop& loop, ServerOptions options,
                                                std::vector<std::unique_ptr<Listener>> listeners);
  ~Server();

  // Accepts from now on.
  void start(manager::Manager& manager, manager::Keys& keys, templates::Builder& builder);
  // The same, when options.instead answers.
  void start();
  // No new connections; those that wait are closed, those that are busy may finish their exchange,
  // for so long.
  io::Task<void> drain(io::Milliseconds patience);

  const ServerOptions& options() const { return options_; }
  io::Loop& loop() { return loop_; }
  manager::Keys& keys() { return *keys_; }
  templates::Builder& builder() { return *builder_; }
  const Router& router() const { return router_; }
  AuditWorker& audit_worker() { return *audit_worker_; }
  // The tools of the operator's policy, for REST and MCP alike; made when they are first asked for
  // (tools.cc). Their users start them.
  Result<tools::Toolbox*> toolbox();
  Result<McpFront*> mcp();  // the same tools, for clients of /mcp (mcp.cc)
  // What is tried without a key or token that is right: so much of it from one address, then 429.
  // may_try: something is left.
  bool may_try(const Peer& peer) const {
    return strangers_.has("tries " + peer.address, loop_.now());
  }
  bool take_try(const Peer& peer) {
    return strangers_.take("tries " + peer.address, kTries, loop_.now()) == 0;
  }
  // Records that somebody had no right to what they asked for: a few of them a second from one
  // address, and from all; the others are counted.
  void note_refused(const Call& call, int status, std::string_view why);
  // Called when the server is to end and what is under way should, until the token is let go of.
  std::shared_ptr<void> on_drain(std::function<void()> end);
  bool is_draining() const { return draining_; }
  std::vector<std::string> addresses() const;  // that it listens on
  // What previews are named under, and never empty: a client that is told of no domain would use
  // that of a public service. Without the operator's choice it is localhost with the port, which
  // browsers and curl resolve to this machine.
  std::string domain() const;
  size_t connections() const { return connections_.size(); }
  const RequestStats& requests() const { return requests_; }
  int64_t started_ms() const { return started_ms_; }

 private:
  static constexpr uint64_t kTries = 50;  // per second
  static constexpr uint64_t kRefusalsNoted = 5, kRefusalsNotedInAll = 20;
  struct Connection;
  Server(io::Loop& loop, ServerOptions options);

  io::Task<void> accept_all(Listener& listener);
  void shed(Listener& listener);  // turns a client away when no descriptor is left
  bool admit(Listener& listener, Fd fd);
  io::Task<void> serve(std::shared_ptr<Connection> connection, bool tls);
  // false: the connection is over.
  io::Task<bool> serve_one(std::shared_ptr<Connection> connection);
  io::Task<Result<std::string>> read_head(std::shared_ptr<Connection> connection);

  // Finds the plane, the caller and the handler of a request (dispatch.cc).
  io::Task<void> dispatch(Exchange& exchange);
  io::Task<Reply> reply_to(Call& call);
  io::Task<Reply> dispatch_control(Call& call);
  struct Authenticated {
    std::optional<manager::Caller> caller;
    Reply refused;  // where there is none
  };
  Authenticated authenticate(Call& call);

  io::Loop& loop_;
  ServerOptions options_;
  std::optional<net::TlsServer> tls_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  manager::Manager* manager_ = nullptr;
  manager::Keys* keys_ = nullptr;
  templates::Builder* builder_ = nullptr;
  Router router_;
  std::unique_ptr<AuditWorker> audit_worker_;
  std::unique_ptr<tools::Toolbox> toolbox_;
  std::unique_ptr<McpFront> mcp_;
  std::shared_ptr<void> mcp_drain_;
  RateLimits rates_;      // by key, and of all refusals
  RateLimits strangers_;  // by address: apart, since anybody may fill these
  RequestStats requests_;
  uint64_t refusals_left_out_ = 0;  // since the last that was noted
  std::shared_ptr<std::list<std::function<void()>>> drains_ =
      std::make_shared<std::list<std::function<void()>>>();
  Fd reserve_;  // closed to have one to shed with
  std::set<Connection*> connections_;
  std::map<std::string, size_t> by_peer_;
  bool draining_ = false;
  int64_t started_ms_ = 0;
};

}  // namespace paddock::api
