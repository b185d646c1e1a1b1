#include "tools/decide/call_context.h"

namespace paddock::tools {

std::shared_ptr<DeskContext> DeskContext::around(io::Loop& loop,
                                                 std::shared_ptr<mcp::Context> inner, Cause cause,
                                                 RuleList rules) {
  std::shared_ptr<DeskContext> context(new DeskContext(loop, std::move(inner), std::move(rules)));
  context->method = context->inner_->method;
  // But for the arguments: those that were judged come with the call, and they may be large.
  context->params = Value(Value::Object{});
  if (const Value::Object* members = context->inner_->params.as_object())
    for (const auto& [name, member] : *members)
      if (name != "arguments") context->params.set(name, member);
  context->client = context->inner_->client;
  context->principal = context->inner_->principal;
  context->cause = std::move(cause);
  std::weak_ptr<DeskContext> weak = context;
  context->inner_->on_cancel([weak] {
    if (std::shared_ptr<DeskContext> self = weak.lock()) self->cancel();
  });
  return context;
}

void DeskContext::progress(double progress, std::optional<double> total, std::string message) {
  if (closed_ || !inner_->wants_progress()) return;
  for (const auto& each : rules_) message = redact::redacted(*each, std::string_view(message));
  inner_->progress(progress, total, std::move(message));
}

void DeskContext::log(std::string level, std::string logger, Value data) {
  if (!closed_) inner_->log(std::move(level), std::move(logger), redact_all(data, rules_));
}

io::Task<Result<Value>> DeskContext::ask(std::string method, Value params) {
  std::shared_ptr<DeskContext> self = shared_from_this();
  if (closed_ || cancelled_)
    co_return Error{Code::conflict, "ask the client: the call is over", ""};
  if (asking_++ == 0) asking_since_ = loop_.now();
  Value shown = redact_all(params, rules_);
  Result<Value> said = co_await inner_->ask(std::move(method), std::move(shown));
  if (--asking_ == 0) asked_ += loop_.now() - asking_since_;
  if (on_change) on_change();
  co_return std::move(said);
}

void DeskContext::on_cancel(std::function<void()> cancelled) {
  if (cancelled_ && cancelled) return cancelled();
  tell_ = std::move(cancelled);
}

void DeskContext::cancel() {
  if (cancelled_) return;
  cancelled_ = true;
  std::function<void()> tell = std::exchange(tell_, {});
  if (tell) tell();
  if (on_change) on_change();
}

void DeskContext::close() {
  closed_ = true;
  on_change = {};
  inner_->on_cancel([] {});
}

io::Milliseconds DeskContext::asked_for() const {
  return asked_ + (asking_ ? loop_.now() - asking_since_ : 0);
}

}  // namespace paddock::tools
