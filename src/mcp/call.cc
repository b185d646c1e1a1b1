#include "mcp/call.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/value_edit.h"
#include "mcp/convert.h"
#include "mcp/server.h"

namespace paddock::mcp {

namespace {

using io::Task;

// Questions that come within this time are asked together.
constexpr io::Milliseconds kGatherTime = 20;

// Whole numbers are written without a fraction, as clients expect them.
Value number(double value) {
  if (std::floor(value) == value && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

}  // namespace

// Collects the answers of a legacy client to questions that were asked at the same time.
struct Gathering {
  explicit Gathering(io::Loop& loop) : bell(loop) {}
  size_t left = 0;
  Value responses = Value(Value::Object{});
  std::optional<Error> failed;
  io::Bell bell;
};

// The first answer counts: a question may be answered and given up at the same moment.
void Ask::settle(Result<Value> with) {
  if (answer) return;
  answer = std::move(with);
  bell.ring();
}

// ---- its life

// Called with the first request, and again with each retry that brings answers.
void Call::attach(std::shared_ptr<Connection> connection, const Message& request,
                  std::shared_ptr<Outlet> outlet) {
  connection_ = connection;
  outlet_ = std::move(outlet);
  id_ = request.id;
  server_->count(principal->id, 1);
  connection->calls_[key_of(id_)] = shared_from_this();
  const Value* token = find_path(request.params, {"_meta", "progressToken"});
  progress_token_ = token && (token->as_string() || token->as_int()) ? *token : Value{};
  const Value* level = find_path(request.params, {"_meta", meta::kLogLevel});
  log_level_ = level && level->as_string() ? log_level(*level->as_string()) : 8;
  if (client.era == Era::modern)
    bound_ = RequestStates::bind(principal->id, request.method, request.params);
  if (kept_) {
    Answer answer = *std::move(kept_);
    respond(answer);
    return;
  }
  const Value* responses =
      request.params.as_object() ? request.params.find("inputResponses") : nullptr;
  if (client.era == Era::legacy || asks_.empty()) return;
  auto asks = asks_;
  for (auto& [key, ask] : asks) {
    const Value* response = responses && responses->as_object() ? responses->find(key) : nullptr;
    if (!response || !response->as_object()) continue;  // asked again
    asks_.erase(key);
    ask->settle(*response);
  }
  if (!asks_.empty()) gather_soon();
}

// The request was answered or dropped: its id may be used again.
void Call::leave() {
  if (!outlet_) return;
  outlet_ = nullptr;
  server_->count(principal->id, -1);
  if (std::shared_ptr<Connection> connection = connection_.lock()) connection->call_is_over(id_);
}

void Call::start() { io::spawn(run(shared_from_this())); }

// For a legacy client "input required" becomes requests of our own, and the service is called
// again.
Task<void> Call::run(std::shared_ptr<Call> self) {
  for (int round = 0;; ++round) {
    std::shared_ptr<Context> context = self;
    Answer answer = co_await self->server_->service.call(context);
    bool is_bridged = answer.input && self->client.era == Era::legacy && !self->cancelled_;
    if (!is_bridged || round == kMostRounds) {
      if (is_bridged)
        answer = Answer::failed(
            kInternalError, cat(self->method, ": more than ", kMostRounds, " rounds of questions"));
      self->finish(std::move(answer));
      co_return;
    }
    if (round > 0) co_await self->server_->loop.sleep(100);
    Value requests = answer.input->requests;
    Answer said = co_await ask_all(self, requests);
    if (said.problem) {
      self->finish(std::move(said));
      co_return;
    }
    set_member(self->params, "inputResponses", std::move(said.result));
    set_member(self->params, "requestState",
               answer.input->state ? Value(*answer.input->state) : Value());
  }
}

// Nobody waits any more, so nothing is answered; the service hears of it.
void Call::cancel(const std::string& why) {
  if (finished_ || cancelled_) return;
  cancelled_ = true;
  settle_all({paddock::Code::io, cat("ask the client: the request was cancelled: ", why), ""});
  if (outlet_) outlet_->drop();
  leave();
  std::function<void()> cancelled = std::move(on_cancel_);
  if (cancelled) cancelled();
}

// Called at once if the call is cancelled already, since no second cancellation will come.
void Call::on_cancel(std::function<void()> cancelled) {
  on_cancel_ = std::move(cancelled);
  if (!cancelled_ || !on_cancel_) return;
  std::function<void()> now = std::move(on_cancel_);
  now();
}

// The answer is kept when the call waits for a retry of its client.
void Call::finish(Answer answer) {
  finished_ = true;
  on_cancel_ = nullptr;
  settle_all({paddock::Code::conflict, "ask the client: the call is over", ""});
  if (cancelled_) return;
  if (outlet_)
    respond(answer);
  else
    kept_ = std::move(answer);
}

// ---- the answer

// The answer in the words of the client's revision.
void Call::respond(const Answer& answer) {
  std::shared_ptr<Outlet> outlet = outlet_;
  if (answer.input) {
    respond_needs(*answer.input);
    return;
  }
  const Value* pages = answer.problem ? find_path(answer.problem->data, {"elicitations"}) : nullptr;
  bool is_modern = client.era == Era::modern;
  // A legacy server behind us wants its user to visit pages first: that is input required. No other
  // question comes this way.
  auto is_page = [](const Value& each) { return text_in(each, "mode") == "url"; };
  bool are_pages = pages && pages->as_array() && !pages->as_array()->empty() &&
                   std::all_of(pages->as_array()->begin(), pages->as_array()->end(), is_page);
  if (is_modern && answer.problem && answer.problem->code == kUrlElicitationRequired && are_pages &&
      may_need_input(method)) {
    Answer::Input input;
    for (const Value& page : *pages->as_array()) {
      Value visit = page;
      remove_member(visit, "elicitationId");
      input.requests.set(cat("visit-", ++asked_), Value::Object{{"method", "elicitation/create"},
                                                                {"params", std::move(visit)}});
    }
    respond_needs(input);
    return;
  }
  Message message;
  if (answer.problem)
    message = refusal(id_, is_modern ? modern_problem(*answer.problem) : *answer.problem);
  else if (is_modern)
    message = mcp::answer(id_, modern_result(method, answer.result, server_->who(*principal)));
  else
    message = mcp::answer(id_, legacy_result(method, client.version, answer.result));
  leave();
  outlet->finish(message);
}

// Only what the client said that it can do is asked of it.
void Call::respond_needs(const Answer::Input& input) {
  std::shared_ptr<Outlet> outlet = outlet_;
  std::optional<Problem> problem;
  Value missing;
  if (!may_need_input(method))
    problem = Problem{kInternalError, cat(method, " cannot ask for input"), {}};
  if (const Value::Object* requests = input.requests.as_object())
    for (const auto& [key, request] : *requests) {
      std::string what = text_in(request, "method");
      const Value* params = request.as_object() ? request.find("params") : nullptr;
      Value nothing;
      Value needed = needed_capability(what, params ? *params : nothing);
      if (needed.is_null())
        problem = Problem{kInternalError,
                          cat("the tool asks for '", printable(what.substr(0, 64)),
                              "', which no client can be asked"),
                          {}};
      else if (lacks(client, what, params ? *params : nothing))
        set_member(missing, needed.as_object()->front().first, needed.as_object()->front().second);
    }
  if (!problem && !missing.is_null()) {
    Value data;
    data.set("requiredCapabilities", missing);
    problem = Problem{kMissingCapability, "the client lacks a capability that this request needs",
                      std::move(data)};
  }
  Message message;
  if (problem) {
    message = refusal(id_, *problem);
  } else {
    // Also when there is none: it says that this was asked.
    std::string state = server_->states.seal(bound_, input.state);
    message = mcp::answer(id_, input_required(input.requests, state, server_->who(*principal)));
  }
  leave();
  outlet->finish(message);
}

// ---- what is told on the way

// Left out where nobody asked for it, where it does not grow, and when there is too much of it.
void Call::progress(double progress, std::optional<double> total, std::string message) {
  if (!outlet_ || progress_token_.is_null() || !std::isfinite(progress)) return;
  if (last_progress_ && progress <= *last_progress_) return;  // it must increase
  if (!notifications_.take(server_->loop.now())) return;
  last_progress_ = progress;
  Value params;
  params.set("progressToken", progress_token_);
  params.set("progress", number(progress));
  if (total && std::isfinite(*total)) params.set("total", number(*total));
  if (!message.empty() && (client.era == Era::modern || client.version >= "2025-03-26"))
    params.set("message", std::move(message));
  outlet_->tell(notification("notifications/progress", std::move(params)));
}

// By the level that the session has set, or that the request names.
void Call::log(std::string level, std::string logger, Value data) {
  if (!outlet_) return;
  std::shared_ptr<Connection> connection = connection_.lock();
  int wanted = client.era == Era::legacy && connection ? connection->log_level_ : log_level_;
  int rank = log_level(level);
  if (rank < 0 || rank < wanted || !notifications_.take(server_->loop.now())) return;
  Value params;
  params.set("level", std::move(level));
  if (!logger.empty()) params.set("logger", std::move(logger));
  params.set("data", std::move(data));
  outlet_->tell(notification("notifications/message", std::move(params)));
}

// ---- questions

// All questions end with an error. A legacy client is told that it need not answer.
void Call::settle_all(const Error& why) {
  auto asks = std::move(asks_);
  asks_.clear();
  std::shared_ptr<Connection> connection = connection_.lock();
  for (auto& [key, ask] : asks) {
    bool is_sent = client.era == Era::legacy && connection && connection->asks_.erase(key) > 0;
    if (is_sent && outlet_) {
      Value params = Value::Object{{"requestId", key}, {"reason", why.message}};
      outlet_->tell(notification("notifications/cancelled", std::move(params)));
    }
    ask->settle(why);
  }
}

// A modern client is asked by the answer to its request, so the call waits for its retry.
Task<Result<Value>> Call::ask(std::string asked, Value with) {
  std::shared_ptr<Call> self = shared_from_this();
  if (cancelled_ || finished_)
    co_return Error{paddock::Code::io, "ask the client: the request is over", ""};
  if (lacks(client, asked, with))
    co_return Error{paddock::Code::unsupported,
                    cat("ask the client for ", asked, ": it did not say that it can"),
                    "use a client that can"};
  if (client.era == Era::legacy) {
    Result<Value> said = co_await ask_legacy(asked, with);
    co_return said;
  }
  if (!may_need_input(method))
    co_return Error{paddock::Code::unsupported,
                    cat("ask the client during ", method, ": only calls, prompts and reads may"),
                    ""};
  auto waiting = std::make_shared<Ask>(server_->loop);
  waiting->method = std::move(asked);
  waiting->params = with.as_object() ? std::move(with) : Value(Value::Object{});
  std::string key = cat("ask-", ++asked_);
  asks_[key] = waiting;
  gather_soon();
  io::Milliseconds deadline = server_->loop.now() + RequestStates::kLife;
  while (!waiting->answer) {
    bool in_time = co_await waiting->bell.wait(deadline);
    if (!in_time && !waiting->answer)
      waiting->answer =
          Error{paddock::Code::exhausted, "ask the client: no answer came in time", ""};
  }
  asks_.erase(key);
  co_return *waiting->answer;
}

// A request of our own, sent on the stream of the client's request.
Task<Result<Value>> Call::ask_legacy(std::string asked, Value with) {
  std::shared_ptr<Connection> connection = connection_.lock();
  if (!connection || !connection->is_open() || !outlet_)
    co_return Error{paddock::Code::io, "ask the client: it has gone", ""};
  if (connection->asks_.size() >= kMostRequests)
    co_return Error{paddock::Code::exhausted, "ask the client: too many questions wait for it", ""};
  auto waiting = std::make_shared<Ask>(server_->loop);
  std::string key = cat("paddock-", ++connection->asked_);
  asks_[key] = connection->asks_[key] = waiting;
  outlet_->tell(request(key, asked, legacy_ask(asked, std::move(with))));
  io::Milliseconds deadline = server_->loop.now() + RequestStates::kLife;
  while (!waiting->answer) {
    bool in_time = co_await waiting->bell.wait(deadline);
    if (in_time || waiting->answer) continue;
    waiting->answer = Error{paddock::Code::exhausted, "ask the client: no answer came in time", ""};
    if (outlet_)
      outlet_->tell(
          notification("notifications/cancelled",
                       Value::Object{{"requestId", key}, {"reason", "no answer came in time"}}));
  }
  asks_.erase(key);
  connection->asks_.erase(key);
  co_return *waiting->answer;
}

// A modern client: the request is answered with what is needed, and the call waits for the one that
// brings it.
void Call::gather_soon() {
  if (gathering_) return;
  gathering_ = true;
  io::spawn(gather_and_park(shared_from_this()));
}

// Questions that come within a moment are asked together.
Task<void> Call::gather_and_park(std::shared_ptr<Call> self) {
  co_await self->server_->loop.sleep(kGatherTime);
  self->gathering_ = false;
  self->park();
}

// Answers the request with all open questions, and keeps the call for the retry.
void Call::park() {
  if (!outlet_ || asks_.empty() || cancelled_ || finished_) return;
  Result<std::string> state = server_->states.park(bound_, shared_from_this());
  if (!state) {
    settle_all(state.error());
    return;
  }
  Value requests;
  for (const auto& [key, ask] : asks_)
    requests.set(key, Value::Object{{"method", ask->method}, {"params", ask->params}});
  std::shared_ptr<Outlet> outlet = outlet_;
  Message message =
      mcp::answer(id_, input_required(requests, state.value(), server_->who(*principal)));
  leave();
  outlet->finish(message);
}

// An error of one question is kept for all of them; the others are still waited for.
Task<void> Call::ask_one(std::shared_ptr<Call> self, std::shared_ptr<Gathering> gathering,
                         std::string key, Value asked) {
  std::string what = text_in(asked, "method");
  const Value* params = asked.as_object() ? asked.find("params") : nullptr;
  Value with = params ? *params : Value{};
  Result<Value> said = co_await self->ask(what, with);
  if (said)
    set_member(gathering->responses, key, said.value());
  else
    gathering->failed = said.error();
  --gathering->left;
  gathering->bell.ring();
}

// Asks at the same time, and waits for all answers. One failure fails them all.
Task<Answer> Call::ask_all(std::shared_ptr<Call> self, Value requests) {
  auto gathering = std::make_shared<Gathering>(self->server_->loop);
  const Value::Object* all = requests.as_object();
  gathering->left = all ? all->size() : 0;
  for (size_t i = 0; all && i < all->size(); ++i)
    io::spawn(ask_one(self, gathering, (*all)[i].first, (*all)[i].second));
  while (gathering->left > 0) (void)co_await gathering->bell.wait();
  if (!gathering->failed) co_return Answer::done(std::move(gathering->responses));
  bool lacks_it = gathering->failed->code == paddock::Code::unsupported;
  co_return Answer::failed(lacks_it ? kInvalidRequest : kInternalError, gathering->failed->message);
}

}  // namespace paddock::mcp
