// The lifecycle as a state machine: thousands of random operations against a model, with restarts
// of the server, deaths and failures among them; and storms of operations at once, after which
// everything must agree with everything.
#include <algorithm>
#include <random>

#include "manager/manager_test.h"

namespace paddock::manager {

namespace {

struct Modelled {
  bool paused = false, has_memory = true;
};

class Properties : public ManagerTest {
 public:
  std::mt19937 random{20240915};
  std::map<std::string, Modelled> model;

  size_t below(size_t most) { return random() % most; }
  std::string any() {
    auto found = model.begin();
    std::advance(found, static_cast<ptrdiff_t>(below(model.size())));
    return found->first;
  }

  bool is_settled() const {
    for (const std::shared_ptr<Sandbox>& sandbox : manager_->all()) {
      const SandboxInfo& info = sandbox->info();
      bool needs_processes = info.state != SandboxState::paused || info.has_memory;
      if (needs_processes != (world_->alive.count(info.id) > 0)) return false;
    }
    return directories() == manager_->all().size();
  }

  // Processes, directories, records and the manager's own view say the same.
  void expect_agreement() {
    std::vector<std::shared_ptr<Sandbox>> all = manager_->all();
    EXPECT_EQ(directories(), all.size());
    size_t with_processes = 0;
    for (const std::shared_ptr<Sandbox>& sandbox : all) {
      const SandboxInfo& info = sandbox->info();
      EXPECT_TRUE(info.state == SandboxState::running || info.state == SandboxState::paused)
          << to_string(info.state);
      auto processes = world_->alive.find(info.id);
      bool alive = processes != world_->alive.end();
      EXPECT_EQ(alive, info.state == SandboxState::running || info.has_memory);
      if (!alive) continue;
      ++with_processes;
      EXPECT_EQ(processes->second.frozen, info.state == SandboxState::paused);
      EXPECT_EQ(sandbox->is_reachable(), info.state == SandboxState::running);
    }
    EXPECT_EQ(world_->alive.size(), with_processes);
  }

