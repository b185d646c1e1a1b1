#include "tools/face.h"

#include "base/text.h"

namespace paddock::tools {

namespace {

constexpr char kAbout[] =
    "Tools behind Paddock: every call is judged by a policy. A call that is denied says which rule "
    "and why; do what the hint says, or tell "
    "the user. The same call again is denied again.";

mcp::Answer invalid(std::string message) {
  return mcp::Answer::failed(mcp::kInvalidParams, std::move(message));
}

}  // namespace

mcp::Offer make_offer(const FaceOptions& options) {
  mcp::Offer offer;
  offer.name = "paddock";
  offer.title = "Paddock";
  offer.version = PADDOCK_VERSION;
  offer.capabilities.set("tools", Value::Object{{"listChanged", true}});
  offer.instructions = options.instructions.empty() ? std::string(kAbout) : options.instructions;
  if (!options.gateway) return offer;
  Value others = options.gateway->capabilities();
  if (const Value::Object* members = others.as_object())
    for (const auto& [name, member] : *members)
      if (name != "tools") offer.capabilities.set(name, member);
  std::string said = options.gateway->instructions();
  if (!said.empty()) offer.instructions += cat("\n\n", said);
  return offer;
}

mcp::Answer list_tools(const Desk& desk, const Value& params) {
  // All of them are on the one page that there is, so nobody was ever given a cursor.
  if (params.find("cursor")) return invalid("Invalid cursor: all tools are on the first page");
  Value::Array tools;
  for (const ToolInfo& tool : desk.list()) tools.push_back(to_value(tool));
  Value result;
  result.set("tools", std::move(tools));
  return mcp::Answer::done(std::move(result));
}

io::Task<mcp::Answer> call_tool(Desk& desk, std::shared_ptr<mcp::Context> context) {
  const Value* name = context->params.find("name");
  const Value* arguments = context->params.find("arguments");
  if (!name || !name->as_string())
    co_return invalid("params.name must be a string: the tool's name");
  if (arguments && !arguments->as_object()) co_return invalid("params.arguments must be an object");
  auto caller = std::dynamic_pointer_cast<const CallerPrincipal>(context->principal);
  if (!caller) co_return mcp::Answer::failed(mcp::kInternalError, "it is not known who calls");
  Desk::Request request;
  request.tool = *name->as_string();
  request.arguments = arguments ? *arguments : Value(Value::Object{});
  request.caller = std::move(caller);
  Called called = co_await desk.call(std::move(request), context);
  co_return std::move(called.answer);
}

}  // namespace paddock::tools
