// The call itself: made by the provider, waited for as long as it may take.
#include "base/text.h"
#include "io/bell.h"
#include "tools/call_context.h"
#include "tools/decide/desk.h"

namespace paddock::tools {

namespace {

using io::Milliseconds;
using io::Task;

// For a tool that was told that its time is over.
constexpr Milliseconds kToEnd = 3'000;
// A tool that asks people does not get more than this for it.
constexpr Milliseconds kLongestAsked = 30 * 60'000;

// Between the desk, which may stop waiting, and the provider, which goes on until it has ended.
struct Running {
  explicit Running(io::Loop& loop) : bell(loop) {}
  io::Bell bell;
  std::optional<mcp::Answer> answer;
};

// What the running call needs; it outlives the wait of the desk.
struct Job {
  std::shared_ptr<Running> running;
  // Kept because `call` points into it.
  std::shared_ptr<const DeskTool> tool;
  ToolCall call;
  std::shared_ptr<CallContext> context;
  CallSlot slot;
};

// Owns the slot until the provider has really ended, however long the desk waits.
Task<void> run(Job job) {
  Provider& provider = *job.tool->provider;
  ToolCall call = std::move(job.call);
  std::shared_ptr<CallContext> context = job.context;
  mcp::Answer answer = co_await provider.call(std::move(call), context);
  job.running->answer = std::move(answer);
  job.running->bell.ring();
}

// Until there is an answer. False: its time is over.
Task<bool> wait_for(io::Loop& loop, std::shared_ptr<Running> running,
                    std::shared_ptr<CallContext> context, Milliseconds patience) {
  Milliseconds began = loop.now();
  while (!running->answer) {
    if (context->is_cancelled()) co_return false;
    Milliseconds until = began + patience + std::min(kLongestAsked, context->asked_for());
    if (loop.now() >= until) co_return false;
    (void)co_await running->bell.wait(until);
  }
  co_return true;
}

// What the tool had already answered is kept after the note.
mcp::Answer with_note(std::optional<mcp::Answer> partial, const std::string& note) {
  Value result = error_result(note);
  const Value* content =
      partial && !partial->problem && !partial->input ? partial->result.find("content") : nullptr;
  if (content && content->as_array())
    for (const Value& item : *content->as_array())
      result.as_object()->front().second.as_array()->push_back(item);
  return mcp::Answer::done(std::move(result));
}

// The word for the record.
std::string outcome_of(const mcp::Answer& answer) {
  if (answer.problem) return "refused";
  if (answer.input) return "input_required";
  const Value* error = answer.result.find("isError");
  return error && error->as_bool() && *error->as_bool() ? "error" : "ok";
}

}  // namespace

// A tool whose time is over is cancelled, and has a moment to end before it is left alone.
Task<Made> Desk::make_call(const DeskCall& call, std::shared_ptr<mcp::Context> context,
                           CallSlot slot) {
  if (!call.tool->provider) {
    std::string text = cat("The policy allows this call, but nobody here has the tool '",
                           printable(call.name), "'. Nothing was done.");
    co_return Made{mcp::Answer::done(error_result(text)), "nobody"};
  }
  auto running = std::make_shared<Running>(loop_);
  std::shared_ptr<CallContext> wrapped =
      CallContext::around(loop_, context, call.cause, call.redaction);
  std::weak_ptr<Running> weak = running;
  wrapped->on_change = [weak] {
    if (std::shared_ptr<Running> alive = weak.lock()) alive->bell.ring();
  };
  Job job{running,
          call.tool,
          {&call.tool->info, call.arguments, call.caller, call.cause},
          wrapped,
          std::move(slot)};
  io::spawn(run(std::move(job)));
  int64_t timeout = timeout_of(call);
  bool in_time = co_await wait_for(loop_, running, wrapped, timeout);
  bool is_cancelled = wrapped->is_cancelled();
  if (!in_time) {
    wrapped->cancel();
    Milliseconds until = loop_.now() + kToEnd;
    while (!running->answer && loop_.now() < until) (void)co_await running->bell.wait(until);
  }
  wrapped->close();
  if (in_time && !is_cancelled) {
    std::string outcome = outcome_of(*running->answer);
    co_return Made{std::move(*running->answer), outcome};
  }
  std::string name = printable(call.name);
  if (is_cancelled)
    co_return Made{
        with_note(std::move(running->answer), cat("The call of '", name, "' was cancelled.")),
        "cancelled"};
  std::string text = cat("The call of '", name, "' took longer than ", in_words(timeout),
                         " and was ended", running->answer ? "." : "; it has not confirmed that.");
  co_return Made{with_note(std::move(running->answer), text), "timeout"};
}

// An answer that breaks the promise of its schema is not passed on.
void check_output(const DeskCall& call, Made& made) {
  if (made.outcome != "ok" || call.tool->schemas().outputs.empty()) return;
  const Value* structure = made.answer.result.find("structuredContent");
  std::string wrong;
  for (const schema::Schema& schema : call.tool->schemas().outputs) {
    if (!structure)
      wrong = "it has no structuredContent";
    else if (std::optional<schema::Violation> violation = schema.check(*structure))
      wrong = cat(violation->where.empty() ? "structuredContent" : violation->where, " ",
                  violation->why);
  }
  if (wrong.empty()) return;
  made.outcome = "error";
  made.answer = mcp::Answer::done(
      error_result(cat("The tool '", printable(call.name),
                       "' answered with something else than its output schema promises: ", wrong,
                       ". What it did is done; its answer is not passed on.")));
}

}  // namespace paddock::tools
