#include "tools/builtin/table.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "schema/schema.h"

namespace paddock::tools::builtin {

namespace {

TEST(OwnTools, AreElevenWithSchemasThatCompile) {
  OwnOptions options;
  // Without a manager: for who only wants to know them.
  std::unique_ptr<Provider> provider = make_own_tools(std::move(options));
  ASSERT_EQ(provider->tools().size(), 11u);
  std::set<std::string> names;
  for (const ToolInfo& tool : provider->tools()) {
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

TEST(OwnTools, RequiredMembersExist) {
  for (const Entry& entry : entries()) {
    ToolInfo tool = to_tool(entry);
    for (const Value* schema : {&tool.input_schema, &tool.output_schema}) {
      const Value* required = schema->find("required");
      for (const Value& name : required ? *required->as_array() : Value::Array())
        EXPECT_TRUE(schema->find("properties")->find(*name.as_string()))
            << entry.name << " " << *name.as_string();
    }
  }
}

TEST(OwnTools, InstructionsAreShort) { EXPECT_LE(split(kOwnInstructions, '\n').size(), 25u); }

}  // namespace

}  // namespace paddock::tools::builtin
