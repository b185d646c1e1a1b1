#include "tools/command_tools.h"

#include "base/text.h"
#include "tools/call_context.h"
#include "tools/sandboxed.h"

namespace paddock::tools {

namespace {

using io::Task;

// In bytes of stderr that an error shows.
constexpr size_t kTail = 2000;

// A tool that the policy implements by a command.
struct CommandTool {
  std::vector<std::string> run;
  std::shared_ptr<const Policy> sandbox;
  std::optional<schema::Schema> output;
};

// The end of it, from the beginning of a line where one is near.
std::string tail(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.size() <= kTail) return text;
  text.erase(0, text.size() - kTail);
  size_t begin = text.find('\n') + 1;  // 0: there is no other line
  if (begin > kTail / 2) begin = 0;
  // Not in the middle of a character.
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return cat("…", text.substr(begin));
}

// "exited with status 3", "was killed by SIGSEGV", "was stopped by its limit memory (268435456)".
std::string outcome_in_words(const Value& outcome) {
  std::string kind = text_in(outcome, "kind");
  auto number = [&](const char* key) {
    const Value* value = outcome.find(key);
    return value ? to_json(*value) : "?";
  };
  if (kind == "exited") return cat("exited with status ", number("code"));
  if (kind == "signaled") return cat("was killed by ", text_in(outcome, "signal"));
  if (kind == "limit")
    return cat("was stopped by its limit ", text_in(outcome, "limit"), " (", number("value"), ")");
  return "ended in a way that is not known";
}

// Names what its sandbox denied and which limits bit, so that the model need not guess.
std::string what_bit(const Value& run) {
  std::string text;
  const Value* denials = run.find("denials");
  const Value* limits = run.find("limits_hit");
  if (denials && denials->as_array())
    for (const Value& denial : *denials->as_array())
      text += cat("\nDenied by its sandbox: ", text_in(denial, "action"), " (",
                  text_in(denial, "rule"), ": ", text_in(denial, "why"), ").");
  if (limits && limits->as_array())
    for (const Value& limit : *limits->as_array())
      text += cat("\nA limit of its sandbox was reached: ", text_in(limit, "limit"), ".");
  return text;
}

// An error result with everything that helps a model to understand it.
Value failure(const Value& run, const std::string& what) {
  std::string error = tail(text_in(run, "stderr"));
  return error_result(cat("The tool ", what, ".", what_bit(run),
                          error.empty() ? "" : cat("\nIts stderr ended with:\n", error)));
}

}  // namespace

// With an output schema the command must have printed JSON that it allows.
Value command_result(const Value& run, const schema::Schema* schema) {
  const Value* outcome = run.find("outcome");
  const Value* code = outcome ? outcome->find("code") : nullptr;
  bool done = outcome && text_in(*outcome, "kind") == "exited" && code && code->as_int() &&
              *code->as_int() == 0;
  if (!done) return failure(run, outcome ? outcome_in_words(*outcome) : "did not run");
  if (run.find("stdout_base64"))
    return failure(run, "printed bytes that are not UTF-8: a result is JSON or text");
  std::string out = text_in(run, "stdout");
  bool cut = flag_in(run, "stdout_truncated");
  Result<Value> parsed = parse_json(out, "stdout");
  bool structured = !cut && parsed && parsed.value().as_object();
  if (schema) {
    if (cut)
      return failure(run,
                     "printed more than its sandbox lets it (limits.output), so that it cannot be "
                     "held against its output_schema");
    if (!parsed)
      return failure(run, cat("did not print the JSON that its output_schema asks for: ",
                              parsed.error().message));
    if (std::optional<schema::Violation> wrong = schema->check(parsed.value()))
      return failure(run, cat("printed what its output_schema does not allow: ", wrong->where,
                              wrong->where.empty() ? "it " : " ", wrong->why));
  }
  if (cut) out += "\n[cut off: more than limits.output of the tool's sandbox]";
  Value result = text_result(structured ? to_json(parsed.value()) : out);
  if (structured) result.set("structuredContent", std::move(parsed.value()));
  return result;
}

namespace {

// Runs each call in a new sandbox, made from the policy of its tool. Nothing is kept between calls.
class CommandTools : public Provider {
 public:
  explicit CommandTools(io::Loop& loop) : loop_(loop) {}

  Result<void> add(const policy::Tool& tool) {
    CommandTool command{.run = tool.run, .sandbox = tool.sandbox, .output = {}};
    if (!tool.output_schema.is_null())
      command.output = TRY(schema::Schema::compile(tool.output_schema));
    infos_.push_back(tool_info_of(tool));
    commands_.emplace(tool.name, std::make_shared<const CommandTool>(std::move(command)));
    return {};
  }

  const std::vector<ToolInfo>& tools() const override { return infos_; }

  // The parameters reach the command on its standard input only, never as words of a command line
  // that something could take for options.
  Task<mcp::Answer> call(ToolCall call, std::shared_ptr<CallContext> context) override {
    auto found = commands_.find(call.tool->name);
    if (found == commands_.end())
      co_return mcp::Answer::failed(mcp::kInternalError, "no such command");
    std::shared_ptr<const CommandTool> command = found->second;
    CommandInput input;
    input.options.argv = command->run;
    input.options.policy = *command->sandbox;
    input.options.env = {{"PADDOCK_TOOL", call.tool->name}};
    input.options.agent = call.caller->caller.agent;
    input.options.traceparent = cat("00-", call.cause.trace, "-", call.cause.span, "-01");
    input.input = to_json(call.arguments) + "\n";
    std::function<void(std::function<void()>)> on_cancel = [context](std::function<void()> stop) {
      context->on_cancel(std::move(stop));
    };
    Result<Value> run = co_await run_sandboxed(loop_, std::move(input), std::move(on_cancel));
    if (!run)
      co_return mcp::Answer::done(
          error_result(cat("The tool did not run: ", run.error().message,
                           run.error().hint.empty() ? "" : cat(" (", run.error().hint, ")"))));
    co_return mcp::Answer::done(
        command_result(run.value(), command->output ? &*command->output : nullptr));
  }

 private:
  io::Loop& loop_;
  std::vector<ToolInfo> infos_;
  std::map<std::string, std::shared_ptr<const CommandTool>> commands_;
};

}  // namespace

// Fails if an output schema cannot be compiled: the policy promises results that keep to it.
Result<std::unique_ptr<Provider>> make_command_tools(io::Loop& loop, const policy::Tools& tools) {
  auto made = std::make_unique<CommandTools>(loop);
  for (const policy::Tool& tool : tools.all())
    if (!tool.run.empty()) TRY(made->add(tool));
  return std::unique_ptr<Provider>(std::move(made));
}

}  // namespace paddock::tools
