#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "manager/manager_test.h"
#include "manager/sandbox_record.h"
#include "store/durable.h"

namespace paddock::manager {

namespace {

class Restarts : public ManagerTest {
 public:
  // The record of a sandbox as a server that was killed would have left it.
  void rewrite(const std::string& id, const std::function<void(SandboxInfo&)>& change) {
    Fd directory = open_file(directory_of(id), O_RDONLY | O_DIRECTORY).value();
    std::string server = state_ + "/server";
    SandboxRecord record =
        record_from(store::read_record(directory.get(), kRecordFile, kRecordFormat).value(), server)
            .value();
    change(record.info);
    ASSERT_TRUE(store::write_record(directory.get(), kRecordFile,
                                    to_value(record.info, record.made_from, server),
                                    store::Durability::atomic));
  }
};

}  // namespace

TEST_F(Restarts, WhatLivesIsFoundAgainWithItsTokenAndItsEnd) {
  auto story = [](Restarts* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    options.name = "worker";
    options.metadata = {{"k", "v"}};
    options.env = {{"SECRET", "x"}};
    options.secrets = {{"KEY", "a secret of its own"}};
    std::shared_ptr<Sandbox> before = co_await self->make(options);
    SandboxInfo info = before->info();
    co_await self->restart();
    Result<std::shared_ptr<Sandbox>> found = self->manager_->find(self->caller_, "worker");
    EXPECT_TRUE(found);
    if (!found) co_return;
    EXPECT_TRUE(found.value()->is_reachable());
    EXPECT_EQ(found.value()->info().access_token, info.access_token);
    EXPECT_EQ(found.value()->info().ends, info.ends);
    EXPECT_EQ(found.value()->info().metadata, info.metadata);
    EXPECT_EQ(found.value()->info().env, info.env);
    EXPECT_EQ(found.value()->info().secrets, info.secrets);
    EXPECT_EQ(redact::redacted(*found.value()->redaction(), "a secret of its own"),
              "[redacted:KEY]");
    EXPECT_EQ(self->world_->starts, 1u);
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Restarts, WhatDiedIsCleanedAndWhatIsOverdueEnds) {
  static constexpr char kHalfMade[] = "iabcdefghijklmnopqrst";
  auto story = [](Restarts* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    std::shared_ptr<Sandbox> died = co_await self->make(options);
    std::shared_ptr<Sandbox> overdue = co_await self->make(options);
    std::string died_id = died->info().id, overdue_id = overdue->info().id;
    co_await self->end();
    self->world_->alive.erase(died_id);
    self->rewrite(overdue_id, [](SandboxInfo& info) { info.ends = 1; });
    std::filesystem::create_directories(self->directory_of(kHalfMade) + "/root/upper");
    self->world_->alive[kHalfMade] = {};
    std::filesystem::create_directories(self->directory_of("not-an-id"));
    co_await self->begin();
    EXPECT_FALSE(self->manager_->find(self->caller_, died_id));
    for (int tries = 0; self->manager_->find(self->caller_, overdue_id) && tries < 1000; ++tries)
      co_await self->loop_->sleep(10);
    EXPECT_FALSE(self->manager_->find(self->caller_, overdue_id));
    EXPECT_TRUE(self->world_->alive.empty());
    EXPECT_EQ(self->directories(), 1u);  // what Paddock did not make stays
    co_await self->end();
  };
  tell(story(this));
}

// The server was killed between an action and the record of it, or the other way round.
TEST_F(Restarts, EveryCrashPointOfPauseAndResumeKeepsTheFiles) {
  auto story = [](Restarts* self) -> io::Task<void> {
    struct Case {
      SandboxState state;
      bool recorded_memory, alive, frozen;
      SandboxState then;
      bool then_memory;
    };
    using enum SandboxState;
    const Case cases[] = {
        {running, true, true, true, running, true},     // frozen, not yet written: goes on
        {paused, true, true, false, paused, true},      // thawed, not yet written: stays paused
        {paused, true, false, false, paused, false},    // the keeper died: files
        {pausing, false, true, false, paused, false},   // files only, processes not yet ended
        {pausing, false, false, false, paused, false},  // ended, not yet written
        {resuming, false, true, false, paused, false},  // a reboot that had begun
        {paused, false, true, false, paused, false},    // started from files, not yet written
    };
    for (const Case& one : cases) {
      co_await self->begin();
      CreateOptions options;
      std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
      std::string id = sandbox->info().id;
      co_await self->end();
      self->rewrite(id, [&](SandboxInfo& info) {
        info.state = one.state;
        info.has_memory = one.recorded_memory;
      });
      if (!one.alive)
        self->world_->alive.erase(id);
      else
        self->world_->alive[id].frozen = one.frozen;
      co_await self->begin();
      Result<std::shared_ptr<Sandbox>> found = self->manager_->find(self->caller_, id);
      EXPECT_TRUE(found) << to_string(one.state);
      if (found) {
        EXPECT_EQ(found.value()->info().state, one.then) << to_string(one.state);
        EXPECT_EQ(found.value()->info().has_memory, one.then_memory) << to_string(one.state);
        EXPECT_EQ(self->world_->alive.count(id), one.then_memory ? 1u : 0u);
      }
      (void)co_await self->manager_->kill(self->caller_, id);
      co_await self->end();
    }
  };
  tell(story(this));
}

TEST_F(Restarts, OneServerAtATime) {
  auto story = [](Restarts* self) -> io::Task<void> {
    co_await self->begin();
    std::string directory = self->state_ + "/server";
    pid_t child = ::fork();  // the lock belongs to a process
    if (child == 0) {
      Result<Fd> fd = open_file(directory, O_RDONLY | O_DIRECTORY);
      ::_exit(store::lock_directory(fd.value().get()) ? 1 : 0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    co_await self->end();
  };
  tell(story(this));
}

}  // namespace paddock::manager
