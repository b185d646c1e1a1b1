#include "mcp/server.h"

#include "base/text.h"
#include "mcp/convert.h"
#include "mcp/edit.h"

namespace paddock::mcp {

namespace {

using io::Task;

constexpr io::Milliseconds kSweepTime = 5'000;
constexpr io::Milliseconds kChangeTime = 100;  // changes of one moment are told once
constexpr size_t kMostChanges = 10'000;        // resources that changed within that

// A key that is taken away ends what it began.
void end_whom_it_may_not_serve(const Core& core) {
  std::map<std::string, bool> may;
  std::vector<std::shared_ptr<Connection>> over;
  for (Connection* connection : core.connections) {
    const Principal& principal = *connection->principal();
    if (!principal.may_still || !connection->is_open()) continue;
    auto [known, is_new] = may.try_emplace(principal.id, true);
    if (is_new) known->second = principal.may_still();
    if (!known->second) over.push_back(connection->shared_from_this());
  }
  for (const std::shared_ptr<Connection>& connection : over) connection->close();
}

}  // namespace

std::string key_of(const Value& id) { return to_json(id); }

bool Core::may_watch(const std::string& principal, const std::string& uri) {
  if (uri.empty() || uri.size() > kLongestUri) return false;
  auto found = watched.find(principal);
  return found == watched.end() || found->second + uri.size() <= kMostWatchedBytes;
}

void Core::watch(const std::string& principal, const std::string& uri, bool wanted) {
  size_t& bytes = watched[principal];
  bytes += wanted ? uri.size() : -uri.size();
  if (bytes == 0) watched.erase(principal);
  size_t& count = watchers[uri];
  count += wanted ? 1 : -1;
  bool is_first = wanted && count == 1, is_last = !wanted && count == 0;
  if (is_last) watchers.erase(uri);
  if (is_first || is_last) service.watch_resource(uri, wanted);
}

void Core::count(const std::string& principal, int more) {
  size_t& counted = requests[principal];
  counted += static_cast<size_t>(more);
  if (counted == 0) requests.erase(principal);
}

const Offer& Core::who(const Principal& principal) {
  if (!identity) identity = service.offer(principal);
  return *identity;
}

Result<std::unique_ptr<Server>> Server::create(io::Loop& loop, Service& service) {
  States states = TRY(States::create(loop));
  auto core = std::make_shared<Core>(loop, service, std::move(states));
  service.on_change = [weak = std::weak_ptr<Core>(core)](const Change& change) {
    if (std::shared_ptr<Core> held = weak.lock()) note_change(held, change);
  };
  io::spawn(sweep(core));
  return std::unique_ptr<Server>(new Server(std::move(core)));
}

Server::~Server() { core_->service.on_change = nullptr; }

std::shared_ptr<Connection> Server::connect(std::shared_ptr<const Principal> principal,
                                            std::shared_ptr<Outlet> apart) {
  return std::make_shared<Connection>(core_, std::move(principal), std::move(apart));
}

void Server::close() {
  std::vector<std::shared_ptr<Connection>> all;
  for (Connection* connection : core_->connections) all.push_back(connection->shared_from_this());
  for (const std::shared_ptr<Connection>& connection : all) connection->close(true);
  core_->states.close();
}

Task<void> Server::sweep(std::weak_ptr<Core> core) {
  while (true) {
    std::shared_ptr<Core> held = core.lock();
    if (!held) co_return;
    io::Loop& loop = held->loop;
    held->states.sweep();
    end_whom_it_may_not_serve(*held);
    held.reset();
    co_await loop.sleep(kSweepTime);
  }
}

// ---- what is offered changes

void Server::note_change(const std::shared_ptr<Core>& core, const Change& change) {
  if (core->on_change) core->on_change(change);
  if (core->changes.size() < kMostChanges)
    core->changes.insert({static_cast<int>(change.kind), change.uri});
  if (core->telling) return;
  core->telling = true;
  io::spawn(tell_changes(core));
}

Task<void> Server::tell_changes(std::shared_ptr<Core> core) {
  io::Milliseconds wait = core->told_at + kChangeTime - core->loop.now();
  if (wait > 0)
    co_await core->loop.sleep(wait);
  else
    co_await core->loop.yield();
  core->telling = false;
  core->told_at = core->loop.now();
  std::set<std::pair<int, std::string>> changes;
  changes.swap(core->changes);
  std::vector<std::shared_ptr<Connection>> all;
  for (Connection* connection : core->connections) all.push_back(connection->shared_from_this());
  for (const auto& [kind, uri] : changes)
    for (const std::shared_ptr<Connection>& connection : all)
      connection->tell_of({static_cast<Change::Kind>(kind), uri});
}

}  // namespace paddock::mcp
