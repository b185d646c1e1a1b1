#include "mcp/link.h"

#include <algorithm>

#include "base/text.h"
#include "base/value_edit.h"
#include "mcp/convert.h"

namespace paddock::mcp {

namespace {

using io::Milliseconds;
using io::Task;

// Bounds on requests of ours under way, and on questions of the server.
constexpr size_t kMostPending = 256, kMostAsked = 16;
// A server that leaves the probe unanswered for so long is greeted the old way, too.
constexpr Milliseconds kSilence = 5'000;

// For requests that nobody but us waits for.
constexpr Milliseconds kOwnPatience = 10'000;
constexpr Milliseconds kLongestPatience = 60'000;

// In bytes, for instructions. Names are shorter.
constexpr size_t kLongestText = 64 << 10;

// A capability may be an object or a flag.
bool has(const Value& capabilities, std::initializer_list<const char*> path) {
  const Value* found = find_path(capabilities, path);
  return found && (!found->as_bool() || *found->as_bool()) && !found->is_null();
}

// What both have. Nothing inside stands for "as it is".
Value both(const Value& ours, const Value& theirs) {
  Value common(Value::Object{});
  if (!ours.as_object() || !theirs.as_object()) return common;
  for (const auto& [name, part] : *ours.as_object())
    if (const Value* other = theirs.find(name); other && !other->is_null())
      common.set(name, part.as_object() ? both(part, *other) : part);
  return common;
}

// A client that names no mode of elicitation has forms.
Value with_modes(Value capabilities) {
  const Value* elicitation = capabilities.as_object() ? capabilities.find("elicitation") : nullptr;
  if (elicitation && elicitation->as_object() && !elicitation->find("form") &&
      !elicitation->find("url"))
    set_member(capabilities, "elicitation", Value::Object{{"form", Value(Value::Object{})}});
  return capabilities;
}

// A server may ask what both our own client and the client of this request can do.
Value common_capabilities(const Value& ours, const Value& theirs) {
  Value common = both(with_modes(ours), with_modes(theirs));
  const Value* elicitation = common.find("elicitation");
  if (elicitation && elicitation->as_object()->empty()) remove_member(common, "elicitation");
  return common;
}

// What our client said to us in _meta is not for the next one.
Value without_own_meta(const Value& meta) {
  Value kept(Value::Object{});
  if (!meta.as_object()) return kept;
  for (const auto& [key, value] : *meta.as_object()) {
    bool is_own = key == "progressToken" || key == meta::kVersion || key == meta::kClientInfo ||
                  key == meta::kClientCapabilities || key == meta::kLogLevel ||
                  key == meta::kSubscription || key == meta::kServerInfo;
    if (!is_own) kept.set(key, value);
  }
  return kept;
}

// Servers may say anything of themselves.
std::string bounded(const Value* text, size_t most) {
  if (!text || !text->as_string()) return "";
  return to_utf8(std::string_view(*text->as_string()).substr(0, most));
}

// `versions` comes from the server and may be anything.
bool speaks(const Value* versions, std::string_view version) {
  if (!versions || !versions->as_array()) return false;
  return std::any_of(
      versions->as_array()->begin(), versions->as_array()->end(),
      [&](const Value& each) { return each.as_string() && *each.as_string() == version; });
}

bool speaks_legacy(const Value* versions) {
  return std::any_of(std::begin(kLegacy), std::end(kLegacy),
                     [&](const char* version) { return speaks(versions, version); });
}

// Only modern servers have these codes, so they show the era even in a refusal.
bool is_modern_error(int code) {
  return code == kUnsupportedVersion || code == kHeaderMismatch || code == kMissingCapability;
}

// The HTTP status that a transport has put into the problem; negative: there was no answer.
int64_t status_of(const Problem& problem) {
  const Value* status = problem.data.as_object() ? problem.data.find("status") : nullptr;
  return status && status->as_int() ? *status->as_int() : 0;
}

Error cannot(const std::string& why, const std::string& hint = "") {
  return Error{paddock::Code::io, cat("speak with the MCP server: ", why), hint};
}

}  // namespace

// ---- requests of ours

// Ids are never used again, so that a late answer cannot reach another request.
PendingPtr Link::begin_request(std::string method, std::shared_ptr<Context> context) {
  auto pending = std::make_shared<PendingRequest>(loop_);
  pending->id = ++last_id_;
  pending->method = std::move(method);
  pending->context = std::move(context);
  pending_[pending->id] = pending;
  return pending;
}

// A modern request says who we are; a legacy one must not carry answers of the newer era.
Value Link::prepared(const PendingRequest& pending, Value params) const {
  if (!params.as_object()) params = Value(Value::Object{});
  const Value* given = params.find("_meta");
  Value meta = given ? without_own_meta(*given) : Value(Value::Object{});
  bool is_modern = era == Era::modern || pending.method == "server/discover";
  if (pending.context && meta.find("traceparent"))
    set_member(meta, "traceparent",
               cat("00-", pending.context->cause.trace, "-", pending.context->cause.span, "-01"));
  if (pending.context && pending.context->wants_progress()) meta.set("progressToken", pending.id);
  if (is_modern) {
    Value info;
    info.set("name", options_.name);
    info.set("version", options_.version);
    Value can = options_.capabilities.as_object() ? options_.capabilities : Value(Value::Object{});
    meta.set(meta::kVersion, kModern);
    meta.set(meta::kClientInfo, std::move(info));
    meta.set(meta::kClientCapabilities,
             pending.context ? common_capabilities(can, pending.context->client.capabilities)
                             : std::move(can));
    if (!log_level_.empty() && pending.context && has(offer.capabilities, {"logging"}))
      meta.set(meta::kLogLevel, log_level_);
  } else {
    remove_member(params, "inputResponses");
    remove_member(params, "requestState");
  }
  if (meta.as_object()->empty())
    remove_member(params, "_meta");
  else
    set_member(params, "_meta", std::move(meta));
  return params;
}

// Waits for the answer, the time, or the caller's cancellation, whichever comes first.
Task<Answer> Link::call(std::string method, Value params, std::shared_ptr<Context> context,
                        Milliseconds timeout) {
  std::shared_ptr<Link> self = shared_from_this();
  if (gone_) co_return Answer::failed(kInternalError, gone_->message);
  if (pending_.size() >= kMostPending)
    co_return Answer::failed(kInternalError,
                             cat("the server has ", kMostPending, " requests to answer already"));
  PendingPtr pending = begin_request(std::move(method), context);
  if (context)
    context->on_cancel([weak = std::weak_ptr(pending)] {
      PendingPtr cancelled = weak.lock();
      if (!cancelled) return;
      cancelled->cancelled = true;
      cancelled->bell.ring();
    });
  Milliseconds deadline = timeout > 0 ? loop_.now() + timeout : io::Wait::kForever;
  if (!pending->cancelled) send_request(pending, prepared(*pending, std::move(params)));
  bool in_time = true;
  while (!pending->answer && !pending->cancelled && in_time)
    in_time = co_await pending->bell.wait(deadline);
  end_request(pending);
  if (pending->answer) co_return std::move(*pending->answer);
  std::string why =
      pending->cancelled ? "it was cancelled" : cat("there was no answer within ", timeout, " ms");
  if (!gone_) forget(pending, why);
  co_return Answer::failed(kInternalError, cat(pending->method, ": ", why));
}

// The first answer counts. A subscription that ends is begun again.
void Link::settle(const PendingPtr& pending, Answer answer) {
  if (pending->answer) return;
  answered(*pending, answer);
  pending->answer = std::move(answer);
  pending->bell.ring();
  if (pending != listening_) return;
  bool was_heard = acknowledged_;
  end_request(pending);
  listening_ = nullptr;
  if (was_heard && !gone_) relisten();
}

PendingPtr Link::find(const Value& id) const {
  auto found = id.as_int() ? pending_.find(*id.as_int()) : pending_.end();
  return found == pending_.end() ? nullptr : found->second;
}

// Used to find out what an answer or a question without an id belongs to. A subscription does not
// count, because it is always under way.
PendingPtr Link::only() const {
  PendingPtr one;
  for (const auto& [id, pending] : pending_) {
    if (pending == listening_) continue;
    if (one) return nullptr;
    one = pending;
  }
  return one;
}

// The request it belongs to fails, so that nobody waits for nothing.
void Link::broke(const PendingPtr& pending, const std::string& why) {
  complain(cat("it sent what is no message: ", why));
  if (pending)
    settle(pending, Answer::failed(kInternalError, cat("the server's answer to ", pending->method,
                                                       " cannot be used: ", why)));
}

// Comes at most once. The requests are taken out first: settling one may begin others.
void Link::lost(Error why) {
  if (gone_) return;
  gone_ = std::move(why);
  std::map<int64_t, PendingPtr> all_pending;
  all_pending.swap(pending_);
  for (auto& [id, pending] : all_pending)
    settle(pending, Answer::failed(kInternalError, gone_->message));
  shut();
  if (!closed_ && options_.upstream.gone) options_.upstream.gone(*gone_);
}

void Link::close() {
  std::shared_ptr<Link> self = shared_from_this();
  closed_ = true;
  lost(cannot("the connection was closed"));
}

// Bounded, because a broken server can complain without end.
void Link::complain(std::string_view what) {
  if (!closed_ && options_.upstream.complain && complaints_.take(loop_.now()))
    options_.upstream.complain(printable(what.substr(0, 1000)));
}

// Nobody is told after close(), because the receiver may be gone.
void Link::tell(std::string method, Value params) const {
  if (!closed_ && options_.upstream.tell)
    options_.upstream.tell(std::move(method), std::move(params));
}

// ---- what the server says

void Link::take(Message message, const PendingPtr& on) {
  switch (message.kind) {
    case Message::Kind::request: return take_request(std::move(message), on);
    case Message::Kind::notification: return take_notification(std::move(message), on);
    case Message::Kind::response: break;
  }
  // A server that could not read our request cannot name it.
  PendingPtr pending = !message.id.is_null() ? find(message.id) : on ? on : only();
  if (!pending) return complain("it answered a request that is not under way");
  Answer answer = read(*pending, std::move(message));
  settle(pending, std::move(answer));
}

// A result, a problem, or input that is required first; anything else is a problem.
Answer Link::read(const PendingRequest& pending, Message message) const {
  if (message.problem) return Answer{.problem = std::move(message.problem)};
  Value result = std::move(message.result);
  bool is_modern = era == Era::modern || pending.method == "server/discover";
  std::string type = text_in(result, "resultType");
  remove_member(result, "resultType");
  if (!is_modern) return Answer::done(std::move(result));
  if (type == "input_required") {
    const Value *requests = result.find("inputRequests"), *state = result.find("requestState");
    bool is_sound = (requests || state) && (!requests || requests->as_object()) &&
                    (!state || state->as_string()) && may_need_input(pending.method);
    if (!is_sound)
      return Answer::failed(kInternalError,
                            cat("the server's answer to ", pending.method,
                                " cannot be used: it asks for input where it cannot"));
    return Answer::needs(requests ? *requests : Value(Value::Object{}),
                         state ? std::optional(*state->as_string()) : std::nullopt);
  }
  if (!type.empty() && type != "complete")
    return Answer::failed(kInternalError, cat("the server's answer to ", pending.method,
                                              " cannot be used: resultType '",
                                              printable(type.substr(0, 64)), "' is not known"));
  bool is_own = pending.method == "server/discover";  // who it is stands there
  if (const Value* meta = result.find("_meta"); meta && meta->as_object() && !is_own) {
    Value kept = *meta;
    remove_member(kept, meta::kServerInfo);
    if (kept.as_object()->empty())
      remove_member(result, "_meta");
    else
      set_member(result, "_meta", std::move(kept));
  }
  return Answer::done(std::move(result));
}

// Legacy servers ask us by requests of their own; modern ones may not.
void Link::take_request(Message message, const PendingPtr& on) {
  if (era == Era::modern)
    return complain(cat("it asked for ", message.method,
                        " by itself, which its revision of the protocol does not know"));
  if (message.method == "ping") return send(answer(message.id, Value(Value::Object{})));
  Value needed = needed_capability(message.method, message.params);
  if (needed.is_null())
    return send(
        refusal(message.id, {kMethodNotFound, cat("Method not found: ", message.method), {}}));
  bool is_declared = options_.capabilities.as_object() &&
                     options_.capabilities.find(needed.as_object()->front().first);
  if (!is_declared || !options_.upstream.ask)
    return send(refusal(
        message.id,
        {kMethodNotFound, cat(message.method, ": this client did not say that it can"), {}}));
  if (asked_ >= kMostAsked)
    return send(refusal(message.id,
                        {kInternalError, cat(message.method, ": too many questions at once"), {}}));
  PendingPtr pending = on ? on : only();
  io::spawn(
      answer_ask(shared_from_this(), std::move(message), pending ? pending->context : nullptr));
}

// The server is answered in any case, so that it does not wait for ever.
Task<void> Link::answer_ask(std::shared_ptr<Link> self, Message request,
                            std::shared_ptr<Context> during) {
  ++self->asked_;
  Task<Answer> asked =
      self->options_.upstream.ask(request.method, std::move(request.params), std::move(during));
  Answer said = co_await asked;
  --self->asked_;
  if (self->gone_) co_return;
  if (said.problem)
    self->send(refusal(request.id, std::move(*said.problem)));
  else if (said.input)
    self->send(refusal(request.id, {kInternalError, "it cannot be asked that way", {}}));
  else
    self->send(answer(request.id, std::move(said.result)));
}

// Progress and logs go to the request they belong to; changes of lists to the gateway.
void Link::take_notification(Message message, const PendingPtr& on) {
  const std::string& method = message.method;
  Value& params = message.params;
  if (!params.as_object()) params = Value(Value::Object{});
  if (method == "notifications/progress") {
    const Value *token = params.find("progressToken"), *done = params.find("progress"),
                *total = params.find("total");
    PendingPtr pending = token ? find(*token) : nullptr;
    auto number = [](const Value* value) -> std::optional<double> {
      if (value && value->as_int()) return static_cast<double>(*value->as_int());
      return value && value->as_double() ? std::optional(*value->as_double()) : std::nullopt;
    };
    if (pending && pending->context && !pending->cancelled && number(done))
      pending->context->progress(*number(done), number(total), text_in(params, "message"));
    return;
  }
  if (method == "notifications/message") {
    PendingPtr pending = on ? on : only();
    std::string level = text_in(params, "level");
    if (mcp::log_level(level) < 0) return;
    const Value* data = params.find("data");
    if (pending && pending->context)
      return pending->context->log(level, text_in(params, "logger"), data ? *data : Value());
    if (era == Era::legacy) tell(method, std::move(params));
    return;
  }
  if (method == "notifications/cancelled") {
    const Value* id = params.find("requestId");
    PendingPtr pending = id ? find(*id) : nullptr;
    if (pending && pending == listening_) settle(pending, Answer::done(Value(Value::Object{})));
    return;
  }
  if (era == Era::modern) {  // only what was asked for, behind the word that it was heard
    const Value* id = find_path(params, {"_meta", meta::kSubscription});
    if (!listening_ || !id || !id->as_int() || *id->as_int() != listening_->id) return;
    if (method == "notifications/subscriptions/acknowledged") {
      acknowledged_ = true;
      listening_->bell.ring();
      return;
    }
    if (!acknowledged_) return;
    Value meta = *params.find("_meta");
    remove_member(meta, meta::kSubscription);
    if (meta.as_object()->empty())
      remove_member(params, "_meta");
    else
      set_member(params, "_meta", std::move(meta));
  }
  for (const char* known :
       {"notifications/tools/list_changed", "notifications/prompts/list_changed",
        "notifications/resources/list_changed", "notifications/resources/updated",
        "notifications/elicitation/complete"})
    if (method == known) return tell(method, std::move(params));
}

// Modern servers take no notifications from a client.
void Link::notify(std::string method, Value params) {
  if (!gone_ && era == Era::legacy) send(notification(std::move(method), std::move(params)));
}

// ---- which era

// The answers to the two greetings, which may both be under way.
struct Link::Greeting {
  explicit Greeting(io::Loop& loop) : bell(loop) {}
  io::Bell bell;
  std::optional<Answer> discovery, initialization;
};

// Runs beside greet(), which waits for either answer.
Task<void> Link::ask_own(std::shared_ptr<Link> self, std::shared_ptr<Greeting> greeting,
                         std::string method, Value params) {
  bool is_discovery = method == "server/discover";
  std::shared_ptr<Context> nobody;
  Milliseconds forever = 0;
  Answer said = co_await self->call(std::move(method), std::move(params), nobody, forever);
  (is_discovery ? greeting->discovery : greeting->initialization) = std::move(said);
  greeting->bell.ring();
}

// Whether the answer to server/discover shows a server of the legacy era. The error arm: it cannot
// be spoken with.
Result<bool> Link::hear_discovery(const Answer& said) {
  if (!said.problem) {
    bool is_legacy = false;
    TRY(take_discovery(said.result, is_legacy));
    return is_legacy;
  }
  const Problem& problem = *said.problem;
  int64_t status = status_of(problem);
  const Value* supported = problem.data.as_object() ? problem.data.find("supported") : nullptr;
  if (status == 401 || status == 403 || status < 0)
    return cannot(
        problem.message,
        status < 0 ? "" : "give it what it wants with headers = { Authorization = \"env:…\" }");
  std::string message = printable(problem.message.substr(0, 300));
  if (is_modern_error(problem.code) && !speaks_legacy(supported))
    return cannot(cat("it refused the greeting: ", message));
  if (options_.era == Era::modern) return cannot(cat("it is not what it was: ", message));
  return true;
}

// Probes for the modern era first. A server that stays silent is also greeted the old way.
Task<Result<void>> Link::greet() {
  std::shared_ptr<Link> self = shared_from_this();
  auto greeting = std::make_shared<Greeting>(loop_);
  Milliseconds deadline = loop_.now() + options_.start_timeout,
               probe_until = loop_.now() + std::min(options_.start_timeout / 4, kSilence);
  bool may_be_modern = options_.era != Era::legacy, initializing = false,
       greets_old_way = !may_be_modern;
  Value none(Value::Object{});
  if (may_be_modern) io::spawn(ask_own(self, greeting, "server/discover", none));
  while (true) {
    if (gone_) co_return *gone_;
    if (std::optional<Answer> said = std::exchange(greeting->discovery, std::nullopt)) {
      may_be_modern = false;
      Result<bool> is_legacy = hear_discovery(*said);
      if (!is_legacy) co_return is_legacy.error();
      greets_old_way = is_legacy.value();
      if (!greets_old_way) break;
    }
    if (std::optional<Answer> said = std::exchange(greeting->initialization, std::nullopt)) {
      if (!said->problem) {
        Result<void> taken = take_initialization(said->result);
        if (!taken) co_return taken;
        Message initialized = notification("notifications/initialized", {});
        co_await send_and_wait(std::move(initialized));
        break;
      }
      if (!may_be_modern)
        co_return cannot(
            cat("it refused the greeting: ", printable(said->problem->message.substr(0, 300))));
    }
    if (greets_old_way && !initializing) {
      initializing = true;
      io::spawn(ask_own(self, greeting, "initialize", hello()));
      continue;  // it may have failed at once
    }
    Milliseconds until = initializing ? deadline : probe_until;
    bool in_time = co_await greeting->bell.wait(until);
    if (in_time) continue;
    if (loop_.now() >= deadline)
      co_return cannot(cat("it did not answer the greeting within ", options_.start_timeout, " ms"),
                       "start_timeout gives it longer");
    greets_old_way = true;
  }
  for (const auto& [id, pending] : std::map(pending_))
    settle(pending, Answer::failed(kInternalError, "it was greeted the other way"));
  greeted();
  co_return Result<void>();
}

// The newest legacy revision is offered; the server may choose an older one.
Value Link::hello() const {
  Value hello, info;
  info.set("name", options_.name);
  info.set("version", options_.version);
  hello.set("protocolVersion", kLegacy[0]);
  hello.set("capabilities",
            options_.capabilities.as_object() ? options_.capabilities : Value(Value::Object{}));
  hello.set("clientInfo", std::move(info));
  return hello;
}

// Without an acknowledgement of the transport, sent is as good as arrived.
Task<void> Link::send_and_wait(Message message) {
  send(message);
  co_return;
}

// Bounded: it is shown to people and models.
void Link::take_identity(const Value* info, const Value& result) {
  constexpr size_t kLongestName = 256;
  offer.name = bounded(info && info->as_object() ? info->find("name") : nullptr, kLongestName);
  offer.title = bounded(info && info->as_object() ? info->find("title") : nullptr, kLongestName);
  offer.version =
      bounded(info && info->as_object() ? info->find("version") : nullptr, kLongestName);
  offer.instructions = bounded(result.find("instructions"), kLongestText);
  const Value* capabilities = result.find("capabilities");
  offer.capabilities =
      capabilities && capabilities->as_object() ? *capabilities : Value(Value::Object{});
}

// A server that lists only legacy revisions is greeted the old way.
Result<void> Link::take_discovery(const Value& result, bool& is_legacy) {
  const Value* versions = result.find("supportedVersions");
  // Without a list it answered what it did not understand.
  is_legacy = !versions || !versions->as_array() || !speaks(versions, kModern);
  if (is_legacy && versions && versions->as_array() && !speaks_legacy(versions))
    return cannot(cat("it speaks no revision of the protocol that is known here: ",
                      printable(to_json(*versions).substr(0, 200))),
                  "a newer Paddock may know it");
  if (is_legacy) return {};
  era = Era::modern;
  version = kModern;
  take_identity(find_path(result, {"_meta", meta::kServerInfo}), result);
  return {};
}

// The server has the last word on the revision, among those that are known here.
Result<void> Link::take_initialization(const Value& result) {
  std::string chosen = text_in(result, "protocolVersion");
  if (std::find(std::begin(kLegacy), std::end(kLegacy), chosen) == std::end(kLegacy))
    return cannot(cat("it wants to speak revision '", printable(chosen.substr(0, 64)),
                      "' of the protocol, which is not known here"));
  era = Era::legacy;
  version = chosen;
  take_identity(result.find("serverInfo"), result);
  return {};
}

// ---- what it tells by itself

// Kept, because modern servers are told with each request.
void Link::set_log_level(std::string level) {
  log_level_ = level;
  if (era == Era::legacy && !gone_ && has(offer.capabilities, {"logging"}))
    io::spawn(send_log_level(shared_from_this(), std::move(level)));
}

// Nobody waits for the answer: logs are only a help.
Task<void> Link::send_log_level(std::shared_ptr<Link> self, std::string level) {
  Value params;
  params.set("level", std::move(level));
  std::string method = "logging/setLevel";
  std::shared_ptr<Context> nobody;
  (void)co_await self->call(method, params, nobody, kOwnPatience);
}

// Replaces what was listened to before.
Task<Result<void>> Link::listen(std::vector<std::string> resources) {
  if (gone_) co_return *gone_;
  resources_ = resources;
  Result<void> done = Result<void>();
  if (era == Era::modern)
    done = co_await listen_modern(std::move(resources));
  else
    done = co_await subscribe_each(std::move(resources));
  co_return done;
}

// Sends the difference between what is wanted and what was subscribed to before.
Task<Result<void>> Link::subscribe_each(std::vector<std::string> resources) {
  std::shared_ptr<Link> self = shared_from_this();
  if (!has(offer.capabilities, {"resources", "subscribe"})) co_return Result<void>();
  std::set<std::string> wanted(resources.begin(), resources.end());
  std::vector<std::pair<std::string, bool>> changes;
  for (const std::string& uri : wanted)
    if (!subscribed_.count(uri)) changes.emplace_back(uri, true);
  for (const std::string& uri : subscribed_)
    if (!wanted.count(uri)) changes.emplace_back(uri, false);
  subscribed_ = wanted;
  std::shared_ptr<Context> nobody;
  Result<void> result = Result<void>();
  for (const auto& [uri, is_wanted] : changes) {
    Value params;
    params.set("uri", uri);
    std::string method = is_wanted ? "resources/subscribe" : "resources/unsubscribe";
    Answer said = co_await call(method, params, nobody, kOwnPatience);
    if (said.problem && is_wanted) {
      subscribed_.erase(uri);
      result = cannot(cat("subscribe to '", printable(uri),
                          "': ", printable(said.problem->message.substr(0, 300))));
    }
  }
  co_return result;
}

// One long request replaces the one before. It counts once it was acknowledged.
Task<Result<void>> Link::listen_modern(std::vector<std::string> resources) {
  std::shared_ptr<Link> self = shared_from_this();
  Value filter(Value::Object{});
  if (has(offer.capabilities, {"tools", "listChanged"})) filter.set("toolsListChanged", true);
  if (has(offer.capabilities, {"prompts", "listChanged"})) filter.set("promptsListChanged", true);
  if (has(offer.capabilities, {"resources", "listChanged"}))
    filter.set("resourcesListChanged", true);
  if (has(offer.capabilities, {"resources", "subscribe"}) && !resources.empty())
    filter.set("resourceSubscriptions", text_list(resources));
  PendingPtr before = std::exchange(listening_, nullptr);
  if (before) {
    end_request(before);
    forget(before, "another takes its place");
  }
  if (filter.as_object()->empty()) co_return Result<void>();
  PendingPtr pending = begin_request("subscriptions/listen", nullptr);
  listening_ = pending;
  acknowledged_ = false;
  Value params;
  params.set("notifications", std::move(filter));
  send_request(pending, prepared(*pending, std::move(params)));
  Milliseconds deadline = loop_.now() + kOwnPatience;
  bool in_time = true;
  while (listening_ == pending && !acknowledged_ && in_time)
    in_time = co_await pending->bell.wait(deadline);
  if (listening_ == pending && acknowledged_) co_return Result<void>();
  if (listening_ == pending) {
    listening_ = nullptr;
    end_request(pending);
    forget(pending, "it was not acknowledged");
    co_return cannot(cat("subscriptions/listen was not acknowledged within ", kOwnPatience, " ms"));
  }
  if (pending->answer && pending->answer->problem)
    co_return cannot(
        cat("subscriptions/listen: ", printable(pending->answer->problem->message.substr(0, 300))));
  co_return Result<void>();
}

// One task at a time tries again, however many streams break off.
void Link::relisten() {
  if (!std::exchange(listening_again_, true)) io::spawn(listen_again(shared_from_this()));
}

// What happened meanwhile nobody told us: everything may have changed.
Task<void> Link::listen_again(std::shared_ptr<Link> self) {
  co_await self->loop_.sleep(self->patience_);
  self->patience_ = std::min(self->patience_ * 2, kLongestPatience);
  self->listening_again_ = false;
  if (self->gone_ || self->listening_) co_return;
  std::vector<std::string> resources = self->resources_;
  Result<void> listening = co_await self->listen_modern(std::move(resources));
  if (self->gone_) co_return;
  if (!listening) co_return self->relisten();
  for (const char* kind : {"tools", "prompts", "resources"})
    if (has(self->offer.capabilities, {kind, "listChanged"}))
      self->tell(cat("notifications/", kind, "/list_changed"), Value(Value::Object{}));
}

// ---- messages that are none

// Looks for the member "id" at the top level, without reading the rest as JSON.
int64_t id_in(std::string_view text) {
  int depth = 0;
  int64_t id = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') continue;
    size_t begin = ++i;
    while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
    if (i >= text.size() || depth != 1 || text.substr(begin, i - begin) != "id") continue;
    size_t at = text.find_first_not_of(" \t", i + 1);
    if (at == std::string_view::npos || text[at] != ':') continue;
    at = text.find_first_not_of(" \t", at + 1);
    int64_t number = 0;
    for (size_t digits = 0; at < text.size() && text[at] >= '0' && text[at] <= '9' && digits < 15;
         ++at, ++digits)
      number = number * 10 + (text[at] - '0');
    if (id && number != id) return 0;
    id = number;
  }
  return id;
}

}  // namespace paddock::mcp
