// Prompts, resources and completions: lists put together, the rest forwarded to who has it.
#include "base/text.h"
#include "mcp/edit.h"
#include "tools/gateway/core.h"

namespace paddock::tools {

namespace {

constexpr size_t kPage = 500;

using mcp::Answer;

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

// The client's parameters but for what Core::forward looks at first.
Value plain(const Value& params) {
  return without_members(params, {"_meta", "inputResponses", "requestState"});
}

Result<void> prompt_allowed(const Core& core, const std::string& name) {
  if (core.catalogue.find_prompt(name)) return {};
  auto withheld = core.catalogue.withheld_prompts.find(name);
  if (withheld == core.catalogue.withheld_prompts.end())
    return Error{Code::denied, cat("Unknown prompt: ", printable(name)), ""};
  return Error{Code::denied, cat("Denied by ", withheld->second.rule, ": ", withheld->second.why),
               withheld->second.hint};
}

Answer refused(const Error& error) {
  return Answer::failed(mcp::kInvalidParams,
                        error.message + (error.hint.empty() ? "" : cat(" (", error.hint, ")")));
}

Result<Core::Forward> prompt_request(std::shared_ptr<Core> core, const Value& params) {
  std::string name = text_in(params, "name");
  TRY(prompt_allowed(*core, name));
  const OfferedPrompt* prompt = core->catalogue.find_prompt(name);
  Core::Forward request{.entry = core->find(prompt->server), .method = "prompts/get"};
  request.params = with_member(plain(params), "name", prompt->bare_name);
  request.allowed = [core, name] { return prompt_allowed(*core, name); };
  return request;
}

Result<Core::Forward> completion_request(std::shared_ptr<Core> core, const Value& params) {
  const Value* reference = params.find("ref");
  if (!reference || !reference->as_object())
    return Error{Code::invalid, "params.ref must be an object", ""};
  Core::Forward request{.method = "completion/complete", .params = plain(params), .allowed = [] {
                          return Result<void>();
                        }};
  std::string type = text_in(*reference, "type");
  if (type == "ref/prompt") {
    std::string name = text_in(*reference, "name");
    TRY(prompt_allowed(*core, name));
    const OfferedPrompt* prompt = core->catalogue.find_prompt(name);
    request.entry = core->find(prompt->server);
    request.params =
        with_member(request.params, "ref", with_member(*reference, "name", prompt->bare_name));
    request.allowed = [core, name] { return prompt_allowed(*core, name); };
  } else if (type == "ref/resource") {
    request.entry = core->owner_of(text_in(*reference, "uri"));
    if (!request.entry)
      return Error{Code::invalid, cat("Unknown resource: ", printable(text_in(*reference, "uri"))),
                   ""};
  } else {
    return Error{Code::invalid, "params.ref.type must be ref/prompt or ref/resource", ""};
  }
  return request;
}

}  // namespace

io::Task<Answer> serve(std::shared_ptr<Core> core, std::shared_ptr<mcp::Context> context) {
  const std::string& method = context->method;
  if (method == "prompts/list" || method == "resources/list" ||
      method == "resources/templates/list")
    // What does not run is tried again.
    for (const auto& entry : core->entries) entry->process->nudge(true);
  if (method == "prompts/list")
    co_return page_of(core->catalogue.prompts, "prompts", context->params);
  if (method == "resources/list")
    co_return page_of(core->catalogue.resources, "resources", context->params);
  if (method == "resources/templates/list")
    co_return page_of(core->catalogue.templates, "resourceTemplates", context->params);

  Result<Core::Forward> request =
      Error{Code::not_found, "Method not found: " + printable(method), ""};
  if (method == "prompts/get") request = prompt_request(core, context->params);
  if (method == "completion/complete") request = completion_request(core, context->params);
  if (method == "resources/read") {
    std::string uri = text_in(context->params, "uri");
    std::shared_ptr<Entry> owner = core->owner_of(uri);
    if (!owner)
      co_return Answer::failed(
          context->client.era == mcp::Era::modern ? mcp::kInvalidParams : mcp::kResourceNotFound,
          "Resource not found", Value::Object{{"uri", uri}});
    request = Core::Forward{.entry = owner, .method = method, .params = plain(context->params)};
    request.value().allowed = [core, uri, owner]() -> Result<void> {
      if (core->owner_of(uri) == owner) return {};
      return Error{Code::denied, "the resource has another owner now", "list them again"};
    };
  }
  if (!request && request.error().code == Code::not_found)
    co_return Answer::failed(mcp::kMethodNotFound, request.error().message);
  if (!request) co_return refused(request.error());
  Core::Forward forward = std::move(request.value());
  Answer answer = co_await core->forward(std::move(forward), context);
  // The eras have different codes for a resource that is not there.
  if (method == "resources/read" && answer.problem &&
      (answer.problem->code == mcp::kResourceNotFound ||
       answer.problem->code == mcp::kInvalidParams))
    answer.problem->code =
        context->client.era == mcp::Era::modern ? mcp::kInvalidParams : mcp::kResourceNotFound;
  co_return answer;
}

}  // namespace paddock::tools
