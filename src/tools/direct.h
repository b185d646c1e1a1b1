// Calls of tools that come by other ways than MCP: the command line, REST, the C++ library. They
// pass the same desk.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/value.h"
#include "tools/decide/desk.h"

namespace paddock::tools {

// Nobody hears progress and nobody can be asked, but the caller may go: then cancel() ends what is
// under way.
class DirectContext : public mcp::Context {
 public:
  explicit DirectContext(std::shared_ptr<const CallerPrincipal> caller);

  void progress(double, std::optional<double>, std::string) override {}
  void log(std::string level, std::string logger, Value data) override;
  io::Task<Result<Value>> ask(std::string method, Value params) override;
  bool is_cancelled() const override { return cancelled_; }
  void on_cancel(std::function<void()> cancelled) override;
  bool wants_progress() const override { return false; }

  void cancel();
  // What is told to who calls: that somebody has to approve it first.
  std::function<void(const std::string& line)> on_log;

 private:
  bool cancelled_ = false;
  std::function<void()> on_cancel_;
};

std::shared_ptr<const CallerPrincipal> make_principal(manager::Caller caller);

// {"decision":{"verdict","rule","why","hint","retry_after_ms"},"id","dry_run","result":{…}};
// without `result` when nothing was called.
Value to_value(const Called& called);
// "Denied by tools.send_email.rules[0]: …" with the hint, for people; empty unless it was denied.
std::string denial_of(const Called& called);
// What a result says in words: its texts, and what else it holds by name ("[image/png, 1234
// bytes]").
std::string text_of_result(const Value& result);
bool is_error_result(const Value& result);

}  // namespace paddock::tools