  void expect_model() {
    expect_agreement();
    EXPECT_EQ(manager_->all().size(), model.size());
    for (const auto& [id, modelled] : model) {
      Result<std::shared_ptr<Sandbox>> found = manager_->find(caller_, id);
      if (!found) {
        ADD_FAILURE() << id << " is gone";
        continue;
      }
      const SandboxInfo& info = found.value()->info();
      EXPECT_EQ(info.state == SandboxState::paused, modelled.paused);
      EXPECT_TRUE(!modelled.paused || info.has_memory == modelled.has_memory);
    }
  }
};

// What deaths set going takes its time.
io::Task<void> settle(Properties* self) {
  co_await self->loop_->sleep(20);
  for (int tries = 0; tries < 500 && !self->is_settled(); ++tries) co_await self->loop_->sleep(10);
}

io::Task<void> step(Properties* self) {
  size_t choice = self->model.empty() ? 0 : self->below(100);
  CreateOptions options;
  if (choice < 12 && self->model.size() < 12) {
    bool fails = self->below(5) == 0;
    self->world_->starts_fail = fails;
    Result<std::shared_ptr<Sandbox>> made = co_await self->manager_->create(self->caller_, options);
    self->world_->starts_fail = false;
    EXPECT_EQ(static_cast<bool>(made), !fails);
    if (made) self->model[made.value()->info().id] = {};
    co_return;
  }
  if (self->model.empty()) co_return;
  std::string id = self->any();
  Modelled& modelled = self->model[id];
  if (choice < 30) {
    bool keep = self->below(2);
    bool fails = keep && self->below(6) == 0;
    self->world_->freezes_fail = fails;
    Result<void> paused = co_await self->manager_->pause(self->caller_, id, keep);
    self->world_->freezes_fail = false;
    EXPECT_EQ(static_cast<bool>(paused), !modelled.paused && !fails);
    if (paused) modelled = {true, keep};
  } else if (choice < 55) {
    bool reboot = self->below(3) == 0;
    bool fails = modelled.paused && (reboot || !modelled.has_memory) && self->below(5) == 0;
    self->world_->starts_fail = fails;
    Result<Manager::Connected> connected =
        co_await self->manager_->connect(self->caller_, id, 60'000, reboot);
    self->world_->starts_fail = false;
    EXPECT_EQ(static_cast<bool>(connected), !fails);
    if (connected) {
      EXPECT_EQ(connected.value().resumed, modelled.paused);
      modelled = {};
    } else {
      modelled = {true, false};
    }
  } else if (choice < 63) {
    Result<void> killed = co_await self->manager_->kill(self->caller_, id);
    EXPECT_TRUE(killed);
    self->model.erase(id);
  } else if (choice < 70) {
    Result<void> set = co_await self->manager_->set_timeout(self->caller_, id, 60'000);
    EXPECT_EQ(static_cast<bool>(set), !modelled.paused);
  } else if (choice < 78) {
    if (!modelled.paused || modelled.has_memory) self->world_->die(id, "killed from outside");
    if (!modelled.paused)
      self->model.erase(id);
    else
      modelled.has_memory = false;
    co_await settle(self);
  } else if (choice < 84) {
    std::string unnamed;
    Result<Snapshot> made = co_await self->manager_->snapshot(self->caller_, id, unnamed);
    EXPECT_TRUE(made) << made.error().message;
  } else if (choice < 88 && self->model.size() < 12) {
    Result<std::vector<Result<std::shared_ptr<Sandbox>>>> forks =
        co_await self->manager_->fork(self->caller_, id, 2, {});
    EXPECT_TRUE(forks);
    if (!forks) co_return;
    for (const Result<std::shared_ptr<Sandbox>>& fork : forks.value()) {
      EXPECT_TRUE(fork);
      if (fork) self->model[fork.value()->info().id] = {};
    }
  } else if (choice < 94) {
    Caller other{.tenant = "two", .scopes = {"admin"}};
    Result<void> killed = co_await self->manager_->kill(other, id);
    EXPECT_TRUE(!killed && killed.error().code == Code::not_found);
  } else {
    co_await self->end();
    // What dies while no server looks.
    if (self->below(3) == 0) {
      self->world_->alive.erase(id);
      if (!modelled.paused)
        self->model.erase(id);
      else
        modelled.has_memory = false;
    }
    co_await self->begin();
  }
}

io::Task<void> count_down(io::Task<void> task, size_t* left) {
  co_await task;
  --*left;
}

io::Task<void> one_of_a_storm(Properties* self, std::string id, size_t what) {
  CreateOptions options;
  std::string unnamed;
  switch (what % 7) {
    case 0: (void)co_await self->manager_->pause(self->caller_, id, true); break;
    case 1: (void)co_await self->manager_->pause(self->caller_, id, false); break;
    case 2: (void)co_await self->manager_->connect(self->caller_, id, 60'000, false); break;
    case 3: (void)co_await self->manager_->connect(self->caller_, id, 60'000, true); break;
    case 4: (void)co_await self->manager_->snapshot(self->caller_, id, unnamed); break;
    case 5: (void)co_await self->manager_->create(self->caller_, options); break;
    case 6:
      if (what % 3 == 0)
        (void)co_await self->manager_->kill(self->caller_, id);
      else
        self->world_->die(id, "killed from outside");
      break;
  }
}

}  // namespace

TEST_F(Properties, RandomOperationsDoWhatTheModelSays) {
  auto story = [](Properties* self) -> io::Task<void> {
    co_await self->begin();
    for (int i = 0; i < 2000 && !self->HasFailure(); ++i) {
      co_await step(self);
      self->expect_model();
      if (self->HasFailure()) fprintf(stderr, "after step %d\n", i);
    }
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Properties, StormsLeaveEverythingInAgreement) {
  auto story = [](Properties* self) -> io::Task<void> {
    self->world_->takes = 1;
    co_await self->begin();
    CreateOptions options;
    for (int round = 0; round < 60 && !self->HasFailure(); ++round) {
      std::vector<std::string> ids;
      for (int i = 0; i < 3; ++i) {
        std::shared_ptr<Sandbox> made = co_await self->make(options);
        ids.push_back(made->info().id);
      }
      size_t left = 40;
      for (size_t i = 0; i < 40; ++i)
        io::spawn(count_down(one_of_a_storm(self, ids[self->below(3)], self->random()), &left));
      while (left > 0) co_await self->loop_->sleep(1);
      co_await settle(self);
      self->expect_agreement();
      for (const std::shared_ptr<Sandbox>& sandbox : self->manager_->all()) {
        std::string id = sandbox->info().id;
        Result<void> killed = co_await self->manager_->kill(self->caller_, id);
        EXPECT_TRUE(killed);
      }
      EXPECT_EQ(self->directories(), 0u);
    }
    co_await self->end();
  };
  tell(story(this));
}

}  // namespace paddock::manager
