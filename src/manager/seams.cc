#include "manager/seams.h"

#include <unistd.h>

#include "linux/sub_ids.h"
#include "manager/build_base.h"
#include "manager/build_start.h"
#include "store/rootfs.h"

namespace paddock::manager {

namespace {

constexpr io::Milliseconds kSettlePatience = 10'000;

class RealBody : public Body {
 public:
  explicit RealBody(std::unique_ptr<Instance> instance) : instance_(std::move(instance)) {
    instance_->on_end = [this](InstanceEnd end) {
      if (on_end) on_end(std::move(end));
    };
    instance_->on_network = [this](const std::string& line) {
      if (on_network) on_network(line);
    };
  }

  std::shared_ptr<guest::Client> guest() const override { return instance_->guest(); }
  io::Task<Result<void>> freeze() override { return instance_->freeze(); }
  io::Task<Result<void>> thaw() override { return instance_->thaw(); }
  io::Task<Result<InstanceUsage>> usage() override { return instance_->usage(); }
  bool read(monitor::Reading& reading, bool deep) override {
    return instance_->read(reading, deep);
  }
  void set_lifetime(const launch::LifetimeOrder& order) override { instance_->set_lifetime(order); }
  Result<void> set_network(const Policy& policy) override { return instance_->set_network(policy); }
  bool has_network() const override { return instance_->has_network(); }
  Value enforced() const override { return instance_->enforced(); }
  std::vector<std::string> notes() const override { return instance_->notes(); }
  io::Task<void> kill() override { return instance_->kill(); }

 private:
  std::unique_ptr<Instance> instance_;
};

BodyTask start(io::Loop& loop, InstanceSpec spec) {
  Result<std::unique_ptr<Instance>> instance = co_await Instance::start(loop, std::move(spec));
  if (!instance) co_return instance.error();
  std::unique_ptr<Body> body = std::make_unique<RealBody>(std::move(instance).value());
  co_return std::move(body);
}

BodyTask reattach(io::Loop& loop, std::string id, std::string directory) {
  Result<std::unique_ptr<Instance>> instance = co_await Instance::reattach(loop, id, directory);
  if (!instance) co_return instance.error();
  std::unique_ptr<Body> body = std::make_unique<RealBody>(std::move(instance).value());
  co_return std::move(body);
}

// The files of templates that an ordinary user's server makes belong to that user, who is root
// inside. Where there are more ids, `user` gets its own places before anything else runs: once, and
// nothing that was mounted there.
constexpr char kGivePlaces[] = R"sh(
id user > /dev/null 2>&1 || exit 0
if [ "$(stat -c %u /home/user 2> /dev/null)" = 0 ]; then find /home/user -xdev -user 0 -exec chown -h user:user {} + || exit; fi
if [ "$(stat -c %u /workspace 2> /dev/null)" = 0 ] && ! mountpoint -q /workspace; then chown user:user /workspace || exit; fi)sh";

io::Task<Result<void>> give_places(std::shared_ptr<guest::Client> guest) {
  CommandOptions options{.argv = {"/bin/sh", "-c", kGivePlaces},
                         .user = "root",
                         .cwd = "/",
                         .env = {},
                         .timeout = kSettlePatience,
                         .on_line = nullptr};
  Result<CommandEnd> end = co_await run_in_guest(guest, std::move(options));
  if (!end) co_return end.error();
  if (!end.value().ok())
    co_return Error{Code::io, cat("give /home/user to `user`: ", end.value().text()), ""};
  co_return Result<void>();
}

io::Task<Result<void>> settle(io::Loop& loop, std::shared_ptr<guest::Client> guest,
                              Value settings) {
  io::Milliseconds deadline = loop.now() + kSettlePatience;
  Result<Value> answer = co_await guest->ask(settings, deadline);
  if (!answer) co_return answer.error();
  bool has_ids = ::geteuid() != 0 && kernel::find_sub_ids(::geteuid(), store::kIdCount - 1);
  if (has_ids) co_return co_await give_places(std::move(guest));
  co_return Result<void>();
}

}  // namespace

Seams real_seams() { return {start, reattach, settle, start_template_command, ensure_base}; }

}  // namespace paddock::manager
