#include "store/template.h"

#include "linux/tree.h"
#include "store/store_test.h"

namespace paddock::store {
namespace {

class TemplateTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    make("server");
    reopen();
  }
  void reopen() { templates_.emplace(Templates::open(at("server")).value()); }

  Template add(const std::string& tenant, const std::string& name,
               std::vector<std::string> tags = {}, std::vector<std::string> below = {}) {
    Staged layer = templates_->stage().value();
    EXPECT_EQ(::mkdir(layer.root().c_str(), 0755), 0);
    Template asked;
    asked.tenant = tenant;
    asked.name = name;
    asked.layers = std::move(below);
    for (const std::string& tag : tags) asked.tags[tag] = 0;
    return templates_->add(asked, std::move(layer)).value();
  }
  std::string id_of(const std::string& tenant, const std::string& reference) const {
    Result<Template> found = templates_->find(tenant, reference);
    return found ? found.value().id : "(" + std::string(to_string(found.error().code)) + ")";
  }
  size_t layers() const { return names("server/layers").size(); }

  std::optional<Templates> templates_;
};

TEST_F(TemplateTest, IsFoundByIdNameTagAndFamily) {
  Template made = add("a", "app", {"default", "v1"});
  for (const std::string& reference :
       {made.id, made.family, std::string("app"), std::string("App"), std::string("app:v1"),
        std::string("a/app:v1"), made.family + ":default"})
    EXPECT_EQ(id_of("a", reference), made.id) << reference;
  EXPECT_EQ(id_of("a", "app:v2"), "(not_found)");
  EXPECT_EQ(id_of("a", "b/app"), "(not_found)");
  EXPECT_EQ(id_of("a", "../app"), "(not_found)");
  EXPECT_EQ(id_of("a", "..%2fapp"), "(invalid)");
}

TEST_F(TemplateTest, BelongsToItsTenantAlone) {
  Template made = add("a", "app");
  EXPECT_EQ(id_of("b", made.id), "(not_found)");
  EXPECT_EQ(id_of("b", "app"), "(not_found)");
  EXPECT_TRUE(templates_->list("b").empty());
  EXPECT_FALSE(templates_->remove("b", made.id));
  EXPECT_FALSE(templates_->tag("b", made.id, {"x"}));
}

TEST_F(TemplateTest, EveryonesIsFoundButNotRemoved) {
  Template base = add("", "base");
  EXPECT_EQ(id_of("a", "base"), base.id);
  EXPECT_EQ(templates_->remove("a", "base").error().code, Code::denied);
  Template own = add("a", "base");
  EXPECT_EQ(id_of("a", "base"), own.id);
  EXPECT_EQ(id_of("b", "base"), base.id);
}

TEST_F(TemplateTest, MadeAgainTakesTheTagsAndKeepsTheFamily) {
  Template first = add("a", "app", {"default", "v1"});
  Template second = add("a", "app");
  EXPECT_EQ(first.family, second.family);
  EXPECT_EQ(id_of("a", "app"), second.id);
  EXPECT_EQ(id_of("a", "app:v1"), first.id);
}

TEST_F(TemplateTest, TagsMoveAndGo) {
  Template first = add("a", "app", {"v1"}), second = add("a", "app", {"v2"});
  EXPECT_EQ(templates_->tag("a", "app:v1", {"prod"}).value().id, first.id);
  EXPECT_EQ(templates_->tag("a", "app:v2", {"prod"}).value().id, second.id);
  EXPECT_EQ(id_of("a", "app:prod"), second.id);
  EXPECT_FALSE(templates_->tag("a", "app:v1", {":x"}));
  EXPECT_FALSE(templates_->tag("a", "app:v1", {"app:"}));
  EXPECT_TRUE(templates_->untag("a", "app", {"prod"}));
  EXPECT_EQ(id_of("a", "app:prod"), "(not_found)");
  EXPECT_FALSE(templates_->untag("a", "app", {"prod"}));
}

TEST_F(TemplateTest, AFamilyGoesAsAWholeAndATagAlone) {
  Template first = add("a", "app", {"v1"}), second = add("a", "app", {"v2"}),
           third = add("a", "app", {"v3"});
  EXPECT_TRUE(templates_->remove("a", "app:v1"));
  EXPECT_EQ(id_of("a", "app:v2"), second.id);
  EXPECT_TRUE(templates_->remove("a", first.family));
  EXPECT_TRUE(templates_->list("a").empty());
  EXPECT_EQ(templates_->remove("a", "app").error().code, Code::not_found);
}

TEST_F(TemplateTest, IsThereAgainAfterARestart) {
  Template base = add("", "base");
  Staged layer = templates_->stage().value();
  ASSERT_EQ(::mkdir(layer.usr().c_str(), 0755), 0);
  Template asked = base;
  asked.tenant = "a";
  asked.name = "app";
  asked.root.host_usr = true;
  asked.env = {{"A", "b\n"}};
  asked.start_command = "serve";
  asked.memory_bytes = 5;
  Template made = templates_->add(asked, std::move(layer)).value();
  reopen();
  Template again = templates_->find("a", "app").value();
  EXPECT_EQ(to_json(to_value(again)), to_json(to_value(made)));
  EXPECT_EQ(again.root.layers.size(), 2u);
  EXPECT_EQ(again.root.usr_layers.size(), 1u);
  EXPECT_TRUE(exists(again.root.usr_layers[0].substr(base_.size() + 1)));
}

