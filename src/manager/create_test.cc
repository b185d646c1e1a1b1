#include "manager/checks.h"
#include "manager/manager_test.h"

namespace paddock::manager {

namespace {

class Creates : public ManagerTest {};

io::Task<void> create_one(Creates* self, size_t* made, size_t* refused, size_t* left) {
  CreateOptions options;
  Result<std::shared_ptr<Sandbox>> sandbox = co_await self->manager_->create(self->caller_, options);
  if (sandbox) ++*made;
  else if (sandbox.error().code == Code::exhausted) ++*refused;
  --*left;
}

}  // namespace

TEST_F(Creates, AThousandAtOnceNeverExceedTheQuota) {
  auto story = [](Creates* self) -> io::Task<void> {
    self->world_->takes = 5;
    co_await self->begin();
    Tenant tenant{.name = "one", .quota = {.sandboxes = 7}};
    EXPECT_TRUE(self->manager_->set_tenant(tenant));
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

TEST_F(Creates, RefusesWhatCannotBe) {
  auto story = [](Creates* self) -> io::Task<void> {
    co_await self->begin();
    std::vector<CreateOptions> wrong(9);
    wrong[0].template_name = "nobody";
    wrong[1].name = "../up";
    wrong[2].timeout_ms = int64_t{1} << 50;
    wrong[3].timeout_ms = 0;  // this tenant may not live for ever
    wrong[4].metadata = {{"k\n", "v"}};
    wrong[5].env = {{"A=B", "v"}};
    wrong[6].volumes = {{"missing", "/mnt", false}};
    wrong[7].volumes = {{"v", "/proc/x", false}};
    wrong[8].metadata = {{"k", std::string(100'000, 'x')}};
    for (const CreateOptions& options : wrong) {
      Result<std::shared_ptr<Sandbox>> made = co_await self->manager_->create(self->caller_, options);
      EXPECT_FALSE(made);
    }
    EXPECT_EQ(self->world_->starts, 0u);
    EXPECT_EQ(self->directories(), 0u);
    CreateOptions named;
    named.name = "a";
    std::shared_ptr<Sandbox> first = co_await self->make(named);
    Result<std::shared_ptr<Sandbox>> second = co_await self->manager_->create(self->caller_, named);
    EXPECT_TRUE(!second && second.error().code == Code::conflict);
    for (const char* id : {"", "../x", "a/b", "A%2f", "x\n", "i00000000000000000000"}) EXPECT_FALSE(self->manager_->find(self->caller_, id)) << id;
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
      for (const std::shared_ptr<Sandbox>& sandbox : page.value().sandboxes) EXPECT_TRUE(seen.insert(sandbox->info().id).second);
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

TEST_F(Creates, VolumesAreMountedAndCannotBeRemovedMeanwhile) {
  auto story = [](Creates* self) -> io::Task<void> {
    co_await self->begin();
    Result<VolumeInfo> volume = self->manager_->create_volume(self->caller_, "data", 1 << 20);
    EXPECT_TRUE(volume) << volume.error().message;
    EXPECT_FALSE(self->manager_->create_volume(self->caller_, "data", 0));
    Caller other{.tenant = "two", .scopes = {"admin"}};
    EXPECT_FALSE(self->manager_->find_volume(other, volume.value().id));
    CreateOptions options;
    options.volumes = {{"data", "/mnt/data", false}};
    std::shared_ptr<Sandbox> sandbox = co_await self->make(options);
    std::string id = sandbox->info().id;
    Result<void> removed = self->manager_->remove_volume(self->caller_, "data");
    EXPECT_TRUE(!removed && removed.error().code == Code::conflict);
    co_await self->restart();
    EXPECT_TRUE(self->manager_->find_volume(self->caller_, "data"));
    (void)co_await self->manager_->kill(self->caller_, id);
    EXPECT_TRUE(self->manager_->remove_volume(self->caller_, "data"));
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

}  // namespace paddock::manager
