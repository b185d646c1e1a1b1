#include "tools/direct.h"

#include "base/text.h"

namespace paddock::tools {

namespace {

// What is not text is named in brackets.
std::string text_of_item(const Value& item) {
  std::string type = text_in(item, "type");
  if (type == "text") return text_in(item, "text");
  if (type == "image" || type == "audio")
    return cat("[", text_in(item, "mimeType"), ", ", text_in(item, "data").size() * 3 / 4,
               " bytes]");
  if (type == "resource_link") return cat("[", text_in(item, "uri"), "]");
  const Value* resource = type == "resource" ? item.find("resource") : nullptr;
  if (!resource) return cat("[", type, "]");
  std::string text = text_in(*resource, "text");
  return text.empty() ? cat("[", text_in(*resource, "uri"), "]") : text;
}

}  // namespace

// The context of a call that does not come over MCP: nobody can be asked through it.
std::shared_ptr<mcp::DirectContext> direct_context(std::shared_ptr<const CallerPrincipal> caller) {
  auto context = std::make_shared<mcp::DirectContext>("tools/call", Value(Value::Object{}), caller);
  context->cause = caller->caller.cause;
  return context;
}

// All calls with one key, or of one tenant, are one principal's.
std::shared_ptr<const CallerPrincipal> make_principal(manager::Caller caller) {
  auto principal = std::make_shared<CallerPrincipal>();
  principal->caller = std::move(caller);
  principal->id = principal->agent_id();
  return principal;
}

// As the command line and POST /v1/tools show the outcome.
Value to_value(const Called& called) {
  const policy::Decision& decided = called.decision;
  Value decision;
  decision.set("verdict", policy::to_string(decided.kind));
  decision.set("rule", decided.rule);
  decision.set("why", decided.why);
  decision.set("hint", decided.hint);
  if (decided.retry_after_ms > 0) decision.set("retry_after_ms", decided.retry_after_ms);
  Value value;
  value.set("decision", std::move(decision));
  value.set("id", called.id);
  value.set("dry_run", called.dry_run);
  if (!called.answer.problem && !called.answer.result.is_null())
    value.set("result", called.answer.result);
  return value;
}

// A sentence for people. Empty unless the call was denied.
std::string denial_of(const Called& called) {
  const policy::Decision& decided = called.decision;
  if (decided.kind != policy::Decision::Kind::deny) return "";
  return cat("Denied by ", decided.rule, ": ", decided.why,
             decided.why.empty() || decided.why.back() == '.' ? "" : ".",
             decided.hint.empty() ? "" : cat(" (", decided.hint, ")"));
}

// Structured content is shown only where there is no text.
std::string text_of_result(const Value& result) {
  const Value* content = result.find("content");
  std::string text;
  if (content && content->as_array())
    for (const Value& item : *content->as_array()) {
      std::string said = text_of_item(item);
      text += said;
      if (!said.empty() && said.back() != '\n') text += '\n';
    }
  const Value* structured = result.find("structuredContent");
  if (text.empty() && structured) text = to_json(*structured) + "\n";
  return text;
}

bool is_error_result(const Value& result) { return flag_in(result, "isError"); }

}  // namespace paddock::tools