TEST_F(TemplateTest, ARecordThatIsDamagedIsNoTemplate) {
  Template made = add("a", "app");
  write("server/templates/" + made.id + ".json", "{\"version\":1");
  write("server/templates/zzz.json", to_json(to_value(made)));  // under another name
  reopen();
  EXPECT_EQ(id_of("a", "app"), "(not_found)");
  EXPECT_TRUE(templates_->list("a").empty());
}

TEST_F(TemplateTest, LayersStayWhileSomebodyUsesThem) {
  Template below = add("a", "below");
  Template above = add("a", "above", {}, below.layers);
  ASSERT_TRUE(templates_->remove("a", "below"));
  EXPECT_TRUE(templates_->sweep({}).value().empty());
  ASSERT_TRUE(templates_->remove("a", "above"));
  // A sandbox still uses the lower one.
  EXPECT_EQ(templates_->sweep({above.root.layers[0]}).value().size(), 1u);
  EXPECT_TRUE(exists(above.root.layers[0].substr(base_.size() + 1)));
  std::vector<std::string> gone = templates_->sweep({}).value();
  EXPECT_EQ(gone.size(), 2u);  // and the one before, which nobody removed
  Fd folder = open_file(at("server/layers"), O_RDONLY | O_DIRECTORY).value();
  for (const std::string& path : gone)
    EXPECT_TRUE(kernel::remove_tree(folder.get(), path.substr(path.rfind('/') + 1)));
  EXPECT_EQ(layers(), 0u);
}

TEST_F(TemplateTest, WhatIsStillBeingMadeIsNotSweptAway) {
  Staged staged = templates_->stage().value();
  EXPECT_TRUE(templates_->sweep({}).value().empty());
}

TEST_F(TemplateTest, StepsAreFoundByTheirKeyAndNotListed) {
  Template base = add("", "base");
  Template asked = base;
  asked.tenant = "a";
  asked.kind = TemplateKind::step;
  asked.cache_key = "key";
  Template step = templates_->add(asked, std::nullopt).value();
  EXPECT_EQ(templates_->find_cached("a", "key")->id, step.id);
  EXPECT_EQ(templates_->find_cached("b", "key"), nullptr);
  EXPECT_EQ(templates_->list("a").size(), 1u);
  EXPECT_EQ(id_of("a", step.id), step.id);
}

TEST_F(TemplateTest, WhatAnInterruptedForkLeftGoesWithTheNextSweep) {
  Template asked;
  asked.tenant = "a";
  asked.kind = TemplateKind::step;
  asked.sandbox = "box";
  Template between = templates_->add(asked, templates_->stage().value()).value();
  EXPECT_TRUE(templates_->sweep({}).value().empty());
  reopen();
  EXPECT_EQ(templates_->sweep({}).value().size(), 1u);
  reopen();
  EXPECT_FALSE(templates_->find("a", between.id));
}

TEST_F(TemplateTest, ATemplateNeedsLayers) {
  EXPECT_FALSE(templates_->add(Template{}, std::nullopt));
}

TEST_F(TemplateTest, StepsCountAndMakeWayWhenNobodyNeedsThem) {
  auto add_step = [&](const std::string& key, std::vector<std::string> below) {
    Staged layer = templates_->stage().value();
    Template asked;
    asked.tenant = "a";
    asked.kind = TemplateKind::step;
    asked.cache_key = key;
    asked.layers = std::move(below);
    asked.bytes = 10;
    return templates_->add(asked, std::move(layer)).value();
  };
  Template first = add_step("1", {}), second = add_step("2", first.layers),
           other = add_step("3", {});
  Template made = second;
  made.kind = TemplateKind::made;
  made.name = "app";
  made.cache_key.clear();
  ASSERT_TRUE(templates_->add(made, std::nullopt));
  EXPECT_EQ(templates_->bytes_of("a"), 30u);
  EXPECT_EQ(templates_->tenants(), std::set<std::string>{"a"});
  EXPECT_FALSE(templates_->drop_oldest_step("b", {}, {}));
  EXPECT_FALSE(templates_->drop_oldest_step("a", {}, other.layers));
  EXPECT_FALSE(templates_->drop_oldest_step("a", {other.root.layers.back()}, {}));
  EXPECT_TRUE(templates_->drop_oldest_step("a", {}, {}));
  EXPECT_FALSE(templates_->find_cached("a", "3"));
  EXPECT_FALSE(templates_->drop_oldest_step("a", {}, {}));  // the others are part of a template
  ASSERT_TRUE(templates_->remove("a", "app"));
  EXPECT_TRUE(templates_->drop_oldest_step("a", {}, {}));
  EXPECT_TRUE(templates_->find_cached("a", "1"));
  EXPECT_TRUE(templates_->drop_oldest_step("a", {}, {}));
  EXPECT_EQ(templates_->bytes_of("a"), 0u);
}

}  // namespace
}  // namespace paddock::store
