#include "mcp/fixture_tools.h"

#include "base/text.h"
#include "base/value_edit.h"
#include "mcp/fixture_data.h"

namespace paddock::mcp::fixture {

namespace {

using io::Task;

constexpr const char* kNothing = R"({"type":"object","properties":{}})";

// One tool of the suite, as tools/list shows it.
struct Row {
  const char *name, *description, *schema;
};
constexpr Row kTools[] = {
    {"test_simple_text", "Tests simple text content response", kNothing},
    {"test_image_content", "Tests image content response", kNothing},
    {"test_audio_content", "Tests audio content response", kNothing},
    {"test_embedded_resource", "Tests embedded resource content response", kNothing},
    {"test_multiple_content_types",
     "Tests response with multiple content types (text, image, resource)", kNothing},
    {"test_tool_with_logging", "Tests tool that emits log messages during execution", kNothing},
    {"test_tool_with_progress", "Tests tool that reports progress notifications", kNothing},
    {"test_error_handling", "Tests error response handling", kNothing},
    {"test_reconnection", "Takes a while, so that its stream can be cut and resumed", kNothing},
    {"test_sampling", "Tests server-initiated sampling (LLM completion request)", kSchemaPrompt},
    {"test_elicitation", "Tests server-initiated elicitation (user input request)", kSchemaMessage},
    {"test_elicitation_sep1034_defaults", "Tests elicitation with default values per SEP-1034",
     kNothing},
    {"test_elicitation_sep1330_enums",
     "Tests elicitation with enum schema improvements per SEP-1330", kNothing},
    {"json_schema_2020_12_tool",
     "Tool with JSON Schema 2020-12 features for conformance testing (SEP-1613)", kSchema2020},
    {"test_custom_headers", "Tool whose parameters are mirrored into headers", kSchemaHeaders},
    {"test_missing_capability", "Needs a client that can sample", kNothing},
    {"test_input_required_result_elicitation", "Asks for a name first", kNothing},
    {"test_input_required_result_sampling", "Asks the client's model first", kNothing},
    {"test_input_required_result_list_roots", "Asks for the client's roots first", kNothing},
    {"test_input_required_result_request_state", "Asks, and wants its state back", kNothing},
    {"test_input_required_result_multiple_inputs", "Asks for three things at once", kNothing},
    {"test_input_required_result_multi_round", "Asks twice", kNothing},
    {"test_input_required_result_tampered_state", "Asks, and its state must come back unchanged",
     kNothing},
    {"test_input_required_result_capabilities", "Asks only for what the client can", kNothing},
    {"test_streaming_elicitation", "Reports progress, then asks", kNothing},
    {"test_logging_tool", "Logs where the client wants that", kNothing},
    {"test_trigger_tool_change", "Says that the tools changed", kNothing},
    {"test_trigger_prompt_change", "Says that the prompts changed", kNothing},
    {"test_trigger_resource_change", "Says that test://watched-resource changed", kNothing},
};

Answer content(Value::Array items) {
  return Answer::done(Value::Object{{"content", std::move(items)}});
}
Answer text(std::string words) { return content({text_content(std::move(words))}); }

Value embedded(const char* uri, const char* type, const char* words) {
  return Value::Object{
      {"type", "resource"},
      {"resource", Value::Object{{"uri", uri}, {"mimeType", type}, {"text", words}}}};
}

// Logs over some time, so that a client must see messages before the answer.
Task<Answer> with_logging(io::Loop& loop, std::shared_ptr<Context> context) {
  for (const char* words :
       {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
    context->log("info", "", words);
    co_await loop.sleep(50);
  }
  co_return text("Tool with logging executed successfully");
}

// The suite expects the token back as the text.
Task<Answer> with_progress(io::Loop& loop, std::shared_ptr<Context> context) {
  for (int step : {0, 50, 100}) {
    context->progress(step, 100, cat("Completed step ", step, " of 100"));
    co_await loop.sleep(50);
  }
  const Value* token = find_path(context->params, {"_meta", "progressToken"});
  co_return text(token ? to_json(*token) : "0");
}

// Waits for as long as it takes, or until it is cancelled.
Task<Answer> slowly(io::Loop& loop, std::shared_ptr<Context> context) {
  for (int turn = 0; turn < 30 && !context->is_cancelled(); ++turn) {
    context->progress(turn, 30, "");
    co_await loop.sleep(50);
  }
  co_return text(
      "Reconnection test completed successfully. If you received this, the client properly "
      "reconnected after stream closure.");
}

// Asks the client's model and repeats its words.
Task<Answer> ask_model(std::shared_ptr<Context> context, std::string prompt) {
  Value message = Value::Object{{"role", "user"}, {"content", text_content(prompt)}};
  Value params = Value::Object{{"messages", Value::Array{message}}, {"maxTokens", 100}};
  std::string method = "sampling/createMessage";
  Result<Value> said = co_await context->ask(method, params);
  if (!said) co_return text(cat("Sampling not supported or error: ", said.error().message));
  const Value* words = find_path(said.value(), {"content", "text"});
  co_return text(
      cat("LLM response: ", words && words->as_string() ? *words->as_string() : "No response"));
}

// Asks the client's user. `before` is the beginning of the text that the suite looks for.
Task<Answer> ask_user(std::shared_ptr<Context> context, Value params, std::string before) {
  std::string method = "elicitation/create";
  Result<Value> said = co_await context->ask(method, params);
  if (!said) co_return text(cat("Elicitation not supported or error: ", said.error().message));
  const Value* filled = said.value().find("content");
  co_return text(cat(before, ": action=", text_in(said.value(), "action"),
                     ", content=", filled ? to_json(*filled) : "{}"));
}

// ---- input required

// The answer to `key`, as long as it is an object.
const Value* response(const Context& context, const char* key) {
  const Value* found = find_path(context.params, {"inputResponses", key});
  return found && found->as_object() ? found : nullptr;
}

// A field of the form that the user has filled in.
std::string filled(const Value& said, const char* field) {
  const Value* found = find_path(said, {"content", field});
  return found && found->as_string() ? *found->as_string() : "unknown";
}
size_t roots_in(const Value& said) {
  const Value* roots = said.find("roots");
  return roots && roots->as_array() ? roots->as_array()->size() : 0;
}

// Answers only with all three inputs and the state; otherwise it asks for all of them again.
Answer multiple_inputs(const Context& context) {
  const Value *name = response(context, "user_name"), *greeting = response(context, "greeting"),
              *roots = response(context, "client_roots");
  if (name && greeting && roots && text_in(context.params, "requestState") == "multiple-inputs")
    return text(cat("Name: ", filled(*name, "name"), "; Greeting: ", filled(*greeting, "text"),
                    "; Roots: ", roots_in(*roots)));
  Value requests = Value::Object{{"user_name", json(kAskName)},
                                 {"greeting", json(kAskModel)},
                                 {"client_roots", json(kAskRoots)}};
  return Answer::needs(std::move(requests), "multiple-inputs");
}

// The state says which round it is, and carries the first answer.
Answer multi_round(const Context& context) {
  std::string state = text_in(context.params, "requestState");
  const Value *first = response(context, "step1"), *second = response(context, "step2");
  if (state == "round 1" && first)
    return Answer::needs(Value::Object{{"step2", json(kAskColor)}},
                         cat("round 2 ", filled(*first, "name")));
  if (starts_with(state, "round 2 ") && second)
    return text(
        cat("Multi-round complete for ", state.substr(8), " who likes ", filled(*second, "color")));
  return Answer::needs(Value::Object{{"step1", json(kAskName)}}, "round 1");
}

// Asks only for what the client said that it can do.
Answer by_capabilities(const Context& context) {
  Value requests = Value(Value::Object{});
  if (context.client.can("elicitation")) requests.set("elicit_input", json(kAskName));
  if (context.client.can("sampling")) requests.set("sample_input", json(kAskModel));
  const Value* said = context.params.find("inputResponses");
  if (said && said->as_object() && !said->as_object()->empty())
    return text("capabilities-ok: received answers");
  if (requests.as_object()->empty()) return text("No supported capabilities declared");
  return Answer::needs(std::move(requests), "capabilities");
}

// Returns nothing if it is none of these tools.
std::optional<Answer> input_required(const std::string& name, const Context& context) {
  std::string state = text_in(context.params, "requestState");
  if (name == "test_input_required_result_elicitation") {
    const Value* said = response(context, "user_name");
    return said ? text(cat("Hello, ", filled(*said, "name"), "!"))
                : Answer::needs(Value::Object{{"user_name", json(kAskName)}}, std::nullopt);
  }
  if (name == "test_input_required_result_sampling") {
    const Value* said = response(context, "sample_request");
    return said ? text(cat("Sampling result: ", filled(*said, "text")))
                : Answer::needs(Value::Object{{"sample_request", json(kAskModel)}}, std::nullopt);
  }
  if (name == "test_input_required_result_list_roots") {
    const Value* said = response(context, "roots_request");
    return said ? text(cat("Found ", roots_in(*said), " root(s)"))
                : Answer::needs(Value::Object{{"roots_request", json(kAskRoots)}}, std::nullopt);
  }
  if (name == "test_input_required_result_request_state" ||
      name == "test_input_required_result_tampered_state") {
    bool is_back = response(context, "confirm") && state == name;
    std::string words = name == "test_input_required_result_request_state"
                            ? "state-ok: requestState validated"
                            : "integrity-ok: state verified";
    return is_back ? text(words)
                   : Answer::needs(Value::Object{{"confirm", json(kAskConfirm)}}, name);
  }
  if (name == "test_input_required_result_multiple_inputs") return multiple_inputs(context);
  if (name == "test_input_required_result_multi_round") return multi_round(context);
  if (name == "test_input_required_result_capabilities") return by_capabilities(context);
  return std::nullopt;
}

// The tools of one line each. Returns nothing if it is none of these.
std::optional<Answer> simple(const std::string& name, const Context& context, const Tell& tell) {
  if (name == "test_simple_text") return text("This is a simple text response for testing.");
  if (name == "test_image_content") return content({image_content()});
  if (name == "test_audio_content")
    return content({Value::Object{{"type", "audio"}, {"data", kAudio}, {"mimeType", "audio/wav"}}});
  if (name == "test_embedded_resource")
    return content({embedded("test://embedded-resource", "text/plain",
                             "This is an embedded resource content.")});
  if (name == "test_multiple_content_types")
    return content({text_content("Multiple content types test:"), image_content(),
                    embedded("test://mixed-content-resource", "application/json",
                             "{\"test\":\"data\",\"value\":123}")});
  if (name == "test_error_handling")
    return Answer::done(Value::Object{
        {"content",
         Value::Array{text_content("This tool intentionally returns an error for testing")}},
        {"isError", true}});
  if (name == "json_schema_2020_12_tool" || name == "test_custom_headers")
    return text(cat(name, " called with: ", to_json(*context.params.find("arguments"))));
  if (name == "test_missing_capability") {
    if (context.client.can("sampling")) return text("Success");
    Value needed = Value::Object{
        {"requiredCapabilities", Value::Object{{"sampling", Value(Value::Object{})}}}};
    return Answer::failed(kMissingCapability, "this tool needs a client that can sample",
                          std::move(needed));
  }
  std::optional<Change> change;
  if (name == "test_trigger_tool_change") change = Change{Change::Kind::tools, ""};
  if (name == "test_trigger_prompt_change") change = Change{Change::Kind::prompts, ""};
  if (name == "test_trigger_resource_change")
    change = Change{Change::Kind::resource, "test://watched-resource"};
  if (!change) return std::nullopt;
  tell(*change);
  return text("Mutation triggered");
}

}  // namespace

// The text is part of this program, so that an error is a mistake in it and shows in the suite.
Value json(const char* text) {
  Result<Value> value = parse_json(text, "fixture");
  return value ? std::move(value.value()) : Value{};
}

Value text_content(std::string text) {
  return Value::Object{{"type", "text"}, {"text", std::move(text)}};
}
Value image_content() {
  return Value::Object{{"type", "image"}, {"data", kImage}, {"mimeType", "image/png"}};
}

Value tool_list() {
  Value::Array tools;
  for (const Row& row : kTools)
    tools.push_back(Value::Object{
        {"name", row.name}, {"description", row.description}, {"inputSchema", json(row.schema)}});
  return tools;
}

// The tools that answer at once come first, then those that wait or ask.
Task<Answer> call_tool(io::Loop& loop, std::shared_ptr<Context> context, Tell tell) {
  std::string name = text_in(context->params, "name");
  if (!context->params.find("arguments")) context->params.set("arguments", Value(Value::Object{}));
  Value arguments = *context->params.find("arguments");
  std::optional<Answer> answer = simple(name, *context, tell);
  if (!answer) answer = input_required(name, *context);
  if (answer) co_return *std::move(answer);
  if (name == "test_logging_tool") {
    context->log("info", "fixture", "Diagnostic trace logging activated");
    co_return text("Logging evaluated");
  }
  if (name == "test_tool_with_logging") {
    Answer said = co_await with_logging(loop, context);
    co_return said;
  }
  if (name == "test_tool_with_progress") {
    Answer said = co_await with_progress(loop, context);
    co_return said;
  }
  if (name == "test_reconnection") {
    Answer said = co_await slowly(loop, context);
    co_return said;
  }
  if (name == "test_sampling") {
    std::string prompt = text_in(arguments, "prompt");
    Answer said = co_await ask_model(context, prompt);
    co_return said;
  }
  Value form;
  std::string before = "Elicitation completed";
  if (name == "test_elicitation_sep1034_defaults") form = json(kDefaultsForm);
  if (name == "test_elicitation_sep1330_enums") form = json(kEnumsForm);
  if (name == "test_streaming_elicitation") {
    context->progress(50, 100, "");
    form = *json(kAskName).find("params");
  }
  if (name == "test_elicitation") {
    before = "User response";
    form.set("message", text_in(arguments, "message"));
    form.set("requestedSchema", json(kResponseSchema));
  }
  if (form.is_null()) co_return Answer::failed(kInvalidParams, cat("Unknown tool: ", name));
  Answer said = co_await ask_user(context, form, before);
  co_return said;
}

}  // namespace paddock::mcp::fixture
