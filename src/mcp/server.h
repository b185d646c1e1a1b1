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

// The most requests of one connection at once.
inline constexpr size_t kMostRequests = 64;

// The most requests of one principal, over all its connections.
inline constexpr size_t kMostRequestsOfOne = 512;

// Resources that one connection may watch.
inline constexpr size_t kMostWatched = 1000;

// In bytes, for such a resource.
inline constexpr size_t kLongestUri = 4096;

// In bytes, of all URIs that one principal watches.
inline constexpr size_t kMostWatchedBytes = 1 << 20;
// How often a legacy client may be asked for one request.
inline constexpr int kMostRounds = 16;

// A client: a stdio process, a session over HTTP, or one modern HTTP request.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ServerState> server, std::shared_ptr<const Principal> principal,
             std::shared_ptr<Outlet> apart);
  ~Connection();

  void receive(Message message, std::shared_ptr<Outlet> outlet);
  // If graceful, subscriptions end with an answer.
  void close(bool graceful = false);
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
  // For messages that belong to no request of a legacy client.
  std::shared_ptr<Outlet> apart_;
  bool open_ = true, legacy_ = false;
  // For a legacy client, as its log level and what it watches.
  Client client_;
  int log_level_ = 1;              // legacy: info
  std::set<std::string> watched_;  // legacy
  // By the id of the request.
  std::map<std::string, std::shared_ptr<Call>> calls_;
  std::map<std::string, Listen> listens_;
  // What waits for the service to start: its turn, by the id of the request.
  std::map<std::string, uint64_t> starting_;
  uint64_t turn_ = 0;
  // For a legacy client, by the id of our request.
  std::map<std::string, std::shared_ptr<Ask>> asks_;
  uint64_t asked_ = 0;
  // Limits the notifications of the client.
  TokenBucket messages_{200, 400};
};

// What all connections share.
struct ServerState {
  ServerState(io::Loop& on, Service& of, RequestStates with)
      : loop(on), service(of), states(std::move(with)) {}
  io::Loop& loop;
  Service& service;
  RequestStates states;
  std::set<Connection*> connections;
  // Requests under way, by principal.
  std::map<std::string, size_t> requests;
  // The name and the version.
  std::optional<Offer> identity;
  // How many watch each resource.
  std::map<std::string, size_t> watchers;
  // Bytes of URIs, by principal.
  std::map<std::string, size_t> watched;
  // Changes that nobody was told of yet.
  std::set<std::pair<int, std::string>> changes;
  bool telling = false;
  io::Milliseconds told_at = 0;
  // For a transport that keeps something of what is offered.
  std::function<void(const Change&)> on_change;

  // Whether the principal has room for one more URI, and the count of those who watch it.
  bool may_watch(const std::string& principal, const std::string& uri);
  void watch(const std::string& principal, const std::string& uri, bool wanted);
  // Counts its requests under way.
  void count(const std::string& principal, int more);
  const Offer& who(const Principal& principal);
};

class Server {
 public:
  // Takes the service's on_change.
  static Result<std::unique_ptr<Server>> create(io::Loop& loop, Service& service);
  ~Server();

  std::shared_ptr<Connection> connect(std::shared_ptr<const Principal> principal,
                                      std::shared_ptr<Outlet> apart);
  // Closes all connections gracefully.
  void close();
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

// A key that keeps 1 and "1" apart.
std::string key_of(const Value& id);

}  // namespace paddock::mcp
