#include "tools/builtin/builtin_tools.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "mcp/client_test.h"
#include "schema/schema.h"
#include "tools/call_context.h"

namespace paddock::tools {

namespace {

using mcp::test_loop;
using mcp::wait_for;

TEST(BuiltinTools, AreElevenWithSchemasThatCompile) {
  BuiltinTools provider(test_loop(), {});
  ASSERT_EQ(provider.tools().size(), 11u);
  std::set<std::string> names;
  for (const ToolInfo& tool : provider.tools()) {
    names.insert(tool.name);
    Result<schema::Schema> input = schema::Schema::compile(tool.input_schema),
                           output = schema::Schema::compile(tool.output_schema);
    EXPECT_TRUE(input) << tool.name << ": " << (input ? "" : input.error().message);
    EXPECT_TRUE(output) << tool.name << ": " << (output ? "" : output.error().message);
    EXPECT_FALSE(tool.title.empty());
    EXPECT_NE(to_json(tool.input_schema).find("\"additionalProperties\":false"), std::string::npos)
        << tool.name;
    for (const char* hint : {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})
      EXPECT_TRUE(tool.annotations.find(hint)) << tool.name;
  }
  EXPECT_EQ(names.size(), 11u);
}

TEST(BuiltinTools, RequiredMembersExist) {
  BuiltinTools provider(test_loop(), {});
  for (const ToolInfo& tool : provider.tools()) {
    for (const Value* schema : {&tool.input_schema, &tool.output_schema}) {
      const Value* required = schema->find("required");
      for (const Value& name : required ? *required->as_array() : Value::Array())
        EXPECT_TRUE(schema->find("properties")->find(*name.as_string()))
            << tool.name << " " << *name.as_string();
    }
  }
}

TEST(BuiltinTools, InstructionsAreShort) {
  EXPECT_LE(split(kBuiltinInstructions, '\n').size(), 25u);
}

struct Starts {
  int count = 0;
  static io::Task<Result<manager::Manager*>> fail(Starts* starts) {
    ++starts->count;
    co_await test_loop().sleep(20);
    co_return Error{Code::io, "no room", ""};
  }
};

TEST(BuiltinTools, StartTheManagerOnceForAllCallsAndAgainSomeTimeAfterItFailed) {
  Starts starts;
  BuiltinTools tools(test_loop(), {.start_manager = [&starts] { return Starts::fail(&starts); }});
  EXPECT_EQ(tools.tools().size(), 11u);
  EXPECT_EQ(starts.count, 0);
  tools.prepare();
  tools.prepare();
  auto call = [&] {
    ToolCall wanted{.tool = &tools.tools()[0], .arguments = Value::Object{}};
    auto client = std::make_shared<mcp::TestContext>();
    std::shared_ptr<CallContext> context =
        CallContext::around(test_loop(), client, client->cause, {});
    return to_json(wait_for(tools.call(std::move(wanted), context)).result);
  };
  EXPECT_TRUE(mcp::contains(call(), "start the sandboxes: no room"));
  EXPECT_TRUE(mcp::contains(call(), "start the sandboxes: no room"));
  EXPECT_EQ(starts.count, 1);
  EXPECT_TRUE(mcp::run_until([&] { return tools.prepare(), starts.count == 2; }));
  EXPECT_TRUE(mcp::contains(call(), "no room"));
}

TEST(BuiltinTools, SayWhereTheyCanBeCalledWithoutAManager) {
  BuiltinTools tools(test_loop(), {});
  EXPECT_FALSE(tools.can_call());
  ToolCall wanted{.tool = &tools.tools()[0], .arguments = Value::Object{}};
  auto client = std::make_shared<mcp::TestContext>();
  std::shared_ptr<CallContext> context =
      CallContext::around(test_loop(), client, client->cause, {});
  EXPECT_TRUE(mcp::contains(to_json(wait_for(tools.call(std::move(wanted), context)).result),
                            "call it through `paddock mcp`"));
}

}  // namespace

}  // namespace paddock::tools
