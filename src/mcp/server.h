// The MCP server, whatever carries its messages: clients of both eras over one service.
//
//   std::unique_ptr<Server> server = TRY(Server::create(loop, service));
//   std::shared_ptr<Connection> connection = server->connect(principal, outlet);
//   connection->receive(message, outlet);          // what comes of it goes to the outlet
//   connection->close();                           // what is under way is cancelled
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "io/loop.h"
#include "mcp/call.h"
#include "mcp/message.h"
#include "mcp/outlet.h"
#include "mcp/request_states.h"
#include "mcp/service.h"

namespace paddock::mcp {

inline constexpr size_t kMostRequests = 64;           // at once, of one connection
inline constexpr size_t kMostRequestsOfOne = 512;     // of one principal, over all connections
inline constexpr size_t kMostWatched = 1000;          // resources that one connection hears of
inline constexpr size_t kLongestUri = 4096;           // of such a resource
inline constexpr size_t kMostWatchedBytes = 1 << 20;  // of their URIs, of one principal
// Of questions to a legacy client for one request.
inline constexpr int kMostRounds = 16;

// A client: a stdio process, a session over HTTP, or one modern HTTP request.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ServerState> server, std::shared_ptr<const Principal> principal,
             std::shared_ptr<Outlet> apart);
  ~Connection();

  void receive(Message message, std::shared_ptr<Outlet> outlet);
  void close(bool graceful = false);  // graceful: subscriptions end with an answer
  bool is_open() const { return open_; }
  bool is_legacy() const { return legacy_; }
  const Client& client() const { return client_; }
  bool is_calling() const { return !calls_.empty(); }
  const std::shared_ptr<const Principal>& principal() const { return principal_; }

 private:
  friend class Call;
  friend class Server;
  friend struct ServerState;

  // What a modern client listens to.
  struct Listen {
    Value id;
    std::shared_ptr<Outlet> outlet;
    bool tools = false, prompts = false, resources = false;
    std::set<std::string> uris;
  };

  // A message is one of three; a request is of one of two eras.
  void receive_request(Message message, std::shared_ptr<Outlet> outlet);
  void receive_notification(const Message& message);
  void receive_response(Message message);
  void serve_modern(Message message, std::shared_ptr<Outlet> outlet);
  void serve_legacy(Message message, std::shared_ptr<Outlet> outlet);
  // Requests of the protocol itself, which the service does not see.
  void initialize(Message message, std::shared_ptr<Outlet> outlet);
  void subscribe(const Message& message, bool wanted, Outlet& outlet);
  void listen(const Message& message, std::shared_ptr<Outlet> outlet);
  // Serves a request that needs to know what the service offers, once that is known.
  static io::Task<void> when_started(std::shared_ptr<Connection> self, Message message,
                                     std::shared_ptr<Outlet> outlet);
  Value greeting(const std::string& method);
  void end_listen(const std::string& key);
  // Everything else goes to the service.
  void start_call(Message message, Client client, std::shared_ptr<Outlet> outlet);
  void tell_of(const Change& change);
  void call_is_over(const Value& id);

  std::shared_ptr<ServerState> server_;
  std::shared_ptr<const Principal> principal_;
  std::shared_ptr<Outlet> apart_;  // for what belongs to no request of a legacy client
  bool open_ = true, legacy_ = false;
  Client client_;                                       // legacy
  int log_level_ = 1;                                   // legacy: info
  std::set<std::string> watched_;                       // legacy
  std::map<std::string, std::shared_ptr<Call>> calls_;  // by the id of the request
  std::map<std::string, Listen> listens_;
  // What waits for the service to start: its turn, by the id of the request.
  std::map<std::string, uint64_t> starting_;
  uint64_t turn_ = 0;
  std::map<std::string, std::shared_ptr<Ask>> asks_;  // legacy: by the id of our request
  uint64_t asked_ = 0;
  TokenBucket messages_{200, 400};  // notifications of the client
};

// What all connections share.
struct ServerState {
  ServerState(io::Loop& on, Service& of, RequestStates with)
      : loop(on), service(of), states(std::move(with)) {}
  io::Loop& loop;
  Service& service;
  RequestStates states;
  std::set<Connection*> connections;
  std::map<std::string, size_t> requests;         // under way, by principal
  std::optional<Offer> identity;                  // name and version
  std::map<std::string, size_t> watchers;         // of each resource
  std::map<std::string, size_t> watched;          // bytes of URIs, by principal
  std::set<std::pair<int, std::string>> changes;  // not told yet
  bool telling = false;
  io::Milliseconds told_at = 0;
  std::function<void(const Change&)> on_change;  // of a transport that keeps something

  // Whether the principal has room for one more URI, and the count of those who watch it.
  bool may_watch(const std::string& principal, const std::string& uri);
  void watch(const std::string& principal, const std::string& uri, bool wanted);
  void count(const std::string& principal, int more);  // of its requests under way
  const Offer& who(const Principal& principal);
};

class Server {
 public:
  // Takes the service's on_change.
  static Result<std::unique_ptr<Server>> create(io::Loop& loop, Service& service);
  ~Server();

  std::shared_ptr<Connection> connect(std::shared_ptr<const Principal> principal,
                                      std::shared_ptr<Outlet> apart);
  void close();  // all connections, gracefully
  io::Loop& loop() { return state_->loop; }
  Service& service() { return state_->service; }
  std::function<void(const Change&)>& on_change() { return state_->on_change; }

 private:
  explicit Server(std::shared_ptr<ServerState> state) : state_(std::move(state)) {}
  static io::Task<void> sweep(std::weak_ptr<ServerState> state);
  static io::Task<void> tell_changes(std::shared_ptr<ServerState> state);
  static void note_change(const std::shared_ptr<ServerState>& state, const Change& change);

  std::shared_ptr<ServerState> state_;
};

std::string key_of(const Value& id);  // so that 1 and "1" are two

}  // namespace paddock::mcp
