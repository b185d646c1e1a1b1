#include "tools/lazy_own.h"

namespace paddock::tools {

namespace {

using io::Task;

class LazyOwn : public Provider {
 public:
  LazyOwn(io::Loop& loop, OwnOptions options, ManagerLater later)
      : options_(std::move(options)), later_(std::move(later)), known_(make_own_tools({.manager = nullptr, .desk = options_.desk})), started_(loop) {}

  const std::vector<ToolInfo>& tools() const override { return known_->tools(); }

  Task<mcp::Answer> call(ToolCall call, std::shared_ptr<mcp::Context> context) override {
    if (!std::exchange(starting_, true)) {
      Result<manager::Manager*> manager = co_await later_();
      if (manager) {
        options_.manager = manager.value();
        real_ = make_own_tools(options_);
      } else {
        failed_ = manager.error();
      }
      started_.happen();
    }
    co_await started_;
    if (!real_) {
      std::string why = "start the sandboxes: " + failed_.message + (failed_.hint.empty() ? "" : " (" + failed_.hint + ")");
      co_return mcp::Answer::done(error_result(why));
    }
    mcp::Answer answer = co_await real_->call(std::move(call), context);
    co_return answer;
  }

  std::shared_ptr<const redact::Rules> redaction(const ToolCall& call) const override {
    return (real_ ? real_ : known_)->redaction(call);
  }

 private:
  OwnOptions options_;
  ManagerLater later_;
  std::unique_ptr<Provider> known_, real_;
  bool starting_ = false;
  Error failed_;
  io::Event started_;
};

}  // namespace

std::unique_ptr<Provider> make_lazy_own_tools(io::Loop& loop, OwnOptions options, ManagerLater later) {
  return std::make_unique<LazyOwn>(loop, std::move(options), std::move(later));
}

}  // namespace paddock::tools
