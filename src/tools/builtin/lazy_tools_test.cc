#include "tools/builtin/lazy_tools.h"

#include <gtest/gtest.h>

#include "mcp/client_test.h"

namespace paddock::tools {
namespace {

using mcp::test_loop;
using mcp::wait_for;

struct Starts {
  int count = 0;
  static io::Task<Result<manager::Manager*>> fail(Starts* starts) {
    ++starts->count;
    co_await test_loop().sleep(20);
    co_return Error{Code::io, "no room", ""};
  }
};

TEST(LazyOwn, IsStartedOnceForAllWhoAskAndAgainSomeTimeAfterItFailed) {
  Starts starts;
  std::unique_ptr<LazyOwn> own =
      make_lazy_own_tools(test_loop(), {}, [&starts] { return Starts::fail(&starts); });
  EXPECT_EQ(own->tools().size(), 11u);
  EXPECT_EQ(starts.count, 0);
  own->prepare();
  own->prepare();
  auto call = [&] {
    ToolCall wanted{.tool = &own->tools()[0], .arguments = Value::Object{}};
    std::shared_ptr<mcp::Context> context = std::make_shared<mcp::TestContext>();
    return to_json(wait_for(own->call(std::move(wanted), context)).result);
  };
  EXPECT_TRUE(mcp::contains(call(), "start the sandboxes: no room"));
  EXPECT_TRUE(mcp::contains(call(), "start the sandboxes: no room"));
  EXPECT_EQ(starts.count, 1);
  EXPECT_TRUE(mcp::run_until([&] { return own->prepare(), starts.count == 2; }));
  EXPECT_TRUE(mcp::contains(call(), "no room"));
}

}  // namespace
}  // namespace paddock::tools
