#include "manager/keys.h"
#include "manager/manager_test.h"

namespace paddock::manager {

namespace {

class Administers : public ManagerTest {
 public:
  // The acts that are recorded from now on.
  void listen() {
    listening_ = manager_->events().subscribe("", [this](const Event& event) {
      if (event.kind == "admin") acts_.push_back(text_in(event.data, "act"));
    });
  }
  std::vector<std::string> take_acts() { return std::exchange(acts_, {}); }

  std::shared_ptr<void> listening_;
  std::vector<std::string> acts_;
};

using Acts = std::vector<std::string>;

}  // namespace

TEST_F(Administers, RecordsWhatIsDoneAndNoRefusal) {
  auto story = [](Administers* self) -> io::Task<void> {
    co_await self->begin();
    self->listen();
    std::string name = "data", unknown = "unknown";
    Result<VolumeInfo> made = co_await self->manager_->create_volume(self->caller_, name, 0);
    EXPECT_TRUE(made);
    EXPECT_EQ(self->take_acts(), Acts{"volume.create"});
    made = co_await self->manager_->create_volume(self->caller_, name, 0);
    EXPECT_TRUE(!made && made.error().code == Code::conflict);
    Result<void> removed = co_await self->manager_->remove_volume(self->caller_, unknown);
    EXPECT_TRUE(!removed && removed.error().code == Code::not_found);
    EXPECT_EQ(self->take_acts(), Acts{});
    removed = co_await self->manager_->remove_volume(self->caller_, name);
    EXPECT_TRUE(removed);
    EXPECT_EQ(self->take_acts(), Acts{"volume.remove"});
    self->listening_.reset();
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Administers, RecordsKeysAndTheirIds) {
  auto story = [](Administers* self) -> io::Task<void> {
    co_await self->begin();
    self->listen();
    Keys keys = std::move(Keys::open(self->state_)).value();
    KeyInfo wanted;
    wanted.tenant = "one";
    Result<NewKey> made = co_await self->manager_->create_key(self->caller_, keys, wanted);
    EXPECT_FALSE(made);  // without a scope it would be good for nothing
    wanted.scopes = {"read"};
    made = co_await self->manager_->create_key(self->caller_, keys, wanted);
    EXPECT_TRUE(made) << made.error().message;
    Acts created{"key.create", "key.created"};
    EXPECT_EQ(self->take_acts(), created);
    std::string id = made ? made.value().info.id : "";
    Result<void> revoked = co_await self->manager_->revoke_key(self->caller_, keys, id);
    EXPECT_TRUE(revoked);
    revoked = co_await self->manager_->revoke_key(self->caller_, keys, id);
    EXPECT_TRUE(!revoked && revoked.error().code == Code::not_found);
    EXPECT_EQ(self->take_acts(), Acts{"key.revoke"});
    self->listening_.reset();
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Administers, LeavesEveryonesTemplatesAlone) {
  auto story = [](Administers* self) -> io::Task<void> {
    co_await self->begin();
    Result<void> ready = co_await self->manager_->base_ready();
    EXPECT_TRUE(ready);
    self->listen();
    std::string base = "base";
    std::set<std::string> tags{"mine"};
    Result<store::Template> tagged =
        co_await self->manager_->tag_template(self->caller_, base, tags);
    EXPECT_TRUE(!tagged && tagged.error().code == Code::denied);
    Result<void> removed = co_await self->manager_->remove_template(self->caller_, base);
    EXPECT_FALSE(removed);
    EXPECT_EQ(self->take_acts(), Acts{});
    self->listening_.reset();
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Administers, RefusesTimesAndNetworksOfWhatDoesNotRun) {
  auto story = [](Administers* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
    std::string id = sandbox->info().id;
    Result<void> paused = co_await self->manager_->pause(self->caller_, id, true);
    EXPECT_TRUE(paused);
    self->listen();
    Result<void> set = co_await self->manager_->set_timeout(self->caller_, id, 60'000);
    EXPECT_TRUE(!set && set.error().code == Code::conflict);
    NetworkPolicy network;
    Value extra;
    set = co_await self->manager_->set_network(self->caller_, id, network, extra);
    EXPECT_TRUE(!set && set.error().code == Code::conflict);
    EXPECT_EQ(self->take_acts(), Acts{});
    self->listening_.reset();
    co_await self->end();
  };
  tell(story(this));
}

}  // namespace paddock::manager
