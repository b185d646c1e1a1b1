#include "tools/builtin/choose_sandbox.h"

#include "manager/manager_test.h"

namespace paddock::tools::builtin {

namespace {

using io::Task;

class SandboxChooserTest : public manager::ManagerTest {
 public:
  Task<void> choose(std::string principal, std::string named, Result<Chosen>& into) {
    into = co_await chooser_->choose(caller_, principal, named);
    ++answered_;
  }
  std::unique_ptr<SandboxChooser> chooser_;
  size_t answered_ = 0;
};

TEST_F(SandboxChooserTest, MakesOneForCallsThatComeTogether) {
  tell([](SandboxChooserTest* self) -> Task<void> {
    co_await self->begin();
    self->world_->takes = 20;
    manager::CreateOptions made_of;
    self->chooser_ = std::make_unique<SandboxChooser>(*self->manager_, made_of);
    Result<Chosen> first = Error{}, second = Error{}, other = Error{};
    std::string none, a = "a", b = "b";
    io::spawn(self->choose(a, none, first));
    io::spawn(self->choose(a, none, second));
    io::spawn(self->choose(b, none, other));
    while (self->answered_ < 3) co_await self->loop_->sleep(5);
    EXPECT_TRUE(first && second && other);
    if (first && second && other) {
      EXPECT_EQ(first.value().inside.sandbox, second.value().inside.sandbox);
      EXPECT_NE(first.value().inside.sandbox, other.value().inside.sandbox);
      EXPECT_TRUE(first.value().notes.empty() && second.value().notes.empty());
    }
    EXPECT_EQ(self->world_->starts, 2u);
    first = second = other = Error{};
    self->chooser_.reset();
    co_await self->end();
  }(this));
}

TEST_F(SandboxChooserTest, ReplacesOneThatHasEndedAndSaysSo) {
  tell([](SandboxChooserTest* self) -> Task<void> {
    co_await self->begin();
    manager::CreateOptions made_of;
    self->chooser_ = std::make_unique<SandboxChooser>(*self->manager_, made_of);
    Result<Chosen> chosen = Error{};
    std::string none, a = "a";
    co_await self->choose(a, none, chosen);
    EXPECT_TRUE(chosen) << chosen.error().message;
    std::string id = chosen.value().inside.sandbox->info().id;
    EXPECT_EQ(self->chooser_->default_of(self->caller_, a)->info().id, id);
    Result<void> killed = co_await self->manager_->kill(self->caller_, id);
    EXPECT_TRUE(killed);
    EXPECT_EQ(self->chooser_->default_of(self->caller_, a), nullptr);
    co_await self->choose(a, none, chosen);
    EXPECT_TRUE(chosen);
    EXPECT_NE(chosen.value().inside.sandbox->info().id, id);
    EXPECT_EQ(chosen.value().notes.size(), 1u);
    co_await self->choose(a, none, chosen);
    EXPECT_TRUE(chosen && chosen.value().notes.empty());
    chosen = Error{};
    self->chooser_.reset();
    co_await self->end();
  }(this));
}

TEST_F(SandboxChooserTest, WhatBelongsToAnotherTenantDoesNotExist) {
  tell([](SandboxChooserTest* self) -> Task<void> {
    co_await self->begin();
    manager::CreateOptions made_of;
    self->chooser_ = std::make_unique<SandboxChooser>(*self->manager_, made_of);
    Result<Chosen> chosen = Error{};
    std::string none, a = "a";
    co_await self->choose(a, none, chosen);
    EXPECT_TRUE(chosen);
    std::string id = chosen.value().inside.sandbox->info().id;
    self->caller_.tenant = "two";
    Result<Chosen> theirs = Error{};
    co_await self->choose(a, id, theirs);
    EXPECT_FALSE(theirs);
    EXPECT_EQ(theirs.error().code, Code::not_found);
    EXPECT_EQ(self->chooser_->default_of(self->caller_, a), nullptr);
    chosen = Error{};
    self->chooser_.reset();
    co_await self->end();
  }(this));
}

}  // namespace

}  // namespace paddock::tools::builtin
