#include "tools/direct.h"

#include <gtest/gtest.h>

namespace paddock::tools {
namespace {

std::shared_ptr<mcp::DirectContext> context() {
  return direct_context(make_principal({.tenant = "local"}));
}

TEST(DirectContext, TellsOnceWhenItIsCancelled) {
  auto made = context();
  int told = 0;
  made->on_cancel([&] { ++told; });
  made->cancel();
  made->cancel();
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(made->is_cancelled());
}

TEST(DirectContext, TellsAtOnceWhoComesLate) {
  auto made = context();
  made->cancel();
  int told = 0;
  made->on_cancel([&] { ++told; });
  EXPECT_EQ(told, 1);
}

TEST(DirectContext, OnlyTheLastOneIsTold) {
  auto made = context();
  int first = 0, second = 0;
  made->on_cancel([&] { ++first; });
  made->on_cancel([&] { ++second; });
  made->cancel();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

TEST(Direct, ADenialIsOneSentenceWithItsHint) {
  Called called;
  called.decision = {policy::Decision::Kind::deny, "tools.send_email.rules[0]",
                     "to must end with '@company.com': only inside the company",
                     "write to somebody there", 0};
  EXPECT_EQ(denial_of(called),
            "Denied by tools.send_email.rules[0]: to must end with '@company.com': only inside the "
            "company. (write to somebody there)");
  called.decision.kind = policy::Decision::Kind::allow;
  EXPECT_EQ(denial_of(called), "");
}

TEST(Direct, ResultsInWords) {
  Value result =
      parse_json(
          R"({"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"AAAA"},
      {"type":"resource","resource":{"uri":"file:///x","text":"b"}},{"type":"resource_link","uri":"file:///y"}]})",
          "test")
          .value();
  EXPECT_EQ(text_of_result(result), "a\n[image/png, 3 bytes]\nb\n[file:///y]\n");
  EXPECT_EQ(
      text_of_result(parse_json(R"({"content":[],"structuredContent":{"a":1}})", "test").value()),
      "{\"a\":1}\n");
}

TEST(Direct, WhoCallsIsTheKeyOrTheTenant) {
  EXPECT_EQ(make_principal({.tenant = "local", .agent = "somebody else"})->id, "tenant local");
  EXPECT_EQ(make_principal({.tenant = "local", .agent = "somebody else", .key = "k1"})->id,
            "key k1");
}

}  // namespace
}  // namespace paddock::tools
