// The server that the MCP conformance suite is run against. Names and texts are those that the
// suite expects, so they are not changed to our own style.
#include "mcp/fixture.h"

#include "base/text.h"
#include "base/value_edit.h"
#include "mcp/fixture_data.h"
#include "mcp/fixture_tools.h"

namespace paddock::mcp {

namespace {

using fixture::json;
using fixture::text_content;
using io::Task;

Value resource_content(std::string uri, const char* type, const char* key, std::string content) {
  return Value::Object{{"uri", std::move(uri)}, {"mimeType", type}, {key, std::move(content)}};
}

// Three fixed resources, and one template.
Answer read_resource(const Value& params) {
  std::string uri = text_in(params, "uri");
  constexpr std::string_view kBefore = "test://template/", kBehind = "/data";
  Value content;
  if (uri == "test://static-text")
    content = resource_content(uri, "text/plain", "text",
                               "This is the content of the static text resource.");
  if (uri == "test://static-binary")
    content = resource_content(uri, "image/png", "blob", fixture::kImage);
  if (uri == "test://watched-resource")
    content = resource_content(uri, "text/plain", "text", "Watched resource content");
  bool is_template = starts_with(uri, kBefore) && ends_with(uri, kBehind) &&
                     uri.size() > kBefore.size() + kBehind.size();
  if (is_template) {
    std::string id = uri.substr(kBefore.size(), uri.size() - kBefore.size() - kBehind.size());
    Value data =
        Value::Object{{"id", id}, {"templateTest", true}, {"data", cat("Data for ID: ", id)}};
    content = resource_content(uri, "application/json", "text", to_json(data));
  }
  if (content.is_null())
    return Answer::failed(kResourceNotFound, cat("Resource not found: ", uri),
                          Value::Object{{"uri", uri}});
  return Answer::done(Value::Object{{"contents", Value::Array{std::move(content)}}});
}

Value message(Value content) {
  return Value::Object{{"role", "user"}, {"content", std::move(content)}};
}

// The prompts that the suite asks for by name.
Answer get_prompt(const Value& params) {
  std::string name = text_in(params, "name");
  const Value* found = params.find("arguments");
  Value arguments = found ? *found : Value{};
  Value::Array messages;
  if (name == "test_simple_prompt")
    messages = {message(text_content("This is a simple prompt for testing."))};
  if (name == "test_prompt_with_arguments") {
    std::string first = text_in(arguments, "arg1"), second = text_in(arguments, "arg2");
    if (first.empty() || second.empty())
      return Answer::failed(kInvalidParams, "arg1 and arg2 are required");
    messages = {message(
        text_content(cat("Prompt with arguments: arg1='", first, "', arg2='", second, "'")))};
  }
  if (name == "test_prompt_with_embedded_resource") {
    Value resource = resource_content(text_in(arguments, "resourceUri"), "text/plain", "text",
                                      "Embedded resource content for testing.");
    messages = {message(Value::Object{{"type", "resource"}, {"resource", std::move(resource)}}),
                message(text_content("Please process the embedded resource above."))};
  }
  if (name == "test_prompt_with_image")
    messages = {message(fixture::image_content()),
                message(text_content("Please analyze the image above."))};
  if (name == "test_input_required_result_prompt") {
    const Value* said = find_path(params, {"inputResponses", "user_context", "content"});
    if (!said)
      return Answer::needs(Value::Object{{"user_context", json(fixture::kAskContext)}},
                           std::nullopt);
    messages = {message(text_content(cat("Prompt with context: ", text_in(*said, "context"))))};
  }
  if (messages.empty()) return Answer::failed(kInvalidParams, cat("Unknown prompt: ", name));
  return Answer::done(Value::Object{{"messages", std::move(messages)}});
}

// Answers from fixed data. Tools that change something tell it through on_change.
class Fixture : public Service {
 public:
  explicit Fixture(io::Loop& loop) : loop_(loop) {}

  Offer offer(const Principal&) override {
    return {json(fixture::kCapabilities), "paddock-fixture", "", "1.0.0", ""};
  }

  Task<Answer> call(std::shared_ptr<Context> context) override {
    const std::string& method = context->method;
    if (method == "tools/list")
      co_return Answer::done(Value::Object{{"tools", fixture::tool_list()}});
    if (method == "prompts/list")
      co_return Answer::done(Value::Object{{"prompts", json(fixture::kPrompts)}});
    if (method == "resources/list")
      co_return Answer::done(Value::Object{{"resources", json(fixture::kResources)}});
    if (method == "resources/templates/list")
      co_return Answer::done(Value::Object{{"resourceTemplates", json(fixture::kTemplates)}});
    if (method == "resources/read") co_return read_resource(context->params);
    if (method == "prompts/get") co_return get_prompt(context->params);
    if (method == "completion/complete") {
      Value completion =
          Value::Object{{"values", Value::Array{}}, {"total", 0}, {"hasMore", false}};
      co_return Answer::done(Value::Object{{"completion", std::move(completion)}});
    }
    if (method != "tools/call")
      co_return Answer::failed(kMethodNotFound, cat("Method not found: ", method));
    fixture::Tell tell = [this](Change change) {
      if (on_change) on_change(change);
    };
    Answer answer = co_await fixture::call_tool(loop_, context, tell);
    co_return answer;
  }

 private:
  io::Loop& loop_;
};

}  // namespace

std::unique_ptr<Service> make_fixture(io::Loop& loop) { return std::make_unique<Fixture>(loop); }

}  // namespace paddock::mcp
