#include "manager/manager_test.h"

namespace paddock::manager {

namespace {

class Lifecycles : public ManagerTest {};

io::Task<void> keep(io::Task<Result<void>> task, Result<void>* into) { *into = co_await task; }

}  // namespace

TEST(SandboxStates, OnlyLeadForward) {
  using enum SandboxState;
  EXPECT_TRUE(may_follow(starting, running));
  EXPECT_TRUE(may_follow(running, pausing));
  EXPECT_TRUE(may_follow(pausing, running));  // it could not be paused
  EXPECT_FALSE(may_follow(paused, running));
  EXPECT_FALSE(may_follow(ending, running));
  for (SandboxState state : {starting, running, pausing, paused, resuming})
    EXPECT_TRUE(may_follow(state, ending));
  for (SandboxState state : {starting, running, pausing, paused, resuming, ending, ended})
    EXPECT_FALSE(may_follow(ended, state));
}

TEST_F(Lifecycles, ASandboxIsMadeAndKilled) {
  auto story = [](Lifecycles* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    options.name = "worker";
    options.metadata = {{"who", "me"}};
    std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
    EXPECT_TRUE(sandbox->is_reachable());
    EXPECT_EQ(sandbox->info().access_token.size(), 43u);
    EXPECT_TRUE(self->manager_->find(self->caller_, "worker"));
    Caller other{.tenant = "two", .scopes = {"admin"}};
    EXPECT_FALSE(self->manager_->find(other, sandbox->info().id));
    EXPECT_EQ(self->world_->alive.size(), 1u);

    bool cut = false;
    std::shared_ptr<void> watching = sandbox->watch([&] { cut = true; });
    std::string id = sandbox->info().id;
    Result<void> killed = co_await self->manager_->kill(self->caller_, id);
    EXPECT_TRUE(killed);
    EXPECT_TRUE(cut);
    EXPECT_EQ(sandbox->info().state, SandboxState::ended);
    EXPECT_EQ(sandbox->info().ended_because, "killed");
    EXPECT_EQ(self->world_->alive.size(), 0u);
    EXPECT_EQ(self->directories(), 0u);
    Result<void> again = co_await self->manager_->kill(self->caller_, id);
    EXPECT_FALSE(again);
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Lifecycles, AFailedStartLeavesNothing) {
  auto story = [](Lifecycles* self) -> io::Task<void> {
    co_await self->begin();
    self->world_->starts_fail = true;
    CreateOptions options;
    Result<std::shared_ptr<Sandbox>> made = co_await self->manager_->create(self->caller_, options);
    EXPECT_FALSE(made);
    EXPECT_EQ(self->directories(), 0u);
    EXPECT_TRUE(self->manager_->all().empty());
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Lifecycles, TheTimeoutKillsOrPauses) {
  auto story = [](Lifecycles* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    options.timeout_ms = 30;
    std::shared_ptr<Sandbox> killed = co_await self->make(options);
    options.lifecycle.pause_on_timeout = true;
    std::shared_ptr<Sandbox> frozen = co_await self->make(options);
    options.lifecycle.pause_keeps_memory = false;
    std::shared_ptr<Sandbox> filed = co_await self->make(options);
    options.timeout_ms = 60'000;
    options.idle_timeout_ms = 30;
    options.lifecycle = {};
    std::shared_ptr<Sandbox> idle = co_await self->make(options);
    std::shared_ptr<Sandbox> busy = co_await self->make(options);
    std::shared_ptr<void> watching = busy->watch([] {});
    co_await self->loop_->sleep(400);
    EXPECT_EQ(killed->info().ended_because, "timeout");
    EXPECT_EQ(frozen->info().state, SandboxState::paused);
    EXPECT_TRUE(self->world_->alive[frozen->info().id].frozen);
    EXPECT_EQ(filed->info().state, SandboxState::paused);
    EXPECT_FALSE(filed->info().has_memory);
    EXPECT_EQ(self->world_->alive.count(filed->info().id), 0u);
    EXPECT_EQ(idle->info().ended_because, "idle timeout");
    EXPECT_EQ(busy->info().state, SandboxState::running);
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Lifecycles, ATimeoutIsExtendedAndShortened) {
  auto story = [](Lifecycles* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    options.timeout_ms = 50;
    std::shared_ptr<Sandbox> longer = co_await self->make(options);
    std::string id = longer->info().id;
    Result<void> set = co_await self->manager_->set_timeout(self->caller_, id, 60'000);
    EXPECT_TRUE(set);
    options.timeout_ms = 60'000;
    std::shared_ptr<Sandbox> shorter = co_await self->make(options);
    id = shorter->info().id;
    set = co_await self->manager_->set_timeout(self->caller_, id, 10);
    EXPECT_TRUE(set);
    std::shared_ptr<Sandbox> connected = co_await self->make(options);
    id = connected->info().id;
    Result<Manager::Connected> only_extended =
        co_await self->manager_->connect(self->caller_, id, 10, false);
    EXPECT_TRUE(only_extended && !only_extended.value().resumed);
    set = co_await self->manager_->set_timeout(self->caller_, id, -1);
    EXPECT_FALSE(set);
    set = co_await self->manager_->set_timeout(self->caller_, id, int64_t{1} << 60);
    EXPECT_FALSE(set);
    co_await self->loop_->sleep(300);
    EXPECT_EQ(longer->info().state, SandboxState::running);
    EXPECT_EQ(shorter->info().state, SandboxState::ended);
    EXPECT_EQ(connected->info().state, SandboxState::running);
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Lifecycles, PauseCutsAndResumeKeepsTheToken) {
  auto story = [](Lifecycles* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions plain;
    std::shared_ptr<Sandbox> sandbox = co_await self->make(plain);
    std::string id = sandbox->info().id, token = sandbox->info().access_token,
                boot = sandbox->info().boot_id;
    bool cut = false;
    std::shared_ptr<void> watching = sandbox->watch([&] { cut = !sandbox->is_reachable(); });
    Result<void> paused = co_await self->manager_->pause(self->caller_, id, true);
    EXPECT_TRUE(paused);
    EXPECT_TRUE(cut);
    Result<void> twice = co_await self->manager_->pause(self->caller_, id, true);
    EXPECT_TRUE(!twice && twice.error().code == Code::conflict);
    Result<Manager::Connected> resumed =
        co_await self->manager_->connect(self->caller_, id, 0, false);
    EXPECT_TRUE(resumed && resumed.value().resumed);
    EXPECT_EQ(sandbox->info().boot_id, boot);
    Result<void> filed = co_await self->manager_->pause(self->caller_, id, false);
    EXPECT_TRUE(filed);
    Result<Manager::Connected> rebooted =
        co_await self->manager_->connect(self->caller_, id, 0, false);
    EXPECT_TRUE(rebooted && rebooted.value().resumed);
    EXPECT_NE(sandbox->info().boot_id, boot);
    EXPECT_EQ(sandbox->info().access_token, token);
    EXPECT_TRUE(sandbox->is_reachable());
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Lifecycles, AFailedPauseGoesOnRunning) {
  auto story = [](Lifecycles* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions plain;
    std::shared_ptr<Sandbox> sandbox = co_await self->make(plain);
    std::string id = sandbox->info().id;
    self->world_->freezes_fail = true;
    Result<void> paused = co_await self->manager_->pause(self->caller_, id, true);
    EXPECT_FALSE(paused);
    EXPECT_TRUE(sandbox->is_reachable());
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Lifecycles, AKillInTheMiddleOfAnythingWins) {
  auto story = [](Lifecycles* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions plain;
    self->world_->takes = 20;
    std::shared_ptr<Sandbox> sandbox = co_await self->make(plain);
    std::string id = sandbox->info().id;
    Result<void> paused, killed;
    io::spawn(keep(self->manager_->pause(self->caller_, id, true), &paused));
    EXPECT_EQ(sandbox->info().state, SandboxState::pausing);
    killed = co_await self->manager_->kill(self->caller_, id);
    EXPECT_TRUE(killed);
    EXPECT_FALSE(paused);
    EXPECT_EQ(sandbox->info().state, SandboxState::ended);
    EXPECT_TRUE(self->world_->alive.empty());
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Lifecycles, ASandboxThatDiesIsCleanedAndAPausedOneKeepsItsFiles) {
  auto story = [](Lifecycles* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions plain;
    std::shared_ptr<Sandbox> running = co_await self->make(plain);
    std::shared_ptr<Sandbox> paused = co_await self->make(plain);
    std::string id = paused->info().id;
    (void)co_await self->manager_->pause(self->caller_, id, true);
    self->world_->die(running->info().id, "limit memory=1G");
    self->world_->die(id, "the keeper was killed");
    co_await self->loop_->sleep(100);
    EXPECT_EQ(running->info().state, SandboxState::ended);
    EXPECT_EQ(running->info().ended_because, "limit memory=1G");
    EXPECT_EQ(paused->info().state, SandboxState::paused);
    EXPECT_FALSE(paused->info().has_memory);
    Result<Manager::Connected> resumed =
        co_await self->manager_->connect(self->caller_, id, 0, false);
    EXPECT_TRUE(resumed && resumed.value().resumed);
    EXPECT_EQ(self->directories(), 1u);
    co_await self->end();
  };
  tell(story(this));
}

}  // namespace paddock::manager
