// What the servers behind the gateway offer: read when they start, judged by their pins, and read
// again when they say that it has changed.
#include <algorithm>

#include "base/text.h"
#include "tools/gateway/gateway.h"
#include "tools/visible_text.h"

namespace paddock::tools {

namespace {

// The pause between two readings, and what it grows to for a server that keeps changing.
constexpr io::Milliseconds kBetweenRefreshes = 250, kLongestBetween = 60'000;
// After so long a server that changed all the time is trusted again.
constexpr io::Milliseconds kCalm = 10'000;

// So many in a row are made before the pauses grow.
constexpr unsigned kFewRefreshes = 4;

// How long a call waits for lists that are being read again.
constexpr io::Milliseconds kPatience = 10'000;
constexpr io::Milliseconds kPinsLookedAt = 1'000;
constexpr size_t kMostReported = 1'000, kLongestReport = 300, kLongestLog = 1'000;

// For comparison: whether a list has changed.
std::string as_text(const Catalogue& catalogue, mcp::Change::Kind kind) {
  Value all = Value::Array{};
  if (kind == mcp::Change::Kind::tools)
    for (const ToolInfo& tool : catalogue.tools) all.as_array()->push_back(to_value(tool));
  if (kind == mcp::Change::Kind::prompts)
    for (const OfferedPrompt& prompt : catalogue.prompts) all.as_array()->push_back(prompt.value);
  if (kind == mcp::Change::Kind::resources) {
    for (const OfferedResource& resource : catalogue.resources)
      all.as_array()->push_back(resource.value);
    for (const OfferedTemplate& offered : catalogue.templates)
      all.as_array()->push_back(offered.value);
  }
  return to_json(all);
}

}  // namespace

// A server is used only once its lists were read and judged.
io::Task<Result<void>> Gateway::ready(GatewayServerPtr server,
                                      std::shared_ptr<mcp::ServerLink> link) {
  std::shared_ptr<Gateway> self = shared_from_this();
  std::vector<std::string> resources = watched_of(*server);
  Result<void> listening = co_await link->listen(resources);
  if (!listening)
    line(server->policy.name,
         cat("does not tell of changes: ", visible(listening.error().message)));
  if (server->policy.logging && link->offer.capabilities.as_object() &&
      link->offer.capabilities.find("logging"))
    link->set_log_level("debug");
  auto listing = std::make_shared<Listing>();
  for (int round = 0; round < 3; ++round) {  // again when it says meanwhile that something changed
    server->stale = 0;
    policy::McpServer policy = server->policy;
    co_await read_lists(link, policy, kAllLists, listing);
    if (server->stale == 0) break;
  }
  if (listing->problems.count("tools"))
    co_return Error{Code::invalid, listing->problems["tools"], ""};
  server->offer = link->offer;
  server->era = link->era;
  server->version = link->version;
  server->listing = listing;
  server->refreshed_at = loop_.now();
  judge(*server);
  rebuild();
  co_return Result<void>();
}

// Without readable pins nothing of the server is offered.
void Gateway::judge(GatewayServer& server) {
  server.verdict.reset();
  if (!server.listing || !server.policy.pin) return;
  server.verdict.emplace();
  if (!pins_) {
    server.verdict->all = cat("its pins cannot be read: ", pins_problem_);
    return;
  }
  Result<Verdict> verdict =
      pins_->see(server.policy.name, snapshot_of(server.policy, server.offer, *server.listing));
  // An empty stamp makes watch_pins() try again.
  server.stamp = verdict ? pins_->stamp(server.policy.name) : "";
  if (!verdict) {
    server.verdict->all = cat("its pins cannot be read: ", verdict.error().message);
    if (server.reported.insert(server.verdict->all).second)
      line(server.policy.name, server.verdict->all);
    return;
  }
  server.verdict = std::move(verdict.value());
  report(server);
}

// Each change is reported once, until there are too many to remember.
void Gateway::report(GatewayServer& server) const {
  if (server.reported.size() > kMostReported) server.reported.clear();
  auto report_change = [&](const PinChange& change, const char* what) {
    std::string text = cut_to(cat(what, ": ", to_string(change.kind),
                                  change.name.empty() ? "" : " ", change.name, " (", change.what),
                              kLongestReport) +
                       ")";
    if (server.reported.insert(text).second)
      line(server.policy.name, cat(text, "; see: paddock mcp pins ", server.policy.name));
  };
  const Verdict& found = *server.verdict;
  if (!found.all.empty() && server.reported.insert(found.all).second)
    line(server.policy.name, cat("withheld: ", found.all));
  if (found.all.empty()) {
    for (const auto& [name, change] : found.tools) report_change(change, "withheld");
    for (const auto& [name, change] : found.prompts) report_change(change, "withheld");
    if (found.instructions) report_change(*found.instructions, "withheld");
  }
  for (const PinChange& change : found.removed) report_change(change, "gone");
}

// Says whether there is anything that somebody could accept.
bool Gateway::withholds() const {
  for (const auto& server : servers_)
    if (server->verdict && (!server->verdict->all.empty() || !server->verdict->tools.empty() ||
                            !server->verdict->prompts.empty() || server->verdict->instructions))
      return true;
  return false;
}

// Clients are told when a list has changed, or when its server said so.
void Gateway::rebuild(unsigned said) {
  std::vector<ServerPart> parts;
  for (const auto& server : servers_)
    parts.push_back(
        {&server->policy, server->listing.get(), server->verdict ? &*server->verdict : nullptr});
  Catalogue made = merge(parts, options_.reserved);
  std::swap(made, catalogue_);
  using Kind = mcp::Change::Kind;
  for (auto [kind, list] : {std::pair{Kind::tools, kTools}, std::pair{Kind::prompts, kPrompts},
                            std::pair{Kind::resources, kResources}}) {
    if (!(said & list) && as_text(made, kind) == as_text(catalogue_, kind)) continue;
    if (kind == Kind::tools && on_tools_changed) on_tools_changed();
    if (kind != Kind::tools && on_change) on_change({.kind = kind});
  }
  if (withholds() && !watching_pins_ && pins_) {
    watching_pins_ = true;
    io::spawn(watch_pins());
  }
}

// While something is withheld, somebody may accept it.
io::Task<void> Gateway::watch_pins() {
  std::shared_ptr<Gateway> self = shared_from_this();
  while (!stopped_ && withholds()) {
    co_await loop_.sleep(kPinsLookedAt);
    bool judged = false;
    for (const auto& server : servers_) {
      if (stopped_ || !server->verdict || pins_->stamp(server->policy.name) == server->stamp)
        continue;
      judge(*server);
      judged = true;
    }
    if (judged) rebuild();
  }
  watching_pins_ = false;
}

// A notification of a server that belongs to no call.
void Gateway::notified(GatewayServerPtr server, const std::string& method, const Value& params) {
  if (stopped_) return;
  unsigned stale = method == "notifications/tools/list_changed"       ? kTools
                   : method == "notifications/prompts/list_changed"   ? kPrompts
                   : method == "notifications/resources/list_changed" ? kResources
                                                                      : 0u;
  server->stale |= stale;
  if (stale && !server->refreshing && server->process->link()) {
    server->refreshing = true;
    io::spawn(refresh(server));
  }
  if (method == "notifications/resources/updated") {
    const Value* uri = params.find("uri");
    if (!server->policy.resources || !uri || !uri->as_string() ||
        !watched_.count(*uri->as_string()))
      return;
    if (owner_of(*uri->as_string()) == server && on_change)
      on_change({.kind = mcp::Change::Kind::resource, .uri = *uri->as_string()});
  }
  if (method == "notifications/message" && server->policy.logging) {
    const Value* found = params.find("data");
    Value data = found ? *found : Value();
    std::string level = text_in(params, "level", "info"), logger = text_in(params, "logger");
    if (std::shared_ptr<mcp::Context> context = likely_context(*server)) {
      context->log(level, logger, data);
    } else {
      std::string shown = redact::redacted(*server->rules->redaction, found ? to_json(data) : "");
      line(server->policy.name, cut_to(visible(cat(level, ": ", shown)), kLongestLog));
    }
  }
}

// A server that changes all the time is read less and less often.
io::Task<void> Gateway::refresh(GatewayServerPtr server) {
  std::shared_ptr<Gateway> self = shared_from_this();
  while (server->stale && !stopped_) {
    server->in_a_row = loop_.now() - server->refreshed_at > kCalm ? 0 : server->in_a_row + 1;
    unsigned doubled =
        server->in_a_row > kFewRefreshes ? std::min(server->in_a_row - kFewRefreshes, 8u) : 0;
    io::Milliseconds pause = std::min(kBetweenRefreshes << doubled, kLongestBetween);
    if (io::Milliseconds wait = server->refreshed_at + pause - loop_.now(); wait > 0)
      co_await loop_.sleep(wait);
    std::shared_ptr<mcp::ServerLink> link = server->process->link();
    if (!link) break;  // its lists are read when it runs again
    unsigned kinds = std::exchange(server->stale, 0u);
    auto listing = std::make_shared<Listing>(*server->listing);
    policy::McpServer policy = server->policy;
    co_await read_lists(link, policy, kinds, listing);
    server->refreshed_at = loop_.now();
    if (link != server->process->link()) break;
    server->listing = listing;
    judge(*server);
    rebuild(kinds);
  }
  server->refreshing = false;
}

// A server that has just said that its tools changed must not be called by what they were.
io::Task<bool> Gateway::wait_for_refresh(GatewayServerPtr server) {
  std::shared_ptr<Gateway> self = shared_from_this();
  io::Milliseconds until = loop_.now() + kPatience;
  while (server->refreshing && loop_.now() < until) co_await loop_.sleep(10);
  co_return !server->refreshing;
}

std::vector<std::string> Gateway::watched_of(const GatewayServer& server) const {
  std::vector<std::string> uris;
  for (const std::string& uri : watched_)
    if (GatewayServerPtr owner = owner_of(uri); owner && owner.get() == &server)
      uris.push_back(uri);
  return uris;
}

// The set of watched resources has changed. Changes during one request are sent by the next.
void Gateway::relisten(GatewayServerPtr server) {
  server->listen_again = true;
  if (server->listening) return;
  server->listening = true;
  io::spawn(listen(server));
}

// Repeats until no change came meanwhile. `listening` is cleared at the end only, so that one task
// does it.
io::Task<void> Gateway::listen(GatewayServerPtr server) {
  std::shared_ptr<Gateway> self = shared_from_this();
  while (server->listen_again && !stopped_) {
    server->listen_again = false;
    std::shared_ptr<mcp::ServerLink> link = server->process->link();
    if (!link) break;
    std::vector<std::string> uris = watched_of(*server);
    Result<void> listening = co_await link->listen(uris);
    if (!listening)
      line(server->policy.name,
           cat("does not tell of changes: ", visible(listening.error().message)));
  }
  server->listening = false;
}

}  // namespace paddock::tools
