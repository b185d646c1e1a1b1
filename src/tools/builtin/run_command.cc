#include <algorithm>

#include "base/text.h"
#include "guest/protocol.h"
#include "manager/operation_record.h"
#include "manager/output_redaction.h"
#include "tools/builtin/guest_file.h"
#include "tools/builtin/job.h"
#include "tools/builtin/progress.h"
#include "tools/builtin/result.h"

namespace paddock::tools::builtin {

namespace {

using guest::Channel;
using io::Task;

constexpr int64_t kDefaultTimeMs = 120'000;
constexpr int64_t kDefaultOutput = 64 << 10;
// Egress reports a denial a moment after the program sees it.
constexpr io::Milliseconds kSettle = 60;

// Runs beside the call: a command may end without reading its input.
Task<void> feed(std::shared_ptr<Channel> channel, std::string input) {
  (void)co_await channel->send(input);
  channel->end_input();
}

// The guest's request to start the command, or what is wrong with the arguments.
Result<guest::StartRequest> start_request(const Job& job, int64_t timeout_ms) {
  std::vector<std::string> argv = job.texts("argv");
  std::optional<std::string> command = job.text_if("command");
  if (argv.empty() == !command.has_value())
    return Error{Code::invalid,
                 "give either `command` (a line for bash) or `argv` (a list of words), not both",
                 ""};
  if (command) argv = {"/bin/bash", "-l", "-c", *command};
  std::map<std::string, std::string> env = job.pairs("env");
  auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  bool nul = std::any_of(argv.begin(), argv.end(), has_nul) || has_nul(job.text("cwd"));
  for (const auto& [name, value] : env) {
    nul = nul || has_nul(name) || has_nul(value);
    if (name.empty() || name.find('=') != std::string::npos)
      return Error{Code::invalid,
                   cat("env: '", printable(name), "' cannot be the name of a variable"), ""};
  }
  if (nul) return Error{Code::invalid, "a NUL cannot stand in arguments, variables or paths", ""};
  if (argv.front().empty())
    return Error{Code::invalid, "argv: the first word is the program, and must not be empty", ""};
  return guest::StartRequest{.argv = std::move(argv),
                             .env = std::move(env),
                             .wants_input = job.text_if("stdin").has_value(),
                             .timeout_ms = timeout_ms};
}

// What the command printed on its two streams.
struct Output {
  explicit Output(size_t most) : out(most), errors(most) {}
  OutputExcerpt out, errors;
  OutputExcerpt& of(uint8_t stream) { return stream == guest::kErrors ? errors : out; }
};

// Until it has ended, one way or the other; the last item says which.
Task<Channel::Item> follow(const Job& job, std::shared_ptr<Channel> channel,
                           manager::OutputRedaction& redaction, manager::Recorded& recorded,
                           Output& output) {
  ProgressReporter progress(job.loop(), job.context);
  Channel::Item item;
  while (true) {
    item = co_await channel->next(progress.until(io::Wait::kForever));
    if (item.kind == Channel::Item::Kind::data) {
      recorded.count(item.stream, item.bytes.size());
      output.of(item.stream).add(redaction.feed(item.stream, item.bytes));
    } else if (item.kind != Channel::Item::Kind::message &&
               item.kind != Channel::Item::Kind::late) {
      break;
    }
    progress.tell(output.out.lines() + output.errors.lines(),
                  output.out.bytes() + output.errors.bytes());
  }
  for (const manager::OutputRedaction::Rest& rest : redaction.finish())
    output.of(rest.stream).add(rest.bytes);
  co_return item;
}

// The outcome first, then what the command printed.
std::string words_of(const Value& outcome, const Output& output) {
  std::string text = cat("[", outcome_words(outcome), "]");
  std::string out = output.out.text(), errors = output.errors.text();
  if (!out.empty()) text += cat("\n", out);
  if (!errors.empty()) text += cat(ends_with(text, "\n") ? "" : "\n", "[stderr]\n", errors);
  if (out.empty() && errors.empty()) text += "\n(it printed nothing)";
  return text;
}

// How the command ended, from the last item of its channel.
Task<Value> end_of(const Job& job, manager::RunningSandbox inside, Channel::Item last,
                   int64_t timeout_ms) {
  std::optional<Value> outcome;
  if (last.kind == Channel::Item::Kind::end)
    outcome = co_await manager::outcome_of(job.manager(), inside, last.value, timeout_ms);
  else if (!job.context->is_cancelled())
    outcome = co_await manager::limit_that_ended(job.manager(), inside, last.error);
  if (outcome) co_return std::move(*outcome);
  co_return Value::Object{{"kind", job.context->is_cancelled() ? "cancelled" : "unknown"},
                          {"why", manager::gone_meanwhile(*inside.sandbox).message}};
}

}  // namespace

// Starts the command, follows it to its end, and reports what came of it.
Task<Result<Value>> run_command(Job job) {
  int64_t timeout_ms = std::max<int64_t>(1, job.seconds("timeout", kDefaultTimeMs));
  CO_TRY(guest::StartRequest start, start_request(job, timeout_ms));
  CO_TRY(Chosen chosen, co_await choose(job));
  manager::RunningSandbox inside = chosen.inside;
  const manager::Sandbox& sandbox = *inside.sandbox;
  start.cwd = placed(sandbox, job.text("cwd"));
  Value request = guest::to_value(start);

  manager::Recorded recorded(job.manager(), job.caller, inside.sandbox);
  CO_TRY_VOID(co_await recorded.start_command(request, "mcp"));
  uint64_t mark = network_mark(sandbox);
  io::Milliseconds began = job.loop().now();
  std::shared_ptr<Channel> channel = inside.guest->open(request);
  std::shared_ptr<void> watched = manager::cancel_with(inside, channel);
  OnCancel cancel(job.context, [channel] { channel->cancel(); });
  Channel::Item first = co_await channel->next();
  if (first.kind != Channel::Item::Kind::message) {
    Error error = first.kind == Channel::Item::Kind::failed
                      ? manager::from_guest(first.error)
                      : Error{Code::internal, "the sandbox did not start the command", ""};
    recorded.not_started(error);
    co_return manager::without_secrets(sandbox, error);
  }
  int64_t pid = number_in(first.value, "pid");
  recorded.runs_as(inside.guest, pid, timeout_ms);
  if (std::optional<std::string> input = job.text_if("stdin")) {
    Value process = Value::Object{{"pid", pid}};
    manager::note_input(job.manager(), job.caller, sandbox, {process, input->size(), true});
    io::spawn(feed(channel, std::move(*input)));
  }
  manager::OutputRedaction redaction(sandbox.redaction());
  Output output(static_cast<size_t>(job.number("max_output", kDefaultOutput)));
  Channel::Item last = co_await follow(job, channel, redaction, recorded, output);

  Value outcome = co_await end_of(job, inside, last, timeout_ms);
  if (last.kind != Channel::Item::Kind::end && sandbox.is_reachable())
    manager::kill_process(inside.guest, pid);
  recorded.end(outcome, redaction.counts());
  if (has_network(sandbox)) co_await job.loop().sleep(kSettle);

  ToolReport result{.notes = chosen.notes};
  result.text = words_of(outcome, output);
  const Value* code = outcome.find("code");
  result.is_error = !code;
  result.data.set("sandbox", sandbox.info().id);
  result.data.set("exit_code", code ? *code : Value());
  result.data.set("outcome", outcome);
  output.out.put("stdout", result.data);
  output.errors.put("stderr", result.data);
  result.data.set("duration_ms", job.loop().now() - began);
  tell_network(sandbox, mark, output.errors.text() + output.out.text(), result);
  co_return to_result(std::move(result));
}

}  // namespace paddock::tools::builtin
