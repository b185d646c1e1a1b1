// One client's messages: which era each is of, and who answers it.
#include "base/text.h"
#include "base/value_edit.h"
#include "mcp/convert.h"
#include "mcp/server.h"

namespace paddock::mcp {

namespace {

// These methods exist in the legacy era only; a modern client that uses one is told so.
bool is_removed(const std::string& method) {
  return method == "initialize" || method == "ping" || method == "logging/setLevel" ||
         method == "resources/subscribe" || method == "resources/unsubscribe";
}

// Whether the service said so in its capabilities.
bool offers(const Offer& offer, const char* what, const char* how) {
  const Value* found = find_path(offer.capabilities, {what, how});
  return found && found->as_bool() && *found->as_bool();
}

void refuse(Outlet& outlet, const Value& id, int code, std::string why) {
  outlet.finish(refusal(id, {code, std::move(why), {}}));
}

// The name is the client's, so it is cut and made printable.
Problem unknown_method(const std::string& method) {
  return {kMethodNotFound,
          cat("Method not found: ", printable(std::string_view(method).substr(0, 128))),
          {}};
}

}  // namespace

// The set of connections holds plain pointers: the destructor takes this one out again.
Connection::Connection(std::shared_ptr<ServerState> server,
                       std::shared_ptr<const Principal> principal, std::shared_ptr<Outlet> apart)
    : server_(std::move(server)), principal_(std::move(principal)), apart_(std::move(apart)) {
  server_->connections.insert(this);
}

Connection::~Connection() {
  close();
  server_->connections.erase(this);
}

// Everything under way is cancelled, and every subscription ends.
void Connection::close(bool graceful) {
  if (!open_) return;
  open_ = false;
  for (auto& [key, listen] : listens_)
    if (graceful) {
      Value done;
      done.set("resultType", "complete");
      done.set("_meta", Value::Object{{meta::kSubscription, listen.id}});
      listen.outlet->finish(answer(listen.id, std::move(done)));
    } else {
      listen.outlet->drop();
    }
  while (!listens_.empty()) end_listen(listens_.begin()->first);
  auto calls = calls_;
  for (auto& [key, call] : calls) call->cancel("the client has gone");
  auto asks = std::move(asks_);
  asks_.clear();
  for (auto& [key, ask] : asks)
    ask->settle(Error{paddock::Code::io, "ask the client: it has gone", ""});
  starting_.clear();
  for (const std::string& uri : watched_) server_->watch(principal_->id, uri, false);
  watched_.clear();
}

// Whatever the message is: only requests are answered.
void Connection::receive(Message message, std::shared_ptr<Outlet> outlet) {
  if (!open_) {
    if (message.kind == Message::Kind::request) outlet->drop();
    return;
  }
  if (message.kind == Message::Kind::request)
    receive_request(std::move(message), std::move(outlet));
  else if (!messages_.take(server_->loop.now()))
    return;  // a flood of what needs no answer
  else if (message.kind == Message::Kind::notification)
    receive_notification(message);
  else
    receive_response(std::move(message));
}

// Bounded for one connection and for all connections of one principal.
void Connection::receive_request(Message message, std::shared_ptr<Outlet> outlet) {
  std::string key = key_of(message.id);
  if (calls_.count(key) || listens_.count(key) || starting_.count(key)) {
    refuse(*outlet, message.id, kInvalidRequest,
           "Invalid request: this id is that of a request under way");
    return;
  }
  auto count = server_->requests.find(principal_->id);
  bool is_full = calls_.size() + listens_.size() + starting_.size() >= kMostRequests ||
                 (count != server_->requests.end() && count->second >= kMostRequestsOfOne);
  if (is_full && message.method != "ping") {
    refuse(*outlet, message.id, kInternalError,
           "too many requests at once: wait for answers first");
    return;
  }
  if (modern_version(message.params))
    serve_modern(std::move(message), std::move(outlet));
  else if (legacy_ || message.method == "initialize" || message.method == "ping")
    serve_legacy(std::move(message), std::move(outlet));
  else
    refuse(*outlet, message.id, kInvalidParams,
           cat("Invalid params: _meta lacks ", meta::kVersion,
               ", and no session was opened by initialize"));
}

// Others than these mean nothing to this server.
void Connection::receive_notification(const Message& message) {
  if (message.method == "notifications/cancelled") {
    const Value* id = message.params.as_object() ? message.params.find("requestId") : nullptr;
    if (!id) return;
    std::string key = key_of(*id), why = text_in(message.params, "reason");
    auto found = calls_.find(key);
    std::shared_ptr<Call> call = found == calls_.end() ? nullptr : found->second;
    if (call)
      call->cancel(why.empty() ? "by the client" : printable(std::string_view(why).substr(0, 256)));
    starting_.erase(key);
    auto listen = listens_.find(key);
    if (listen == listens_.end()) return;
    listen->second.outlet->drop();
    end_listen(key);
  } else if (message.method == "notifications/roots/list_changed" && legacy_) {
    server_->service.roots_changed(*principal_);
  }
}

// The answer of a legacy client to a question of ours.
void Connection::receive_response(Message message) {
  const std::string* id = message.id.as_string();
  auto found = id ? asks_.find(*id) : asks_.end();
  if (found == asks_.end()) return;
  std::shared_ptr<Ask> ask = found->second;
  asks_.erase(found);
  if (message.problem)
    ask->settle(Error{paddock::Code::denied,
                      cat("the client refused: ",
                          printable(std::string_view(message.problem->message).substr(0, 512))),
                      ""});
  else
    ask->settle(std::move(message.result));
}

// The call lives on its own: it may outlive this connection.
void Connection::start_call(Message message, Client client, std::shared_ptr<Outlet> outlet) {
  auto call = std::make_shared<Call>(server_);
  call->method = message.method;
  call->client = std::move(client);
  call->principal = principal_;
  std::string parent = text_in(message.params.as_object() && message.params.find("_meta")
                                   ? *message.params.find("_meta")
                                   : Value{},
                               "traceparent");
  if (!parent.empty()) call->cause = Cause::from_traceparent(parent);
  call->attach(shared_from_this(), message, std::move(outlet));
  call->params = message.params.as_object() ? std::move(message.params) : Value(Value::Object{});
  call->start();
}

void Connection::call_is_over(const Value& id) { calls_.erase(key_of(id)); }

// ---- 2026-07-28

// Each request says who asks. One with a requestState goes on with a call that waits, or begins a
// new one.
void Connection::serve_modern(Message message, std::shared_ptr<Outlet> outlet) {
  Client client;
  if (std::optional<Problem> problem = read_modern_client(message.params, client)) {
    outlet->finish(refusal(message.id, *problem));
    return;
  }
  if (message.method == "server/discover" || message.method == "subscriptions/listen") {
    io::spawn(when_started(shared_from_this(), std::move(message), std::move(outlet)));
    return;
  }
  if (is_removed(message.method)) {
    outlet->finish(refusal(message.id, unknown_method(message.method)));
    return;
  }
  const Value* responses = message.params.find("inputResponses");
  const Value* state = message.params.find("requestState");
  if ((responses && !responses->as_object()) || (state && !state->as_string())) {
    refuse(*outlet, message.id, kInvalidParams,
           "Invalid params: inputResponses is an object, and requestState a string");
    return;
  }
  if (!state) {
    start_call(std::move(message), std::move(client), std::move(outlet));
    return;
  }
  RequestStates::Bound bound = RequestStates::bind(principal_->id, message.method, message.params);
  Result<RequestStates::Opened> opened = server_->states.open(bound, *state->as_string());
  if (!opened) {
    refuse(*outlet, message.id, kInvalidParams,
           cat(opened.error().message, " (", opened.error().hint, ")"));
    return;
  }
  if (std::shared_ptr<Call> call = opened.value().parked) {
    call->client = std::move(client);
    call->attach(shared_from_this(), message, std::move(outlet));
    return;
  }
  set_member(message.params, "requestState",
             opened.value().state ? Value(*opened.value().state) : Value());
  start_call(std::move(message), std::move(client), std::move(outlet));
}

// The request may be cancelled while the service starts.
io::Task<void> Connection::when_started(std::shared_ptr<Connection> self, Message message,
                                        std::shared_ptr<Outlet> outlet) {
  std::string key = key_of(message.id);
  uint64_t turn = self->starting_[key] = ++self->turn_;
  self->server_->count(self->principal_->id, 1);
  co_await self->server_->service.start();
  self->server_->count(self->principal_->id, -1);
  auto found = self->starting_.find(key);
  if (found == self->starting_.end() || found->second != turn) {  // cancelled, or closed
    outlet->drop();
    co_return;
  }
  self->starting_.erase(found);
  if (message.method == "subscriptions/listen")
    self->listen(message, outlet);
  else
    outlet->finish(answer(message.id, self->greeting(message.method)));
}

// What this server is and can: of initialize, or of server/discover.
Value Connection::greeting(const std::string& method) {
  Offer offer = server_->service.offer(*principal_);
  server_->identity = offer;
  bool is_legacy = method == "initialize";
  Value result;
  if (is_legacy)
    result.set("protocolVersion", client_.version);
  else
    result.set("supportedVersions", Value::Array{kModern});
  result.set("capabilities",
             offer.capabilities.as_object() ? offer.capabilities : Value(Value::Object{}));
  if (is_legacy) result.set("serverInfo", implementation(offer));
  if (!offer.instructions.empty()) result.set("instructions", offer.instructions);
  return is_legacy ? result : modern_result(method, std::move(result), offer);
}

// Acknowledges what is offered of what the client wants to hear; all or nothing of the resources.
void Connection::listen(const Message& message, std::shared_ptr<Outlet> outlet) {
  const Value* filter = message.params.find("notifications");
  const Value* uris =
      filter && filter->as_object() ? filter->find("resourceSubscriptions") : nullptr;
  bool is_wrong = !filter || !filter->as_object() ||
                  (uris && (!uris->as_array() || uris->as_array()->size() > kMostWatched));
  for (size_t i = 0; !is_wrong && uris && i < uris->as_array()->size(); ++i) {
    const std::string* uri = (*uris->as_array())[i].as_string();
    is_wrong = !uri || uri->size() > kLongestUri;
  }
  if (is_wrong) {
    refuse(*outlet, message.id, kInvalidParams,
           cat("Invalid params: notifications is an object, its resourceSubscriptions up to ",
               kMostWatched, " URIs of up to ", kLongestUri, " bytes"));
    return;
  }
  Offer offer = server_->service.offer(*principal_);
  Listen listen{message.id, outlet};
  Value honored = Value(Value::Object{});
  listen.tools = flag_in(*filter, "toolsListChanged") && offers(offer, "tools", "listChanged");
  listen.prompts =
      flag_in(*filter, "promptsListChanged") && offers(offer, "prompts", "listChanged");
  listen.resources =
      flag_in(*filter, "resourcesListChanged") && offers(offer, "resources", "listChanged");
  if (listen.tools) honored.set("toolsListChanged", true);
  if (listen.prompts) honored.set("promptsListChanged", true);
  if (listen.resources) honored.set("resourcesListChanged", true);
  if (uris && offers(offer, "resources", "subscribe")) {
    honored.set("resourceSubscriptions", *uris);
    for (const Value& uri : *uris->as_array()) listen.uris.insert(*uri.as_string());
  }
  bool has_room = true;
  for (auto at = listen.uris.begin(); has_room && at != listen.uris.end(); ++at) {
    has_room = server_->may_watch(principal_->id, *at);
    if (has_room)
      server_->watch(principal_->id, *at, true);
    else
      for (auto undone = listen.uris.begin(); undone != at; ++undone)
        server_->watch(principal_->id, *undone, false);
  }
  if (!has_room) {
    refuse(*outlet, message.id, kInvalidParams,
           "Invalid params: a URI is empty, or too many resources are "
           "listened to: end a subscription first");
    return;
  }
  Value params;
  params.set("_meta", Value::Object{{meta::kSubscription, message.id}});
  params.set("notifications", std::move(honored));
  server_->count(principal_->id, 1);
  listens_.emplace(key_of(message.id), std::move(listen));
  outlet->tell(notification("notifications/subscriptions/acknowledged", std::move(params)));
}

// The count was taken when the listening began.
void Connection::end_listen(const std::string& key) {
  auto found = listens_.find(key);
  for (const std::string& uri : found->second.uris) server_->watch(principal_->id, uri, false);
  listens_.erase(found);
  server_->count(principal_->id, -1);
}

// ---- before

// What belongs to the session is answered here, the rest by the service.
void Connection::serve_legacy(Message message, std::shared_ptr<Outlet> outlet) {
  Value nothing = Value(Value::Object{});
  if (message.method == "initialize") {
    initialize(std::move(message), std::move(outlet));
  } else if (message.method == "ping") {
    outlet->finish(answer(message.id, std::move(nothing)));
  } else if (message.method == "logging/setLevel") {
    int level = log_level(text_in(message.params, "level"));
    if (!server_->service.offer(*principal_).capabilities.find("logging")) {
      outlet->finish(refusal(message.id, unknown_method(message.method)));
    } else if (level < 0) {
      refuse(*outlet, message.id, kInvalidParams,
             "Invalid params: level is none of debug, info, notice, "
             "warning, error, critical, alert, emergency");
    } else {
      log_level_ = level;
      outlet->finish(answer(message.id, std::move(nothing)));
    }
  } else if (message.method == "resources/subscribe" || message.method == "resources/unsubscribe") {
    subscribe(message, message.method == "resources/subscribe", *outlet);
  } else if (message.method == "server/discover" || message.method == "subscriptions/listen") {
    outlet->finish(refusal(message.id, unknown_method(message.method)));
  } else {
    // This era has none.
    for (const char* of_a_retry : {"inputResponses", "requestState"})
      remove_member(message.params, of_a_retry);
    start_call(std::move(message), client_, std::move(outlet));
  }
}

// Once for each session. The answer waits until the service has started.
void Connection::initialize(Message message, std::shared_ptr<Outlet> outlet) {
  const Value* capabilities =
      message.params.as_object() ? message.params.find("capabilities") : nullptr;
  const Value* info = message.params.as_object() ? message.params.find("clientInfo") : nullptr;
  std::string wanted = text_in(message.params, "protocolVersion");
  if (legacy_) {
    refuse(*outlet, message.id, kInvalidRequest,
           "Invalid request: this session was initialized before");
    return;
  }
  if (wanted.empty() || !capabilities || !capabilities->as_object() || !info ||
      !info->as_object()) {
    refuse(*outlet, message.id, kInvalidParams,
           "Invalid params: initialize needs protocolVersion, capabilities and clientInfo");
    return;
  }
  legacy_ = true;
  client_ = {Era::legacy, negotiate(wanted), *info, *capabilities};
  io::spawn(when_started(shared_from_this(), std::move(message), std::move(outlet)));
}

// resources/subscribe and resources/unsubscribe of a legacy client.
void Connection::subscribe(const Message& message, bool wanted, Outlet& outlet) {
  std::string uri = text_in(message.params, "uri");
  if (!offers(server_->service.offer(*principal_), "resources", "subscribe")) {
    outlet.finish(refusal(message.id, unknown_method(message.method)));
    return;
  }
  bool is_known = watched_.count(uri) > 0;
  bool is_new = wanted && !is_known;
  if (uri.empty() ||
      (is_new && (watched_.size() >= kMostWatched || !server_->may_watch(principal_->id, uri)))) {
    refuse(outlet, message.id, kInvalidParams,
           cat("Invalid params: uri is missing or too long, or more than ", kMostWatched,
               " resources (or ", human_size(kMostWatchedBytes), " of URIs) are subscribed to"));
    return;
  }
  if (wanted && !is_known) watched_.insert(uri);
  if (!wanted && is_known) watched_.erase(uri);
  if (wanted != is_known) server_->watch(principal_->id, uri, wanted);
  outlet.finish(answer(message.id, Value(Value::Object{})));
}

// ---- what is offered changes

// A legacy client hears of all lists, a modern one of what it listens to.
void Connection::tell_of(const Change& change) {
  if (!open_) return;
  static constexpr const char* kMethods[] = {
      "notifications/tools/list_changed", "notifications/prompts/list_changed",
      "notifications/resources/list_changed", "notifications/resources/updated"};
  const char* method = kMethods[static_cast<int>(change.kind)];
  bool is_resource = change.kind == Change::Kind::resource;
  Value params;
  if (is_resource) params.set("uri", change.uri);
  if (legacy_ && apart_ && (!is_resource || watched_.count(change.uri)))
    apart_->tell(notification(method, params));
  for (auto& [key, listen] : listens_) {
    bool is_wanted = change.kind == Change::Kind::tools       ? listen.tools
                     : change.kind == Change::Kind::prompts   ? listen.prompts
                     : change.kind == Change::Kind::resources ? listen.resources
                                                              : listen.uris.count(change.uri) > 0;
    if (!is_wanted) continue;
    Value tagged = params;
    tagged.set("_meta", Value::Object{{meta::kSubscription, listen.id}});
    listen.outlet->tell(notification(method, std::move(tagged)));
  }
}

}  // namespace paddock::mcp
