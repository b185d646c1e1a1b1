#include "base/text.h"
#include "tools/builtin/job.h"
#include "tools/builtin/result.h"
#include "tools/decide/desk.h"

namespace paddock::tools::builtin {

namespace {

using io::Task;

// The decision as structured data.
Value shown(const policy::Decision& decision) {
  Value value;
  value.set("verdict", policy::to_string(decision.kind));
  value.set("rule", decision.rule);
  value.set("why", decision.why);
  value.set("hint", decision.hint);
  value.set("retry_after_ms", decision.retry_after_ms);
  return value;
}

// The decision as a sentence for the model.
std::string words_of(const Value& decision, const std::string& tool) {
  std::string verdict = text_in(decision, "verdict"), rule = text_in(decision, "rule"),
              why = text_in(decision, "why"), hint = text_in(decision, "hint");
  if (verdict == "allow") return cat("'", tool, "' would be allowed with these arguments.");
  std::string text = verdict == "ask" ? cat("'", tool, "' needs somebody's approval")
                                      : cat("'", tool, "' is denied");
  text += cat(" by ", rule, why.empty() ? "" : cat(": ", why), ".");
  if (!hint.empty()) text += cat("\nWhat to do: ", hint);
  return text;
}

}  // namespace

// Explains a call that was denied before, or judges one that the model thinks of making.
Task<Result<Value>> explain_denial(Job job) {
  Desk* desk = job.shared->options.desk;
  std::string id = job.text("id"), tool = job.text("tool");
  ToolReport report;
  if (id.empty() == tool.empty()) {
    co_return Error{
        Code::invalid,
        "give either `id` (of a call that was denied) or `tool` with `arguments` (of one "
        "you think of making)",
        ""};
  }
  if (!id.empty()) {
    Value record = desk ? desk->explain(*job.principal, id) : Value();
    if (record.is_null()) {
      co_return Error{
          Code::not_found, cat("no call '", printable(id.substr(0, 64)), "' of yours is known"),
          "the id stands in _meta of the denial; only calls of late are known. Or ask with "
          "`tool` and `arguments`"};
    }
    report.text = text_in(record, "text").empty() ? to_json(record, true) : text_in(record, "text");
    report.data.set("id", id);
    report.data.set("decision", std::move(record));
    co_return to_result(std::move(report));
  }
  if (!desk) {
    co_return Error{Code::unsupported, "nobody judges calls here", ""};
  }
  const Value* arguments = job.arguments.find("arguments");
  Desk::Request request{.tool = tool,
                        .arguments = arguments ? *arguments : Value(Value::Object{}),
                        .caller = job.principal,
                        .dry_run = true};
  Called called = co_await desk->call(std::move(request), job.context);
  Value decision = shown(called.decision);
  report.text = words_of(decision, tool);
  report.data.set("id", called.id);
  report.data.set("decision", std::move(decision));
  co_return to_result(std::move(report));
}

}  // namespace paddock::tools::builtin
