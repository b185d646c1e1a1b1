#include "api/native/command.h"

#include <algorithm>

#include "base/error_table.h"

namespace paddock::api {

using guest::Channel;
using io::Task;

Command::Command(SandboxCall inside)
    : inside_(std::move(inside)),
      recorded_(inside_.call.manager, inside_.call.caller, inside_.sandbox),
      redaction_(inside_.sandbox->redaction()) {}

Task<Result<void>> Command::start(guest::StartRequest request, const char* via) {
  timeout_ms_ = request.timeout_ms;
  Value asked = guest::to_value(request);
  CO_TRY_VOID(co_await recorded_.start_command(asked, via));
  channel_ = inside_.guest->open(asked);
  co_return Result<void>();
}

void Command::attach(const guest::AttachRequest& request) {
  channel_ = inside_.guest->open(guest::to_value(request));
}

Task<Result<void>> Command::started(io::Milliseconds deadline) {
  Channel::Item first = co_await channel_->next(deadline);
  if (first.kind == Channel::Item::Kind::failed) co_return first.error;
  if (first.kind == Channel::Item::Kind::late)
    co_return make_error(Kind::deadline_exceeded, "the deadline of the request was reached");
  if (first.kind != Channel::Item::Kind::message)
    co_return Error{Code::internal, "the guest did not start the command"};
  pid_ = number_in(first.value, "pid");
  recorded_.runs_as(inside_.guest, pid_, timeout_ms_);
  co_return Result<void>();
}

Task<Command::News> Command::next(io::Milliseconds deadline) {
  io::Loop& loop = inside_.loop();
  while (!last_) {
    io::Milliseconds until =
        typing_ ? std::min(deadline, loop.now() + OutputRedaction::kTypingMs) : deadline;
    Channel::Item item = co_await channel_->next(until);
    std::string shown;
    uint8_t stream = item.stream;
    switch (item.kind) {
      case Channel::Item::Kind::message: break;
      case Channel::Item::Kind::data:
        recorded_.count(item.stream, item.bytes.size());
        shown = redaction_.feed(item.stream, item.bytes);
        typing_ = redaction_.holds_typing();
        break;
      case Channel::Item::Kind::late:
        if (!typing_ || loop.now() >= deadline) co_return News{};
        typing_ = false;
        shown = redaction_.show_typing();
        stream = guest::kTerminal;
        break;
      default:
        for (OutputRedaction::Rest& rest : redaction_.finish()) rest_.push_back(std::move(rest));
        last_ = std::move(item);
    }
    if (!shown.empty())
      co_return News{.kind = News::Kind::output, .stream = stream, .bytes = std::move(shown)};
  }
  if (!rest_.empty()) {
    News news{.kind = News::Kind::output,
              .stream = rest_.front().stream,
              .bytes = std::move(rest_.front().bytes)};
    rest_.pop_front();
    co_return news;
  }
  Channel::Item item = *last_;
  News news = co_await last_news(std::move(item));
  co_return news;
}

Task<Command::News> Command::last_news(Channel::Item item) {
  News news{.kind = News::Kind::failed, .error = item.error};
  over_ = item.kind == Channel::Item::Kind::end;
  if (over_) {
    news.kind = News::Kind::ended;
    news.result = item.value;
    news.outcome = co_await outcome_of(inside_.call.manager, inside_, item.value, timeout_ms_);
  } else {
    news.outcome = co_await limit_that_ended(inside_.call.manager, inside_, item.error);
  }
  if (news.outcome) recorded_.end(*news.outcome, redaction_.counts());
  co_return news;
}

void Command::note_input(size_t bytes, bool closed) const {
  api::note_input(inside_, Value::Object{{"pid", pid_}}, bytes, closed);
}

void Command::log(const guest::StartRequest& request) const {
  Value fields = Value::Object{{"pid", pid_}, {"argv", text_list(request.argv)}};
  if (!inside_.is_envd() && !request.user.empty()) fields.set("user", request.user);
  inside_.sandbox->add_log("command", std::move(fields));
}

void Command::kill() {
  if (!over_ && pid_ != 0 && inside_.sandbox->is_reachable()) kill_process(inside_.guest, pid_);
}

}  // namespace paddock::api
