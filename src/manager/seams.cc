#include "manager/seams.h"

#include "manager/build_base.h"
#include "manager/build_start.h"

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
  bool read(monitor::Reading& reading, bool deep) override { return instance_->read(reading, deep); }
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

io::Task<Result<void>> settle(io::Loop& loop, std::shared_ptr<guest::Client> guest, Value settings) {
  io::Milliseconds deadline = loop.now() + kSettlePatience;
  Result<Value> answer = co_await guest->ask(settings, deadline);
  if (!answer) co_return answer.error();
  co_return Result<void>();
}

}  // namespace

Seams real_seams() { return {start, reattach, settle, start_template_command, ensure_base}; }

}  // namespace paddock::manager
