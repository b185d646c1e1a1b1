// Servers for tests of the client side: a script that answers each message, or does worse.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "base/text.h"
#include "base/value_edit.h"
#include "io/pipe.h"
#include "mcp/client.h"

namespace paddock::mcp {

inline io::Loop& test_loop() {
  static io::Loop* const loop = io::Loop::create().value();
  return *loop;
}

// Runs the loop until it is so; false when that takes unreasonably long.
inline bool run_until(const std::function<bool()>& done) {
  io::Loop& loop = test_loop();
  io::Milliseconds give_up = loop.now() + 60'000;
  bool tick = true;
  auto wake = [](io::Loop& on, bool& going) -> io::Task<void> {
    while (going) co_await on.sleep(20);
    going = true;
  };
  io::spawn(wake(loop, tick));
  loop.after_turn = [&] {
    if (done() || loop.now() > give_up) loop.stop();
  };
  if (!done()) loop.run();
  bool is_done = done();
  tick = false;  // the sleeper ends before this does
  loop.after_turn = [&] {
    if (tick) loop.stop();
  };
  loop.run();
  loop.after_turn = nullptr;
  return is_done;
}

template <class T>
io::Task<void> into(io::Task<T> task, std::optional<T>& result) {
  T value = co_await task;
  result.emplace(std::move(value));
}

// Waits for a task.
template <class T>
T wait_for(io::Task<T> task) {
  std::optional<T> result;
  io::spawn(into(std::move(task), result));
  EXPECT_TRUE(run_until([&] { return result.has_value(); }));
  return std::move(*result);
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in '" << text << "'";
}

inline Value json(const std::string& text) {
  Result<Value> value = parse_json(text, "test");
  EXPECT_TRUE(value) << text;
  return value ? std::move(value).value() : Value();
}

inline const char* const kHello =
    R"({"protocolVersion":"2025-11-25","serverInfo":{"name":"old","version":"1"},
  "capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true}},
  "instructions":"be kind"})";
inline const char* const kDiscovered =
    R"({"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,
  "cacheScope":"public","instructions":"be quick",
  "capabilities":{"tools":{"listChanged":true},"logging":{}},
  "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}}})";

// A caller that keeps what it hears.
class TestContext : public Context {
 public:
  void progress(double done, std::optional<double> total, std::string message) override {
    heard.push_back(cat("progress ", static_cast<int>(done), "/",
                        static_cast<int>(total.value_or(0)), " ", message));
  }
  void log(std::string level, std::string logger, Value data) override {
    heard.push_back(cat("log ", level, " ", logger, " ", to_json(data)));
  }
  io::Task<Result<Value>> ask(std::string, Value) override { co_return Error{}; }
  bool is_cancelled() const override { return cancelled; }
  void on_cancel(std::function<void()> given) override {
    cancel_ = std::move(given);
    if (cancelled) cancel_();
  }
  bool wants_progress() const override { return true; }

  void cancel() {
    cancelled = true;
    if (cancel_) cancel_();
  }
  std::vector<std::string> heard;
  bool cancelled = false;

 private:
  std::function<void()> cancel_;
};

}  // namespace paddock::mcp
