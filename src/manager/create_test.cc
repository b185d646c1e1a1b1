#include <fstream>

#include "manager/checks.h"
#include "manager/manager_test.h"

namespace paddock::manager {

namespace {

class Creates : public ManagerTest {};

io::Task<void> create_one(Creates* self, size_t* made, size_t* refused, size_t* left) {
  CreateOptions options;
  Result<std::shared_ptr<Sandbox>> sandbox =
      co_await self->manager_->create(self->caller_, options);
  if (sandbox)
    ++*made;
  else if (sandbox.error().code == Code::exhausted)
    ++*refused;
  --*left;
}

}  // namespace

TEST_F(Creates, AThousandAtOnceNeverExceedTheQuota) {
  auto story = [](Creates* self) -> io::Task<void> {
    self->world_->takes = 5;
    co_await self->begin();
    Tenant tenant{.name = "one", .quota = {.sandboxes = 7}};
    Result<void> set = co_await self->manager_->set_tenant(self->caller_, tenant);
    EXPECT_TRUE(set);
    size_t made = 0, refused = 0, left = 1000;
    for (int i = 0; i < 1000; ++i) io::spawn(create_one(self, &made, &refused, &left));
    while (left > 0) co_await self->loop_->sleep(5);
    EXPECT_EQ(made, 7u);
    EXPECT_EQ(refused, 993u);
    EXPECT_EQ(self->world_->starts, 7u);
    co_await self->restart();  // the quota is still there, and so is what counts against it
    left = 1;
    made = refused = 0;
    co_await create_one(self, &made, &refused, &left);
    EXPECT_EQ(refused, 1u);
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Creates, WaitForTheBaseAndNothingElseDoes) {
  auto story = [](Creates* self) -> io::Task<void> {
    self->world_->base_takes = 50;
    co_await self->begin();
    // The server is up before it is made.
    EXPECT_FALSE(self->manager_->templates().find("", "base"));
    EXPECT_TRUE(self->manager_->list(self->caller_, {}));
    CreateOptions options;
    std::shared_ptr<Sandbox> made = co_await self->make(options);
    EXPECT_TRUE(made);
    EXPECT_TRUE(self->manager_->templates().find("", "base"));
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Creates, SayWhyThereIsNoBase) {
  auto story = [](Creates* self) -> io::Task<void> {
    self->world_->base_fails = true;
    co_await self->begin();
    CreateOptions options;
    Result<std::shared_ptr<Sandbox>> made = co_await self->manager_->create(self->caller_, options);
    EXPECT_EQ(made ? "it was made" : made.error().message, "make the template 'base': not here");
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Creates, GiveWhatTheTemplateAsksForOrRefuseIt) {
  auto story = [](Creates* self) -> io::Task<void> {
    co_await self->begin();
    (void)co_await self->manager_->base_ready();
    EXPECT_TRUE(self->manager_->check_template_size("one", 0, 0));
    // What older SDKs ask for on their own.
    EXPECT_TRUE(self->manager_->check_template_size("one", 2000, 64 << 20));
    Result<void> cores = self->manager_->check_template_size("one", 1'000'000, 0);
    std::string said = cores ? "it was given" : cores.error().message;
    EXPECT_NE(said.find("cpuCount 1000"), std::string::npos) << said;
    EXPECT_FALSE(self->manager_->check_template_size("one", 0, uint64_t{1} << 50));
    store::Template asked = self->manager_->templates().find("", "base").value();
    asked.memory_bytes = 64 << 20;
    EXPECT_EQ(self->manager_->template_size("one", asked).memory_bytes, uint64_t{64} << 20);
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Creates, RefusesWhatCannotBe) {
  auto story = [](Creates* self) -> io::Task<void> {
    co_await self->begin();
    std::vector<CreateOptions> wrong(10);
    wrong[0].template_name = "nobody";
    wrong[1].name = "../up";
    wrong[2].timeout_ms = int64_t{1} << 50;
    wrong[3].timeout_ms = 0;  // this tenant may not live for ever
    wrong[4].metadata = {{"k\n", "v"}};
    wrong[5].env = {{"A=B", "v"}};
    wrong[6].volumes = {{"missing", "/mnt", false}};
    wrong[7].volumes = {{"v", "/proc/x", false}};
    wrong[8].metadata = {{"k", std::string(100'000, 'x')}};
    wrong[9].idle_timeout_ms = INT64_MAX;
    for (const CreateOptions& options : wrong) {
      Result<std::shared_ptr<Sandbox>> made =
          co_await self->manager_->create(self->caller_, options);
      EXPECT_FALSE(made);
    }
    EXPECT_EQ(self->world_->starts, 0u);
    EXPECT_EQ(self->directories(), 0u);
    CreateOptions named;
    named.name = "a";
    std::shared_ptr<Sandbox> first = co_await self->make(named);
    Result<std::shared_ptr<Sandbox>> second = co_await self->manager_->create(self->caller_, named);
    EXPECT_TRUE(!second && second.error().code == Code::conflict);
    for (const char* id : {"", "../x", "a/b", "A%2f", "x\n", "i00000000000000000000"})
      EXPECT_FALSE(self->manager_->find(self->caller_, id)) << id;
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Creates, ListsInPages) {
  auto story = [](Creates* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    for (int i = 0; i < 7; ++i) {
      options.metadata = {{"odd", i % 2 ? "yes" : "no"}};
      (void)co_await self->make(options);
    }
    std::set<std::string> seen;
    ListOptions page_options;
    page_options.limit = 3;
    size_t pages = 0;
    do {
      Result<Page> page = self->manager_->list(self->caller_, page_options);
      EXPECT_TRUE(page);
      if (!page) break;
      for (const std::shared_ptr<Sandbox>& sandbox : page.value().sandboxes)
        EXPECT_TRUE(seen.insert(sandbox->info().id).second);
      page_options.token = page.value().next;
      ++pages;
    } while (!page_options.token.empty());
    EXPECT_EQ(seen.size(), 7u);
    EXPECT_EQ(pages, 3u);
    ListOptions odd;
    odd.metadata = {{"odd", "yes"}};
    EXPECT_EQ(self->manager_->list(self->caller_, odd).value().sandboxes.size(), 3u);
    ListOptions forged;
    forged.token = "../../x";
    EXPECT_FALSE(self->manager_->list(self->caller_, forged));
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Creates, WhatIsWrittenToVolumesFromOutsideCountsAtOnce) {
  auto story = [](Creates* self) -> io::Task<void> {
    co_await self->begin();
    std::string name = "data";
    Result<VolumeInfo> made = co_await self->manager_->create_volume(self->caller_, name, 10'000);
    std::string id = made.value().id;
    EXPECT_TRUE(self->manager_->reserve_volume(id, 6'000));
    EXPECT_FALSE(self->manager_->reserve_volume(id, 6'000));
    EXPECT_TRUE(self->manager_->reserve_volume(id, 4'000));
    EXPECT_FALSE(self->manager_->reserve_volume(id, UINT64_MAX));
    EXPECT_EQ(self->manager_->find_volume(self->caller_, id).value().used_bytes, 10'000u);
    EXPECT_FALSE(self->manager_->reserve_volume("nobody", 1));
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Creates, VolumesAreMountedAndCannotBeRemovedMeanwhile) {
  auto story = [](Creates* self) -> io::Task<void> {
    co_await self->begin();
    std::string name = "data";
    Result<VolumeInfo> volume =
        co_await self->manager_->create_volume(self->caller_, name, 1 << 20);
    EXPECT_TRUE(volume) << volume.error().message;
    Result<VolumeInfo> second = co_await self->manager_->create_volume(self->caller_, name, 0);
    EXPECT_FALSE(second);
    Caller other{.tenant = "two", .scopes = {"admin"}};
    EXPECT_FALSE(self->manager_->find_volume(other, volume.value().id));
    CreateOptions options;
    options.volumes = {{"data", "/mnt/data", false}};
    std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
    std::string id = sandbox->info().id;
    Result<void> removed = co_await self->manager_->remove_volume(self->caller_, name);
    EXPECT_TRUE(!removed && removed.error().code == Code::conflict);
    co_await self->restart();
    EXPECT_TRUE(self->manager_->find_volume(self->caller_, "data"));
    (void)co_await self->manager_->kill(self->caller_, id);
    removed = co_await self->manager_->remove_volume(self->caller_, name);
    EXPECT_TRUE(removed);
    EXPECT_FALSE(self->manager_->find_volume(self->caller_, "data"));
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Creates, ASnapshotHasTheFilesAndOutlivesItsSandbox) {
  auto story = [](Creates* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
    std::string id = sandbox->info().id, name = "mine:v1";
    std::filesystem::create_directories(self->directory_of(id) + "/root/upper/home");
    Result<Snapshot> made = co_await self->manager_->snapshot(self->caller_, id, name);
    EXPECT_TRUE(made) << made.error().message;
    if (!made) co_return;
    EXPECT_EQ(made.value().name, "mine");
    EXPECT_EQ(made.value().tag, "v1");
    EXPECT_FALSE(self->world_->alive[id].frozen);
    (void)co_await self->manager_->kill(self->caller_, id);
    options.template_name = name;
    std::shared_ptr<Sandbox> second = co_await self->make(options);
    EXPECT_TRUE(std::filesystem::exists(second->made_from().root.layers.back() + "/home"));
    EXPECT_EQ(self->manager_->list_snapshots(self->caller_, "", "").value().size(), 1u);
    Caller other{.tenant = "two", .scopes = {"admin"}};
    EXPECT_TRUE(self->manager_->list_snapshots(other, "", "").value().empty());
    Result<std::shared_ptr<Sandbox>> stolen = co_await self->manager_->create(other, options);
    EXPECT_FALSE(stolen);
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Creates, SnapshotsAtOnceDoNotShareRoom) {
  auto story = [](Creates* self) -> io::Task<void> {
    co_await self->begin();
    CreateOptions options;
    options.policy.limits[LimitKind::disk] = 1 << 20;
    std::vector<std::string> ids;
    for (int i = 0; i < 2; ++i) {
      std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
      ids.push_back(sandbox->info().id);
      std::ofstream(self->directory_of(ids.back()) + "/root/upper/file")
          << std::string(1 << 20, 'x') << std::flush;
    }
    // Both, and one and a half of their copies.
    Tenant tenant{.name = "one", .quota = {.disk_bytes = (2 << 20) + (3 << 19)}};
    Result<void> set = co_await self->manager_->set_tenant(self->caller_, tenant);
    EXPECT_TRUE(set);
    int made = 0, done = 0;
    auto one = [](Creates* self, std::string id, int* made, int* done) -> io::Task<void> {
      std::string unnamed;
      Result<Snapshot> snapshot = co_await self->manager_->snapshot(self->caller_, id, unnamed);
      EXPECT_TRUE(snapshot || snapshot.error().code == Code::exhausted);
      if (snapshot) ++*made;
      ++*done;
    };
    for (const std::string& id : ids) io::spawn(one(self, id, &made, &done));
    while (done < 2) co_await self->loop_->sleep(5);
    EXPECT_EQ(made, 1);
    co_await self->end();
  };
  tell(story(this));
}

TEST_F(Creates, StepsOfBuildsCountAndMakeWay) {
  auto story = [](Creates* self) -> io::Task<void> {
    co_await self->begin();
    Tenant tenant{.name = "one", .quota = {.disk_bytes = (1 << 20) + (3 << 19)}};
    Result<void> set = co_await self->manager_->set_tenant(self->caller_, tenant);
    EXPECT_TRUE(set);
    CreateOptions options;
    options.policy.limits[LimitKind::disk] = 1 << 20;
    for (size_t kib : {1024, 1024, 4096}) {
      std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
      if (!sandbox) co_return;
      std::string id = sandbox->info().id;
      std::ofstream(self->directory_of(id) + "/root/upper/file")
          << std::string(kib << 10, 'x') << std::flush;
      store::Template asked = sandbox->made_from();
      asked.kind = store::TemplateKind::step;
      asked.tenant = "one";
      asked.cache_key = cat("key ", kib);
      Result<store::Template> made =
          co_await self->manager_->finish_into_template(self->caller_, id, asked);
      EXPECT_EQ(static_cast<bool>(made), kib == 1024);
      EXPECT_TRUE(made || made.error().code == Code::exhausted);
      EXPECT_LE(self->manager_->templates().bytes_of("one"), tenant.quota.disk_bytes);
    }
    // The first made way for the third's sandbox.
    EXPECT_GE(self->manager_->templates().bytes_of("one"), 1u << 20);
    EXPECT_LT(self->manager_->templates().bytes_of("one"), 2u << 20);
    co_await self->end();
  };
  tell(story(this));
}

}  // namespace paddock::manager
