// A manager over a world without processes: sandboxes are entries in a table, which outlives
// servers as real ones do.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "base/text.h"
#include "io/loop_test.h"
#include "manager/manager.h"
#include "record/events.h"

namespace paddock::manager {

struct World {
  struct Processes {
    bool frozen = false;
    Policy policy;
  };
  std::map<std::string, Processes> alive;  // by id
  std::map<std::string, std::function<void(living::InstanceEnd)>*> listeners;
  size_t starts = 0;
  bool starts_fail = false, freezes_fail = false;
  io::Milliseconds takes = 0;  // for every step
  io::Milliseconds base_takes = 0;
  bool base_fails = false;

  // As a keeper that was killed from outside.
  void die(const std::string& id, const std::string& why) {
    alive.erase(id);
    auto found = listeners.find(id);
    if (found != listeners.end() && *found->second) (*found->second)({.why = why});
  }
};

class FakeProcesses : public living::SandboxProcesses {
 public:
  FakeProcesses(io::Loop& loop, std::shared_ptr<World> world, std::string id)
      : loop_(loop), world_(std::move(world)), id_(std::move(id)) {
    int ends[2];
    (void)::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
    guest_ = guest::Client::create(loop, Fd(ends[0]));
    other_end_ = Fd(ends[1]);
    world_->listeners[id_] = &on_end;
  }
  ~FakeProcesses() override { world_->listeners.erase(id_); }

  std::shared_ptr<guest::Client> guest() const override { return guest_; }
  io::Task<Result<void>> freeze() override {
    co_await loop_.sleep(world_->takes);
    if (world_->freezes_fail || !world_->alive.count(id_))
      co_return Error{Code::io, "freeze: it does not", ""};
    world_->alive[id_].frozen = true;
    co_return Result<void>();
  }
  io::Task<Result<void>> thaw() override {
    co_await loop_.sleep(world_->takes);
    if (!world_->alive.count(id_)) co_return Error{Code::io, "thaw: it is gone", ""};
    world_->alive[id_].frozen = false;
    co_return Result<void>();
  }
  io::Task<Result<launch::LivingUsage>> usage() override {
    co_await loop_.sleep(world_->takes);
    launch::LivingUsage usage{.cpu_us = 1000, .memory = 1 << 20};
    usage.frozen = world_->alive.count(id_) && world_->alive[id_].frozen;
    co_return usage;
  }
  bool read(monitor::Reading&, bool) override { return false; }
  void set_lifetime(const launch::LifetimeOrder&) override {}
  Result<void> set_network(const Policy& policy) override {
    world_->alive[id_].policy = policy;
    return {};
  }
  bool has_network() const override {
    return !world_->alive[id_].policy.network.allow.value_or(std::vector<std::string>{}).empty();
  }
  Value enforced() const override { return Value::Object{}; }
  std::vector<std::string> notes() const override { return {}; }
  io::Task<void> kill() override {
    on_end = nullptr;
    co_await loop_.sleep(world_->takes);
    world_->alive.erase(id_);
  }

