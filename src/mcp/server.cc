#include "mcp/server.h"

#include "base/text.h"
#include "base/value_edit.h"
#include "mcp/convert.h"

namespace paddock::mcp {

namespace {

using io::Task;

constexpr io::Milliseconds kSweepTime = 5'000;

// Changes of one moment are told once.
constexpr io::Milliseconds kChangeTime = 100;

// Resources that changed within that time.
constexpr size_t kMostChanges = 10'000;

// A key that is taken away ends what it began.
void end_whom_it_may_not_serve(const ServerState& state) {
  std::map<std::string, bool> may;
  std::vector<std::shared_ptr<Connection>> over;
  for (Connection* connection : state.connections) {
    const Principal& principal = *connection->principal();
    if (!principal.may_still || !connection->is_open()) continue;
    auto [known, is_new] = may.try_emplace(principal.id, true);
    if (is_new) known->second = principal.may_still();
    if (!known->second) over.push_back(connection->shared_from_this());
  }
  for (const std::shared_ptr<Connection>& connection : over) connection->close();
}

}  // namespace

// JSON keeps the number 1 and the text "1" apart.
std::string key_of(const Value& id) { return to_json(id); }

// Bounded by bytes, because URIs may be long.
bool ServerState::may_watch(const std::string& principal, const std::string& uri) {
  if (uri.empty() || uri.size() > kLongestUri) return false;
  auto found = watched.find(principal);
  return found == watched.end() || found->second + uri.size() <= kMostWatchedBytes;
}

// The service hears of the first watcher of a resource and of the last.
void ServerState::watch(const std::string& principal, const std::string& uri, bool wanted) {
  size_t& bytes = watched[principal];
  bytes += wanted ? uri.size() : -uri.size();
  if (bytes == 0) watched.erase(principal);
  size_t& count = watchers[uri];
  count += wanted ? 1 : -1;
  bool is_first = wanted && count == 1, is_last = !wanted && count == 0;
  if (is_last) watchers.erase(uri);
  if (is_first || is_last) service.watch_resource(uri, wanted);
}

// By principal, so that many connections of one do not crowd out others.
void ServerState::count(const std::string& principal, int more) {
  size_t& counted = requests[principal];
  counted += static_cast<size_t>(more);
  if (counted == 0) requests.erase(principal);
}

// Asked once: the name and the version do not depend on who asks.
const Offer& ServerState::who(const Principal& principal) {
  if (!identity) identity = service.offer(principal);
  return *identity;
}

// The service may speak while the server ends, so it holds the state weakly.
Result<std::unique_ptr<Server>> Server::create(io::Loop& loop, Service& service) {
  RequestStates states = TRY(RequestStates::create(loop));
  auto state = std::make_shared<ServerState>(loop, service, std::move(states));
  service.on_change = [weak = std::weak_ptr<ServerState>(state)](const Change& change) {
    if (std::shared_ptr<ServerState> held = weak.lock()) note_change(held, change);
  };
  io::spawn(sweep(state));
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::~Server() { state_->service.on_change = nullptr; }

// `apart` is for messages that belong to no request of a legacy client.
std::shared_ptr<Connection> Server::connect(std::shared_ptr<const Principal> principal,
                                            std::shared_ptr<Outlet> apart) {
  return std::make_shared<Connection>(state_, std::move(principal), std::move(apart));
}

// Holds all connections first, since closing one changes the set.
void Server::close() {
  std::vector<std::shared_ptr<Connection>> all;
  for (Connection* connection : state_->connections) all.push_back(connection->shared_from_this());
  for (const std::shared_ptr<Connection>& connection : all) connection->close(true);
  state_->states.close();
}

// Ends calls that wait for too long, and connections whose key was taken away.
Task<void> Server::sweep(std::weak_ptr<ServerState> state) {
  while (true) {
    std::shared_ptr<ServerState> held = state.lock();
    if (!held) co_return;
    io::Loop& loop = held->loop;
    held->states.sweep();
    end_whom_it_may_not_serve(*held);
    held.reset();
    co_await loop.sleep(kSweepTime);
  }
}

// ---- what is offered changes

// Changes of one moment are told together.
void Server::note_change(const std::shared_ptr<ServerState>& state, const Change& change) {
  if (state->on_change) state->on_change(change);
  if (state->changes.size() < kMostChanges)
    state->changes.insert({static_cast<int>(change.kind), change.uri});
  if (state->telling) return;
  state->telling = true;
  io::spawn(tell_changes(state));
}

// A list that changes often is told of at most every kChangeTime.
Task<void> Server::tell_changes(std::shared_ptr<ServerState> state) {
  io::Milliseconds wait = state->told_at + kChangeTime - state->loop.now();
  if (wait > 0)
    co_await state->loop.sleep(wait);
  else
    co_await state->loop.yield();
  state->telling = false;
  state->told_at = state->loop.now();
  std::set<std::pair<int, std::string>> changes;
  changes.swap(state->changes);
  std::vector<std::shared_ptr<Connection>> all;
  for (Connection* connection : state->connections) all.push_back(connection->shared_from_this());
  for (const auto& [kind, uri] : changes)
    for (const std::shared_ptr<Connection>& connection : all)
      connection->tell_of({static_cast<Change::Kind>(kind), uri});
}

}  // namespace paddock::mcp
