// For tests of the desk: a provider that writes down what reaches it, a client that can be asked,
// and a loop to run stories on.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>

#include "base/text.h"
#include "policy/decode.h"
#include "tools/call_context.h"
#include "tools/decide/desk.h"

namespace paddock::tools {

class FakeProvider : public Provider {
 public:
  explicit FakeProvider(std::vector<std::string> names) {
    for (const std::string& name : names) {
      ToolInfo tool;
      tool.name = name;
      tool.input_schema = Value::Object{{"type", "object"}};
      infos.push_back(std::move(tool));
    }
  }
  const std::vector<ToolInfo>& tools() const override { return infos; }
  io::Task<mcp::Answer> call(ToolCall call, std::shared_ptr<CallContext> context) override {
    reached.emplace_back(call.tool->name, call.arguments);
    ++running;
    most_running = std::max(most_running, running);
    if (before_answer) co_await before_answer(context);
    --running;
    if (answer) co_return answer(call);
    co_return mcp::Answer::done(text_result("done"));
  }
  std::shared_ptr<const redact::Rules> redaction(const ToolCall&) const override { return rules; }
  Withheld withheld(std::string_view) const override { return held_back; }

  std::vector<ToolInfo> infos;
  std::vector<std::pair<std::string, Value>> reached;
  int running = 0, most_running = 0;
  std::function<io::Task<void>(std::shared_ptr<mcp::Context>)> before_answer;
  std::function<mcp::Answer(const ToolCall&)> answer;
  std::shared_ptr<const redact::Rules> rules;
  Withheld held_back;
};

class FakeContext : public mcp::Context {
 public:
  void progress(double, std::optional<double>, std::string message) override {
    progressed.push_back(message);
  }
  void log(std::string level, std::string, Value data) override {
    logged.push_back(level + " " + to_json(data));
  }
  io::Task<Result<Value>> ask(std::string asked_method, Value asked_params) override {
    asked.emplace_back(asked_method, asked_params);
    if (user) co_return user(asked_params);
    co_return Error{Code::unsupported, "nobody", ""};
  }
  bool is_cancelled() const override { return cancelled; }
  void on_cancel(std::function<void()> tell) override {
    if (cancelled) return tell();
    on_cancel_ = std::move(tell);
  }
  bool wants_progress() const override { return true; }
  void cancel() {
    cancelled = true;
    if (on_cancel_) on_cancel_();
  }

  bool cancelled = false;
  std::function<void()> on_cancel_;
  std::vector<std::string> progressed, logged;
  std::vector<std::pair<std::string, Value>> asked;
  std::function<Result<Value>(const Value& params)> user;
};

// Its members are open: a story is a lambda, and coroutines that are lambdas must not capture.
class DeskTest : public testing::Test {
 public:
  void SetUp() override {
    char path[] = "/tmp/paddock-desk-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    state = path;
    static io::Loop* const one = io::Loop::create().value();
    loop = one;
    context = std::make_shared<FakeContext>();
    caller = somebody("one");
  }
  void TearDown() override {
    close();
    std::filesystem::remove_all(state);
  }
  static std::shared_ptr<const CallerPrincipal> somebody(const std::string& tenant) {
    auto principal = std::make_shared<CallerPrincipal>();
    principal->id = tenant;
    principal->caller.tenant = tenant;
    return principal;
  }
  static Policy policy_of(const std::string& toml) {
    Result<Policy> policy = policy::decode_text("version = 1\n" + toml, "test.toml", {});
    if (!policy) ADD_FAILURE() << policy.error().message;
    return policy ? std::move(policy).value() : Policy{};
  }
  void open(const std::string& toml, record::Events* events = nullptr) {
    close();
    Result<std::shared_ptr<Desk>> opened =
        Desk::open(*loop, {.policy = policy_of(toml), .state_directory = state, .events = events});
    ASSERT_TRUE(opened) << opened.error().message;
    desk = std::move(opened).value();
    if (!provider) return;
    Result<void> added = desk->add(*provider);
    ASSERT_TRUE(added) << added.error().message;
  }
  void close() {
    if (desk) desk->close();
    desk.reset();
  }
  void tell(io::Task<void> story) {
    auto whole = [](io::Task<void> told, io::Loop* on) -> io::Task<void> {
      co_await told;
      on->stop();
    };
    io::spawn(whole(std::move(story), loop));
    loop->run();
  }
  static Value json(const std::string& text) {
    Result<Value> value = parse_json(text, "test");
    if (!value) ADD_FAILURE() << value.error().message;
    return value ? value.value() : Value();
  }
  Called call(const std::string& name, const std::string& arguments, bool dry_run = false) {
    last.reset();
    tell([](DeskTest* self, Desk::Request request) -> io::Task<void> {
      Called called = co_await self->desk->call(std::move(request), self->context);
      self->last = std::move(called);
    }(this, {name, json(arguments), caller, dry_run}));
    return *last;
  }
  static std::string text_of(const Called& called) {
    if (called.answer.problem) return called.answer.problem->message;
    const Value* content = called.answer.result.find("content");
    std::string text;
    for (const Value& item : *content->as_array())
      text += item.find("text") ? *item.find("text")->as_string()
                                : "(" + *item.find("type")->as_string() + ")";
    return text;
  }
  static bool is_error(const Called& called) {
    const Value* error = called.answer.result.find("isError");
    return called.answer.problem || (error && *error->as_bool());
  }

  std::string state;
  io::Loop* loop = nullptr;
  std::unique_ptr<FakeProvider> provider;
  std::shared_ptr<Desk> desk;
  std::shared_ptr<FakeContext> context;
  std::shared_ptr<const CallerPrincipal> caller;
  std::optional<Called> last;
};

}  // namespace paddock::tools
