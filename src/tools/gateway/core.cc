#include "tools/gateway/core.h"

#include <algorithm>

#include "base/text.h"
#include "tools/gateway/visible_text.h"

namespace paddock::tools {

namespace {

constexpr io::Milliseconds kBetweenRefreshes = 250, kLongestBetween = 60'000;
// After so long a server that changed all the time is trusted again.
constexpr io::Milliseconds kCalm = 10'000;
constexpr unsigned kFewRefreshes = 4;           // in a row, before the pauses grow
constexpr io::Milliseconds kPatience = 10'000;  // for lists that are being read again
constexpr io::Milliseconds kPinsLookedAt = 1'000;
constexpr size_t kMostTold = 1'000, kLongestTold = 300;

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

// "Visit these pages first" is a question, too.
void hold_to_policy(const Entry& entry, mcp::Problem& problem) {
  const Value* pages = problem.data.as_object() ? problem.data.find("elicitations") : nullptr;
  std::string why = ask_problem(entry.server, "elicitation/create");
  if (!why.empty() || !pages || !pages->as_array()) {
    problem = {mcp::kInternalError,
               cat("the server '", entry.server.name, "' wants its user to visit a page: ",
                   why.empty() ? "it does not say which" : why),
               {}};
    return;
  }
  Value named = Value::Array{};
  for (const Value& page : *pages->as_array())
    named.as_array()->push_back(ask_in_its_name(*entry.rules, "elicitation/create", page));
  problem.data = Value::Object{{"elicitations", std::move(named)}};
}

// What a server answered, as the client may have it.
mcp::Answer passed_on(const Entry& entry, const std::string& method, mcp::Answer answer) {
  const redact::Rules& redaction = *entry.rules->redaction;
  if (answer.problem) {
    // What the two ends of our own connection say to each other means nothing to the client's.
    bool of_the_link = answer.problem->code == mcp::kHeaderMismatch ||
                       answer.problem->code == mcp::kUnsupportedVersion ||
                       answer.problem->code == mcp::kParseError ||
                       answer.problem->code == mcp::kInvalidRequest;
    if (of_the_link) answer.problem->code = mcp::kInternalError;
    answer.problem->message =
        cut_to(visible(redact::redacted(redaction, answer.problem->message)), 4000);
    answer.problem->data = redact::redacted(redaction, answer.problem->data);
    if (answer.problem->code == mcp::kUrlElicitationRequired)
      hold_to_policy(entry, *answer.problem);
    return answer;
  }
  if (answer.input) {
    Value named = Value::Object{};
    if (const Value::Object* requests = answer.input->requests.as_object())
      for (const auto& [key, asked] : *requests) {
        const Value *asks = asked.find("method"), *params = asked.find("params");
        std::string name = asks && asks->as_string() ? *asks->as_string() : "";
        if (std::string problem = ask_problem(entry.server, name); !problem.empty())
          return mcp::Answer::done(
              error_result(cat("the server '", entry.server.name, "' needs an answer to ",
                               visible(name), ": ", problem)));
        named.set(key, Value::Object{{"method", name},
                                     {"params", ask_in_its_name(*entry.rules, name,
                                                                params ? *params : Value())}});
      }
    answer.input->requests = std::move(named);
    return answer;
  }
  // Who serves is Paddock, and the era's own members are put in by whoever speaks to the client.
  answer.result = without_members(answer.result, {"resultType"});
  if (const Value* meta = answer.result.find("_meta"); meta && meta->as_object()) {
    Value left = without_members(*meta, {mcp::meta::kServerInfo});
    answer.result = left.as_object()->empty() ? without_members(answer.result, {"_meta"})
                                              : with_member(answer.result, "_meta", left);
  }
  // Of tools the desk does, and counts.
  if (method != "tools/call") answer.result = redact::redacted(redaction, answer.result);
  return answer;
}

// What of a request goes on to the server beside what was judged. Of _meta the trace alone, with
// our span in it: anything else would carry text past the rules. Answers with the state that shows
// that there was a question (mcp::Context::params), or where the server may ask at all: a client
// that knows the question may answer it at once, and the desk has recorded what it says.
void add_what_belongs(const mcp::Context& context, const policy::McpServer& server, Value& params) {
  const Value *meta = context.params.find("_meta"), *state = context.params.find("requestState"),
              *answers = context.params.find("inputResponses");
  if (meta && meta->as_object() && meta->find("traceparent"))
    params.set("_meta", Value::Object{{"traceparent", cat("00-", context.cause.trace, "-",
                                                          context.cause.span, "-01")}});
  if (state && state->as_string()) params.set("requestState", *state);
  if (answers && (state || server.elicitation || server.sampling || server.roots))
    params.set("inputResponses", *answers);
}

// For callbacks that may come when the gateway is no more.
io::Task<mcp::Answer> nobody_left() {
  co_return mcp::Answer::failed(mcp::kInternalError, "the gateway has ended");
}
io::Task<Result<void>> not_ready() { co_return Error{Code::conflict, "the gateway has ended", ""}; }

}  // namespace

std::shared_ptr<mcp::Context> likely_context(const Entry& entry) {
  auto id_of = [](const mcp::Context& context) {
    return context.principal ? context.principal->id : "";
  };
  if (entry.under_way.empty()) return nullptr;
  for (const auto& context : entry.under_way)
    if (id_of(*context) != id_of(*entry.under_way.back())) return nullptr;
  return entry.under_way.back();
}

Core::Core(io::Loop& event_loop, GatewayOptions gateway_options)
    : loop(event_loop), options(std::move(gateway_options)) {
  if (Result<Pins> pins = Pins::open(options.state_directory))
    pins_ = std::move(pins.value());
  else
    pins_problem_ = pins.error().message;
}

void Core::open() {
  std::weak_ptr<Core> weak = weak_from_this();
  for (const policy::McpServer& server : options.servers) {
    auto entry = std::make_shared<Entry>();
    entry->server = server;
    keep_secrets(*entry, {});
    std::weak_ptr<Entry> its = entry;
    SuperviseOptions supervise{
        .server = server, .dial = options.dial, .call_timeout_ms = options.call_timeout_ms};
    supervise.upstream.ask = [weak, its](std::string method, Value params,
                                         std::shared_ptr<mcp::Context> during) {
      auto core = weak.lock();
      return core ? core->asked(its.lock(), std::move(method), std::move(params), std::move(during))
                  : nobody_left();
    };
    supervise.upstream.tell = [weak, its](std::string method, Value params) {
      if (auto core = weak.lock()) core->told(its.lock(), method, params);
    };
    supervise.ready = [weak, its](std::shared_ptr<mcp::ServerLink> link) {
      auto core = weak.lock();
      return core ? core->ready(its.lock(), std::move(link)) : not_ready();
    };
    supervise.on_line = [weak, its](std::string text) {
      if (auto core = weak.lock())
        core->line(its.lock()->server.name, redact::redacted(*its.lock()->rules->redaction, text));
    };
    supervise.on_secrets = [weak, its](std::vector<redact::Secret> secrets) {
      if (auto core = weak.lock()) core->keep_secrets(*its.lock(), std::move(secrets));
    };
    entry->process = std::make_shared<Supervised>(loop, std::move(supervise));
    entries.push_back(std::move(entry));
  }
}

void Core::line(const std::string& server, const std::string& text) const {
  if (options.on_line) options.on_line(server, text);
}

// "Bearer abc": what comes back may be the second word alone.
void Core::keep_secrets(Entry& entry, std::vector<redact::Secret> secrets) {
  size_t count = secrets.size();
  for (size_t i = 0; i < count; ++i)
    if (size_t space = secrets[i].value.rfind(' ');
        space != std::string::npos && secrets[i].value.size() - space > 8)
      secrets.push_back({secrets[i].name, secrets[i].value.substr(space + 1)});
  redact::Options known{.secrets = std::move(secrets)};
  Result<std::shared_ptr<const redact::Rules>> rules = redact::Rules::compile(known);
  entry.rules = std::make_shared<ForwardRules>(
      ForwardRules{entry.server, rules ? rules.value() : redact::Rules::common()});
}

std::shared_ptr<Entry> Core::find(std::string_view server) const {
  for (const auto& entry : entries)
    if (entry->server.name == server) return entry;
  return nullptr;
}

std::shared_ptr<Entry> Core::owner_of(const std::string& uri) const {
  const std::string* server = catalogue.owner_of(uri);
  return server ? find(*server) : nullptr;
}

io::Task<Result<void>> Core::ready(std::shared_ptr<Entry> entry,
                                   std::shared_ptr<mcp::ServerLink> link) {
  std::shared_ptr<Core> self = shared_from_this();
  std::vector<std::string> resources = watched_of(*entry);
  Result<void> listening = co_await link->listen(resources);
  if (!listening)
    line(entry->server.name, cat("does not tell of changes: ", visible(listening.error().message)));
  if (entry->server.logging && link->offer.capabilities.as_object() &&
      link->offer.capabilities.find("logging"))
    link->set_log_level("debug");
  auto listing = std::make_shared<Listing>();
  for (int round = 0; round < 3; ++round) {  // again when it says meanwhile that something changed
    entry->stale = 0;
    policy::McpServer server = entry->server;
    co_await read_lists(link, server, kAllLists, listing);
    if (entry->stale == 0) break;
  }
  if (listing->problems.count("tools"))
    co_return Error{Code::invalid, listing->problems["tools"], ""};
  entry->offer = link->offer;
  entry->era = link->era;
  entry->version = link->version;
  entry->listing = listing;
  entry->refreshed_at = loop.now();
  judge(*entry);
  rebuild();
  co_return Result<void>();
}

void Core::judge(Entry& entry) {
  entry.verdict.reset();
  if (!entry.listing || !entry.server.pin) return;
  entry.verdict.emplace();
  if (!pins_) {
    entry.verdict->all = cat("its pins cannot be read: ", pins_problem_);
    return;
  }
  Result<Verdict> verdict =
      pins_->see(entry.server.name, sight_of(entry.server, entry.offer, *entry.listing));
  // Which makes watch_pins() try again.
  entry.stamp = verdict ? pins_->stamp(entry.server.name) : "";
  if (!verdict) {
    entry.verdict->all = cat("its pins cannot be read: ", verdict.error().message);
    if (entry.told.insert(entry.verdict->all).second) line(entry.server.name, entry.verdict->all);
    return;
  }
  entry.verdict = std::move(verdict.value());
  if (entry.told.size() > kMostTold) entry.told.clear();
  auto tell = [&](const PinChange& change, const char* what) {
    std::string text = cut_to(cat(what, ": ", to_string(change.kind),
                                  change.name.empty() ? "" : " ", change.name, " (", change.what),
                              kLongestTold) +
                       ")";
    if (entry.told.insert(text).second)
      line(entry.server.name, cat(text, "; see: paddock mcp pins ", entry.server.name));
  };
  const Verdict& found = *entry.verdict;
  if (!found.all.empty() && entry.told.insert(found.all).second)
    line(entry.server.name, cat("withheld: ", found.all));
  if (found.all.empty()) {
    for (const auto& [name, change] : found.tools) tell(change, "withheld");
    for (const auto& [name, change] : found.prompts) tell(change, "withheld");
    if (found.instructions) tell(*found.instructions, "withheld");
  }
  for (const PinChange& change : found.removed) tell(change, "gone");
}

bool Core::withholds() const {
  for (const auto& entry : entries)
    if (entry->verdict && (!entry->verdict->all.empty() || !entry->verdict->tools.empty() ||
                           !entry->verdict->prompts.empty() || entry->verdict->instructions))
      return true;
  return false;
}

void Core::rebuild(unsigned said) {
  std::vector<Shelf> shelves;
  for (const auto& entry : entries)
    shelves.push_back(
        {&entry->server, entry->listing.get(), entry->verdict ? &*entry->verdict : nullptr});
  Catalogue made = merge(shelves, options.reserved);
  std::swap(made, catalogue);
  using Kind = mcp::Change::Kind;
  for (auto [kind, list] : {std::pair{Kind::tools, kTools}, std::pair{Kind::prompts, kPrompts},
                            std::pair{Kind::resources, kResources}}) {
    if (!(said & list) && as_text(made, kind) == as_text(catalogue, kind)) continue;
    if (kind == Kind::tools && tools_changed) tools_changed();
    if (kind != Kind::tools && changed) changed({.kind = kind});
  }
  if (withholds() && !watching_pins_ && pins_) {
    watching_pins_ = true;
    io::spawn(watch_pins());
  }
}

// While something is withheld somebody may accept it.
io::Task<void> Core::watch_pins() {
  std::shared_ptr<Core> self = shared_from_this();
  while (!stopped && withholds()) {
    co_await loop.sleep(kPinsLookedAt);
    bool judged = false;
    for (const auto& entry : entries) {
      if (stopped || !entry->verdict || pins_->stamp(entry->server.name) == entry->stamp) continue;
      judge(*entry);
      judged = true;
    }
    if (judged) rebuild();
  }
  watching_pins_ = false;
}

void Core::told(std::shared_ptr<Entry> entry, const std::string& method, const Value& params) {
  if (stopped) return;
  unsigned stale = method == "notifications/tools/list_changed"       ? kTools
                   : method == "notifications/prompts/list_changed"   ? kPrompts
                   : method == "notifications/resources/list_changed" ? kResources
                                                                      : 0u;
  entry->stale |= stale;
  if (stale && !entry->refreshing && entry->process->link()) {
    entry->refreshing = true;
    io::spawn(refresh(entry));
  }
  if (method == "notifications/resources/updated") {
    const Value* uri = params.find("uri");
    if (!entry->server.resources || !uri || !uri->as_string() || !watched.count(*uri->as_string()))
      return;
    if (owner_of(*uri->as_string()) == entry && changed)
      changed({.kind = mcp::Change::Kind::resource, .uri = *uri->as_string()});
  }
  if (method == "notifications/message" && entry->server.logging) {
    const Value *level = params.find("level"), *logger = params.find("logger"),
                *data = params.find("data");
    std::string level_text = level && level->as_string() ? *level->as_string() : "info";
    std::string logger_text = logger && logger->as_string() ? *logger->as_string() : "";
    if (std::shared_ptr<mcp::Context> context = likely_context(*entry))
      context->log(level_text, logger_text, data ? *data : Value());
    else
      line(entry->server.name,
           cut_to(
               visible(cat(level_text, ": ",
                           redact::redacted(*entry->rules->redaction, data ? to_json(*data) : ""))),
               1000));
  }
}

io::Task<void> Core::refresh(std::shared_ptr<Entry> entry) {
  std::shared_ptr<Core> self = shared_from_this();
  while (entry->stale && !stopped) {
    entry->in_a_row = loop.now() - entry->refreshed_at > kCalm ? 0 : entry->in_a_row + 1;
    unsigned doubled =
        entry->in_a_row > kFewRefreshes ? std::min(entry->in_a_row - kFewRefreshes, 8u) : 0;
    io::Milliseconds pause = std::min(kBetweenRefreshes << doubled, kLongestBetween);
    if (io::Milliseconds wait = entry->refreshed_at + pause - loop.now(); wait > 0)
      co_await loop.sleep(wait);
    std::shared_ptr<mcp::ServerLink> link = entry->process->link();
    if (!link) break;  // it is read anew when it runs again
    unsigned kinds = std::exchange(entry->stale, 0u);
    auto listing = std::make_shared<Listing>(*entry->listing);
    policy::McpServer server = entry->server;
    co_await read_lists(link, server, kinds, listing);
    entry->refreshed_at = loop.now();
    if (link != entry->process->link()) break;
    entry->listing = listing;
    judge(*entry);
    rebuild(kinds);
  }
  entry->refreshing = false;
}

// A server that has just said that its tools changed must not be called by what they were.
io::Task<bool> Core::fresh(std::shared_ptr<Entry> entry) {
  std::shared_ptr<Core> self = shared_from_this();
  io::Milliseconds until = loop.now() + kPatience;
  while (entry->refreshing && loop.now() < until) co_await loop.sleep(10);
  co_return !entry->refreshing;
}

std::vector<std::string> Core::watched_of(const Entry& entry) const {
  std::vector<std::string> uris;
  for (const std::string& uri : watched)
    if (std::shared_ptr<Entry> owner = owner_of(uri); owner && owner.get() == &entry)
      uris.push_back(uri);
  return uris;
}

void Core::relisten(std::shared_ptr<Entry> entry) {
  entry->listen_again = true;
  if (entry->listening) return;
  entry->listening = true;
  io::spawn(listen(entry));
}

io::Task<void> Core::listen(std::shared_ptr<Entry> entry) {
  std::shared_ptr<Core> self = shared_from_this();
  while (entry->listen_again && !stopped) {
    entry->listen_again = false;
    std::shared_ptr<mcp::ServerLink> link = entry->process->link();
    if (!link) break;
    std::vector<std::string> uris = watched_of(*entry);
    Result<void> listening = co_await link->listen(uris);
    if (!listening)
      line(entry->server.name,
           cat("does not tell of changes: ", visible(listening.error().message)));
  }
  entry->listening = false;
}

io::Task<mcp::Answer> Core::asked(std::shared_ptr<Entry> entry, std::string method, Value params,
                                  std::shared_ptr<mcp::Context> during) {
  std::shared_ptr<Core> self = shared_from_this();
  std::string problem = ask_problem(entry->server, method);
  if (!problem.empty())
    co_return mcp::Answer::failed(mcp::kMethodNotFound, cat(method, ": ", problem));
  std::shared_ptr<mcp::Context> context = during ? during : likely_context(*entry);
  if (!context)
    co_return mcp::Answer::failed(
        mcp::kInvalidRequest,
        cat(method, ": it cannot be told which client is asked: ask while a call is under way"));
  Result<Value> said = co_await context->ask(method, params);
  if (said) co_return mcp::Answer::done(std::move(said.value()));
  co_return mcp::Answer::failed(
      said.error().code == Code::unsupported ? mcp::kMethodNotFound : mcp::kInternalError,
      said.error().message);
}

io::Task<mcp::Answer> Core::forward(Forward request, std::shared_ptr<mcp::Context> context) {
  std::shared_ptr<Core> self = shared_from_this();
  std::shared_ptr<Entry> entry = request.entry;
  add_what_belongs(*context, entry->server, request.params);
  bool is_fresh = co_await fresh(entry);
  if (!is_fresh)
    co_return mcp::Answer::failed(
        mcp::kInternalError,
        cat("the server '", entry->server.name, "' changes what it offers all the time"));
  std::shared_ptr<mcp::Context> inside = forward_context(context, entry->rules);
  entry->under_way.push_back(inside);
  Supervised::Request call{request.method, std::move(request.params), inside,
                           std::move(request.allowed)};
  Result<mcp::Answer> answer = co_await entry->process->call(std::move(call));
  std::erase(entry->under_way, inside);
  if (answer) co_return passed_on(*entry, request.method, std::move(answer.value()));
  std::string text = answer.error().message +
                     (answer.error().hint.empty() ? "" : cat(" (", answer.error().hint, ")"));
  text = redact::redacted(*entry->rules->redaction, text);  // its last words may be in it
  if (request.method == "tools/call") co_return mcp::Answer::done(error_result(text));
  co_return mcp::Answer::failed(
      answer.error().code == Code::denied ? mcp::kInvalidParams : mcp::kInternalError, text);
}

}  // namespace paddock::tools
