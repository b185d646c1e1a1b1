#include "tools/builtin/lazy_tools.h"

namespace paddock::tools {

namespace {

using io::Task;

constexpr io::Milliseconds kTryAgain = 2'000;  // what failed fails again for a while

// Outlives the provider while the manager is being started.
struct Lazy {
  Lazy(io::Loop& on, OwnOptions own, ManagerLater start)
      : loop(on), options(std::move(own)), later(std::move(start)) {}
  io::Loop& loop;
  OwnOptions options;
  ManagerLater later;
  std::unique_ptr<Provider> real;
  std::shared_ptr<io::Event> starting;  // null: it is not under way
  std::optional<Error> failed;
  io::Milliseconds failed_at = 0;

  bool may_start() const {
    return !real && !starting && (!failed || loop.now() >= failed_at + kTryAgain);
  }
};

Task<void> start(std::shared_ptr<Lazy> lazy) {
  auto started = lazy->starting = std::make_shared<io::Event>(lazy->loop);
  lazy->failed.reset();
  Result<manager::Manager*> manager = co_await lazy->later();
  lazy->starting = nullptr;
  if (manager) {
    lazy->options.manager = manager.value();
    lazy->real = make_own_tools(lazy->options);
  } else {
    lazy->failed = manager.error();
    lazy->failed_at = lazy->loop.now();
  }
  started->happen();
}

class TheLazyOwn : public LazyOwn {
 public:
  TheLazyOwn(io::Loop& loop, OwnOptions options, ManagerLater later)
      : known_(make_own_tools({.manager = nullptr, .desk = options.desk})),
        lazy_(std::make_shared<Lazy>(loop, std::move(options), std::move(later))) {}

  const std::vector<ToolInfo>& tools() const override { return known_->tools(); }

  void prepare() override {
    if (lazy_->may_start()) io::spawn(start(lazy_));
  }

  Task<mcp::Answer> call(ToolCall call, std::shared_ptr<mcp::Context> context) override {
    std::shared_ptr<Lazy> lazy = lazy_;
    prepare();
    std::shared_ptr<io::Event> starting = lazy->starting;
    if (starting) co_await *starting;
    if (!lazy->real) {
      std::string why = "start the sandboxes: " + lazy->failed->message +
                        (lazy->failed->hint.empty() ? "" : " (" + lazy->failed->hint + ")");
      co_return mcp::Answer::done(error_result(why));
    }
    mcp::Answer answer = co_await lazy->real->call(std::move(call), context);
    co_return answer;
  }

  std::shared_ptr<const redact::Rules> redaction(const ToolCall& call) const override {
    return (lazy_->real ? lazy_->real : known_)->redaction(call);
  }

 private:
  std::unique_ptr<Provider> known_;
  std::shared_ptr<Lazy> lazy_;
};

}  // namespace

std::unique_ptr<LazyOwn> make_lazy_own_tools(io::Loop& loop, OwnOptions options,
                                             ManagerLater later) {
  return std::make_unique<TheLazyOwn>(loop, std::move(options), std::move(later));
}

}  // namespace paddock::tools