 private:
  io::Loop& loop_;
  std::shared_ptr<World> world_;
  std::string id_;
  std::shared_ptr<guest::Client> guest_;
  Fd other_end_;
};

inline io::Task<StartedProcesses> fake_start(io::Loop& loop, std::shared_ptr<World> world,
                                             living::InstanceSpec spec) {
  ++world->starts;
  for (const char* place : {"/root/upper", "/usr/upper"})
    std::filesystem::create_directories(spec.directory + place);
  co_await loop.sleep(world->takes);
  if (world->starts_fail) co_return Error{Code::io, "start: it does not", ""};
  world->alive[spec.id] = {.frozen = false, .policy = spec.policy};
  std::unique_ptr<living::SandboxProcesses> processes =
      std::make_unique<FakeProcesses>(loop, world, spec.id);
  co_return std::move(processes);
}

inline io::Task<StartedProcesses> fake_reattach(io::Loop& loop, std::shared_ptr<World> world,
                                                std::string id) {
  co_await loop.sleep(world->takes);
  if (!world->alive.count(id)) co_return Error{Code::not_found, "reattach: it is gone", ""};
  std::unique_ptr<living::SandboxProcesses> processes =
      std::make_unique<FakeProcesses>(loop, world, id);
  co_return std::move(processes);
}

inline io::Task<Result<void>> fake_settle(io::Loop&, std::shared_ptr<guest::Client>, Value) {
  co_return Result<void>();
}
inline io::Task<Result<void>> fake_command(std::shared_ptr<guest::Client>, store::Template) {
  co_return Result<void>();
}

// A template `base` of one empty layer.
inline io::Task<Result<void>> fake_base(io::Loop& loop, std::shared_ptr<World> world,
                                        store::Templates& templates) {
  if (world->base_takes > 0) co_await loop.sleep(world->base_takes);
  if (world->base_fails)
    co_return Error{Code::unsupported, "make the template 'base': not here", ""};
  if (templates.find("", "base")) co_return Result<void>();
  Result<store::Staged> staged = templates.stage();
  if (!staged) co_return staged.error();
  std::filesystem::create_directories(staged.value().root());
  store::Template asked;
  asked.name = "base";
  asked.root.host_usr = true;
  Result<store::Template> made = templates.add(asked, std::move(staged).value());
  if (!made) co_return made.error();
  co_return Result<void>();
}

// Its members are open: a story is a lambda, and coroutines that are lambdas must not capture.
class ManagerTest : public testing::Test {
 public:
  void SetUp() override {
    char path[] = "/tmp/paddock-test-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    state_ = path;
    ::setenv("PADDOCK_STATE", path, 1);
    loop_ = &io::fresh_loop();
  }
  void TearDown() override {
    ::unsetenv("PADDOCK_STATE");
    std::filesystem::remove_all(state_);
  }

  // Runs a test's story to its end.
  void tell(io::Task<void> story) {
    io::spawn(finish_telling(std::move(story), loop_));
    loop_->run();
  }

  io::Task<void> begin() {
    ManagerOptions options = options_;
    options.keep_events = false;
    std::shared_ptr<World> world = world_;
    options.backend =
        Backend{[world](io::Loop& loop, living::InstanceSpec spec) {
                  return fake_start(loop, world, std::move(spec));
                },
                [world](io::Loop& loop, std::string id, std::string) {
                  return fake_reattach(loop, world, std::move(id));
                },
                fake_settle, fake_command,
                [world](io::Loop& loop, store::Templates& templates, std::function<void()>) {
                  return fake_base(loop, world, templates);
                }};
    Result<std::unique_ptr<Manager>> started = co_await Manager::start(*loop_, options);
    EXPECT_TRUE(started) << started.error().message;
    if (started) manager_ = std::move(started).value();
  }
  io::Task<void> end() {
    co_await manager_->stop();
    manager_.reset();
  }
  io::Task<void> restart() {
    co_await end();
    co_await begin();
  }

  std::string directory_of(const std::string& id) const {
    return cat(state_, "/server/sandboxes/", id);
  }
  size_t directories() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(state_ + "/server/sandboxes"), {}));
  }

  io::Task<std::shared_ptr<Sandbox>> make(CreateOptions options) {
    Result<std::shared_ptr<Sandbox>> made = co_await manager_->create(caller_, options);
    EXPECT_TRUE(made) << made.error().message;
    co_return made ? made.value() : nullptr;
  }

  std::string state_;
  io::Loop* loop_ = nullptr;
  ManagerOptions options_;
  std::shared_ptr<World> world_ = std::make_shared<World>();
  std::unique_ptr<Manager> manager_;
  Caller caller_{.tenant = "one", .scopes = {"admin"}};

 private:
  static io::Task<void> finish_telling(io::Task<void> story, io::Loop* loop) {
    co_await story;
    loop->stop();
  }
};

}  // namespace paddock::manager
