// What a provider sees of a request: the client's context, behind the desk's redaction, which ends
// when the desk says so (its time is over) as well as when the client does.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mcp/service.h"
#include "tools/decide/output.h"

namespace paddock::tools {

class DeskContext : public mcp::Context, public std::enable_shared_from_this<DeskContext> {
 public:
  static std::shared_ptr<DeskContext> around(io::Loop& loop, std::shared_ptr<mcp::Context> inner,
                                             Cause cause, RuleList rules);

  void progress(double progress, std::optional<double> total, std::string message) override;
  void log(std::string level, std::string logger, Value data) override;
  io::Task<Result<Value>> ask(std::string method, Value params) override;
  bool is_cancelled() const override { return cancelled_; }
  void on_cancel(std::function<void()> cancelled) override;
  bool wants_progress() const override { return !closed_ && inner_->wants_progress(); }

  void cancel();
  // The call is answered: whatever the provider still says is not heard.
  void close();
  // How long people and models were asked by the provider: that is not the tool's time.
  io::Milliseconds asked_for() const;
  std::function<void()> on_change;  // it was cancelled, or an answer came

 private:
  DeskContext(io::Loop& loop, std::shared_ptr<mcp::Context> inner, RuleList rules)
      : loop_(loop), inner_(std::move(inner)), rules_(std::move(rules)) {}

  io::Loop& loop_;
  std::shared_ptr<mcp::Context> inner_;
  RuleList rules_;
  bool cancelled_ = false, closed_ = false;
  std::function<void()> tell_;
  int asking_ = 0;
  io::Milliseconds asking_since_ = 0, asked_ = 0;
};

}  // namespace paddock::tools
