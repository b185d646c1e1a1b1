// Prompts, resources and completions: lists are merged, the rest is forwarded to the owner.
#include "base/text.h"
#include "base/value_edit.h"
#include "tools/gateway/gateway.h"

namespace paddock::tools {

namespace {

constexpr size_t kPage = 500;

using mcp::Answer;

// The cursor is the number of the first item. The lists may change between two pages, as MCP
// allows.
template <class Items>
Answer page_of(const Items& items, const char* member, const Value& params) {
  size_t begin = 0;
  if (const Value* cursor = params.find("cursor")) {
    const std::string* text = cursor->as_string();
    if (!text || text->empty() || text->size() > 6 ||
        text->find_first_not_of("0123456789") != std::string::npos)
      return Answer::failed(mcp::kInvalidParams,
                            "Invalid cursor: it is not one that was given out");
    begin = std::stoul(*text);
  }
  Value result, listed = Value::Array{};
  for (size_t i = begin; i < items.size() && i < begin + kPage; ++i)
    listed.as_array()->push_back(items[i].value);
  result.set(member, std::move(listed));
  if (begin + kPage < items.size()) result.set("nextCursor", cat(begin + kPage));
  return Answer::done(std::move(result));
}

// The client's parameters but for what Gateway::forward looks at first.
Value plain(Value params) {
  for (const char* key : {"_meta", "inputResponses", "requestState"}) remove_member(params, key);
  return params;
}

// The hint goes to the client as well, because it has only this message.
Answer refused(const Error& error) {
  return Answer::failed(mcp::kInvalidParams,
                        error.message + (error.hint.empty() ? "" : cat(" (", error.hint, ")")));
}

}  // namespace

// Also asked right before the request is sent, when the server may have changed.
Result<void> Gateway::prompt_allowed(const std::string& name) const {
  if (catalogue_.find_prompt(name)) return {};
  auto withheld = catalogue_.withheld_prompts.find(name);
  if (withheld == catalogue_.withheld_prompts.end())
    return Error{Code::denied, cat("Unknown prompt: ", printable(name)), ""};
  return Error{Code::denied, cat("Denied by ", withheld->second.rule, ": ", withheld->second.why),
               withheld->second.hint};
}

// The name becomes the server's own again. Whether it is allowed is asked once more before sending.
Result<Gateway::Forward> Gateway::prompt_request(const Value& params) {
  std::string name = text_in(params, "name");
  TRY(prompt_allowed(name));
  const OfferedPrompt* prompt = catalogue_.find_prompt(name);
  Forward request{.server = find(prompt->server), .method = "prompts/get", .params = plain(params)};
  set_member(request.params, "name", prompt->bare_name);
  request.allowed = [self = shared_from_this(), name] { return self->prompt_allowed(name); };
  return request;
}

// A reference to a prompt is checked like the prompt itself, one to a resource by its owner.
Result<Gateway::Forward> Gateway::completion_request(const Value& params) {
  const Value* reference = params.find("ref");
  if (!reference || !reference->as_object())
    return Error{Code::invalid, "params.ref must be an object", ""};
  Forward request{.method = "completion/complete", .params = plain(params)};
  request.allowed = [] { return Result<void>(); };
  std::string type = text_in(*reference, "type");
  if (type == "ref/prompt") {
    std::string name = text_in(*reference, "name");
    TRY(prompt_allowed(name));
    const OfferedPrompt* prompt = catalogue_.find_prompt(name);
    request.server = find(prompt->server);
    Value there = *reference;
    set_member(there, "name", prompt->bare_name);
    set_member(request.params, "ref", std::move(there));
    request.allowed = [self = shared_from_this(), name] { return self->prompt_allowed(name); };
  } else if (type == "ref/resource") {
    request.server = owner_of(text_in(*reference, "uri"));
    if (!request.server)
      return Error{Code::invalid, cat("Unknown resource: ", printable(text_in(*reference, "uri"))),
                   ""};
  } else {
    return Error{Code::invalid, "params.ref.type must be ref/prompt or ref/resource", ""};
  }
  return request;
}

// The eras have different codes for a resource that is not there.
static int not_found_code(const mcp::Context& context) {
  return context.client.era == mcp::Era::modern ? mcp::kInvalidParams : mcp::kResourceNotFound;
}

// Lists are answered from the catalogue. Everything else goes to the server that owns it.
io::Task<Answer> Gateway::serve(std::shared_ptr<mcp::Context> context) {
  std::shared_ptr<Gateway> self = shared_from_this();
  const std::string& method = context->method;
  const Value& params = context->params;
  // A server that does not run is tried again when its lists are wanted.
  if (ends_with(method, "/list"))
    for (const GatewayServerPtr& server : servers_) server->process->nudge(true);
  if (method == "prompts/list") co_return page_of(catalogue_.prompts, "prompts", params);
  if (method == "resources/list") co_return page_of(catalogue_.resources, "resources", params);
  if (method == "resources/templates/list")
    co_return page_of(catalogue_.templates, "resourceTemplates", params);

  Result<Forward> request = Error{Code::not_found, "Method not found: " + printable(method), ""};
  if (method == "prompts/get") request = prompt_request(params);
  if (method == "completion/complete") request = completion_request(params);
  if (method == "resources/read") {
    std::string uri = text_in(params, "uri");
    GatewayServerPtr owner = owner_of(uri);
    if (!owner)
      co_return Answer::failed(not_found_code(*context), "Resource not found",
                               Value::Object{{"uri", uri}});
    request = Forward{.server = owner, .method = method, .params = plain(params)};
    request.value().allowed = [self, uri, owner]() -> Result<void> {
      if (self->owner_of(uri) == owner) return {};
      return Error{Code::denied, "the resource has another owner now", "list them again"};
    };
  }
  if (!request && request.error().code == Code::not_found)
    co_return Answer::failed(mcp::kMethodNotFound, request.error().message);
  if (!request) co_return refused(request.error());
  Forward wanted = std::move(request.value());
  RuleList nothing;
  std::shared_ptr<CallContext> wrapped =
      CallContext::around(loop_, context, context->cause, nothing);
  Answer answer = co_await forward(std::move(wanted), wrapped);
  if (method == "resources/read" && answer.problem &&
      (answer.problem->code == mcp::kResourceNotFound ||
       answer.problem->code == mcp::kInvalidParams))
    answer.problem->code = not_found_code(*context);
  co_return answer;
}

}  // namespace paddock::tools
