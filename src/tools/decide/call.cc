// The way of a call, top to bottom.
#include <algorithm>

#include "base/text.h"
#include "base/value_count.h"
#include "base/value_edit.h"
#include "tools/decide/call_hash.h"
#include "tools/decide/desk.h"

namespace paddock::tools {

namespace {

using io::Task;
using policy::Decision;

// Secrets that the provider knows of for this call; more of them may be known once it was made.
void learn_secrets(DeskCall& call) {
  if (!call.tool || !call.tool->provider) return;
  ToolCall told{&call.tool->info, std::move(call.arguments), call.caller, call.cause};
  std::shared_ptr<const redact::Rules> rules = call.tool->provider->redaction(told);
  call.arguments = std::move(told.arguments);
  if (rules &&
      std::find(call.redaction.begin(), call.redaction.end(), rules) == call.redaction.end())
    call.redaction.insert(call.redaction.begin(), std::move(rules));
}

// How many values the arguments of a call may have: judging each has its cost.
constexpr size_t kMostValues = 20'000;

// The arguments were dropped before this, so that nothing after it looks at them.
Decision judge_size(const DeskCall& call) {
  if (!call.is_too_large) return {.kind = Decision::Kind::allow};
  return denial("calls.values", cat("its arguments have more than ", kMostValues, " values"),
                "send less at once, or write it to a file");
}

}  // namespace

// Everything that the judgements need to know about the call.
DeskCall Desk::begin(Request request, const mcp::Context& context) const {
  DeskCall call;
  call.from = context.cause;
  call.cause = context.cause.child();
  call.id = call.cause.span;
  call.began_us = wall_clock_us();
  call.tool = known(request.tool);
  call.name = std::move(request.tool);
  call.is_too_large = has_more_values(request.arguments, kMostValues);
  // Neither judged nor recorded: that takes time for each of them.
  if (call.is_too_large) request.arguments = Value();
  call.arguments =
      request.arguments.is_null() ? Value(Value::Object{}) : std::move(request.arguments);
  call.caller =
      request.caller ? std::move(request.caller) : std::make_shared<const CallerPrincipal>();
  call.agent = call.caller->agent_id();
  call.dry_run = request.dry_run || policy_->calls().dry_run ||
                 (call.tool && call.tool->rules && call.tool->rules->dry_run);
  call.redaction = {redact::Rules::common()};
  const ToolInfo nothing;
  const ToolInfo& info = call.tool ? call.tool->info : nothing;
  if (const Value* answers = context.params.find("inputResponses")) call.answers = *answers;
  bool is_retry = context.params.find("requestState");  // of a call that was approved without them
  std::string unasked = call.answers.is_null() || is_retry ? "" : to_json(call.answers);
  call.hash = call_hash(
      {call.name, call.agent, policy_->hash_of(call.name, info.server), info.definition, unasked},
      call.arguments);
  learn_secrets(call);
  return call;
}

// A denial is remembered for explain_denial, recorded, and told to the model.
Called Desk::refuse(const DeskCall& call, Decision decision) {
  bool is_unknown = !call.tool && decision.rule == "tools";
  Value remembered = denial_value(call, decision);
  remembered.set("tool", printable(call.name.substr(0, 200)));
  remembered.set("time", rfc3339(call.began_us, 3));
  denials_.add(*call.caller, call.id, std::move(remembered));
  note_verdict(call, decision);
  mcp::Answer answer = denial_answer(call, decision, is_unknown);
  return {std::move(decision), std::move(answer), call.id, call.dry_run};
}

// A dry run ends here: the call would be made, or somebody would be asked.
Called Desk::rehearse(const DeskCall& call) {
  Decision decision{.kind = call.ask() ? Decision::Kind::ask : Decision::Kind::allow};
  if (call.ask()) decision.rule = call.rule("ask");
  note_verdict(call, decision);
  mcp::Answer answer = rehearsal_answer(call, decision);
  return {std::move(decision), std::move(answer), call.id, true};
}

// The answer as the caller gets it.
CallEnd Desk::finish(const DeskCall& call, Made& made) const {
  CallEnd end{.outcome = made.outcome};
  redact_answer(made.answer, call.redaction, &end.redactions);
  if (!made.answer.problem && !made.answer.input) {
    end.cut = bound_result(made.answer.result, output_bytes_of(call));
    // A client holds the tool to its output schema, unless the result is an error.
    if (end.cut.lost_structure && !call.tool->shown.output_schema.is_null())
      set_member(made.answer.result, "isError", true);
    end.bytes = to_json(made.answer.result).size();
  }
  return end;
}

Task<Called> Desk::call(Request request, std::shared_ptr<mcp::Context> context) {
  std::shared_ptr<Desk> self = shared_from_this();
  DeskCall call = begin(std::move(request), *context);

  // Exactly this name is on the allowlist.
  Decision decision = judge_name(call);
  if (decision.kind == Decision::Kind::deny) co_return refuse(call, std::move(decision));

  // The arguments are few enough, and what the policy and the tool take: schemas, then rules.
  decision = judge_size(call);
  if (decision.kind == Decision::Kind::deny) co_return refuse(call, std::move(decision));
  decision = judge_arguments(call);
  if (decision.kind == Decision::Kind::deny) co_return refuse(call, std::move(decision));

  // Nobody is asked about a call that there is no room for now. Nothing is taken yet.
  if (call.dry_run || call.ask()) decision = look_for_room(call);
  if (decision.kind == Decision::Kind::deny) co_return refuse(call, std::move(decision));
  if (call.dry_run) co_return rehearse(call);

  // Somebody agrees to this very call. While it waits it holds no slot and takes nothing from the
  // rates.
  if (call.ask()) decision = co_await get_approval(call, context);
  if (decision.kind == Decision::Kind::deny) co_return refuse(call, std::move(decision));

  // What was judged, and agreed to, is what would be called.
  decision = judge_definition(call);
  if (decision.kind == Decision::Kind::deny) co_return refuse(call, std::move(decision));

  // There is room, and it is taken.
  std::optional<CallSlot> slot;
  decision = take_room(call, slot);
  if (decision.kind == Decision::Kind::deny) {
    if (call.approval) keep_approval(call, *context);
    co_return refuse(call, std::move(decision));
  }

  // The record is on the disk before the call is made. Without it the call is not made.
  Result<void> recorded = co_await record(call);
  if (!recorded) {
    if (call.approval) keep_approval(call, *context);
    co_return refuse(call, denial("audit", recorded.error().message, recorded.error().hint));
  }

  decision = judge_definition(call);  // the disk took its time
  if (decision.kind == Decision::Kind::deny) co_return refuse(call, std::move(decision));

  // The call.
  Made made = co_await make_call(call, context, std::move(*slot));

  // The answer is what was promised, without secrets, and no longer than allowed.
  learn_secrets(call);
  check_output(call, made);
  CallEnd end = finish(call, made);
  if (made.answer.input && call.approval) remember_continued(call, made.answer);
  note_end(call, end);
  co_return Called{std::move(decision), std::move(made.answer), call.id, false};
}

// No schema, rule or approval is about these; they are counted and recorded like calls.
Task<mcp::Answer> Desk::pass(std::shared_ptr<mcp::Context> context, Serve serve) {
  std::shared_ptr<Desk> self = shared_from_this();
  Value asked;
  for (const char* member : {"name", "arguments", "uri", "ref", "argument", "context"})
    if (const Value* value = context->params.find(member)) asked.set(member, *value);
  Request request{.tool = context->method,
                  .arguments = std::move(asked),
                  .caller = std::dynamic_pointer_cast<const CallerPrincipal>(context->principal)};
  DeskCall call = begin(std::move(request), *context);
  auto what = std::make_shared<DeskTool>();
  what->info.name = call.name;
  call.tool = std::move(what);

  std::optional<CallSlot> slot;
  Decision decision = judge_size(call);
  if (decision.kind != Decision::Kind::deny) decision = take_room(call, slot);
  if (decision.kind != Decision::Kind::deny) {
    Result<void> recorded = co_await record(call);
    if (!recorded) decision = denial("audit", recorded.error().message, recorded.error().hint);
  }
  if (decision.kind == Decision::Kind::deny) {
    (void)refuse(call, decision);
    co_return mcp::Answer::failed(mcp::kInvalidRequest,
                                  cat("Denied by ", decision.rule, ": ", decision.why),
                                  Value::Object{{"paddock/denial", denial_value(call, decision)}});
  }

  mcp::Answer answer = co_await serve(context);
  note_end(call, {.outcome = answer.problem ? "refused"
                             : answer.input ? "input_required"
                                            : "ok",
                  .bytes = to_json(answer.result).size()});
  co_return answer;
}

}  // namespace paddock::tools
