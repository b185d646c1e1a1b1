#include "policy/keys.h"

#include "policy/explain.h"
#include "policy/json_schema.h"
#include "policy/presets.h"
#include "policy/test_cases.h"
#include "schema/schema.h"

namespace paddock::policy {

namespace {

std::string manual() { return read_file(cat(PADDOCK_SOURCE_DIR, "/docs/policy.md")).value(); }

// What the schema of policies says against a file; empty: nothing.
std::string violation(const Value& policy) {
  static const Result<schema::Schema> compiled = schema::Schema::compile(json_schema());
  if (!compiled) return compiled.error().message;
  std::optional<schema::Violation> wrong = compiled.value().check(policy);
  return wrong ? cat(wrong->where, " ", wrong->why) : "";
}

}  // namespace

TEST(Keys, TheManualsTableIsMadeFromThem) {
  EXPECT_NE(manual().find("\n" + manual_table() + "\n"), std::string::npos)
      << "docs/policy.md must have this table:\n"
      << manual_table();
}

TEST(Keys, TheManualHasEveryKeyOfATool) {
  Value schema = json_schema();
  std::string text = manual();
  for (const char* path : {"properties.tools.items.properties", "properties.calls.properties",
                           "properties.mcp.properties.servers.additionalProperties.properties",
                           "$defs.rule.properties"}) {
    const Value* properties = at_path(schema, path);
    ASSERT_TRUE(properties && properties->as_object()) << path;
    for (const auto& [name, type] : *properties->as_object())
      EXPECT_TRUE(text.find(cat("`", name, "`")) != std::string::npos ||
                  text.find(cat("`", name, " = ")) != std::string::npos)
          << path << " " << name;
  }
}

TEST(Keys, HavePathsAndFlagsOfTheirOwn) {
  std::set<std::string> paths, flags;
  for (const auto& key : keys()) {
    EXPECT_TRUE(paths.insert(key->path).second) << key->path;
    EXPECT_EQ(find_key(key->path), key.get());
    EXPECT_FALSE(key->words.meaning.empty()) << key->path;
    const std::string& flag = key->words.flag.name;
    EXPECT_TRUE(flag.empty() || flags.insert(flag).second) << flag;
  }
  EXPECT_EQ(find_key("limits"), nullptr);
  EXPECT_EQ(names_in("code"), std::vector<std::string>{"python"});
}

TEST(JsonSchema, EveryPresetFitsIt) {
  for (const std::string& name : preset_names()) {
    Result<std::string> text = read_file(cat(PADDOCK_SOURCE_DIR, "/presets/", name, ".toml"));
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(violation(parse_toml(text.value(), name).value()), "") << name;
  }
}

TEST(JsonSchema, EveryGoodPolicyFitsItAsWrittenAndWrittenAgain) {
  DecodeContext context;
  context.base_directory = "/work/project";
  context.home = "/home/agent";
  for (const Value& entry : test_cases("good.toml", "case")) {
    SCOPED_TRACE(text_of(entry, "name"));
    std::string text = text_of(entry, "policy");
    Result<Value> written = text[0] == '{' ? parse_json(text, "case") : parse_toml(text, "case");
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(violation(written.value()), "");
    EXPECT_EQ(violation(to_value(decode_text(text, "case.toml", context).value())), "");
  }
}

TEST(JsonSchema, AnUnknownKeyDoesNotFitIt) {
  for (const char* text :
       {"limit = {}", "[limits]\nmemroy = '1G'", "[code.python]\nimport = []",
        "[[tools]]\nname = 'a'\nrats = '1/s'", "[[tools]]\nname = 'a'\nrules = [{ prm = 'x' }]",
        "[[tools]]\nname = 'a'\nrun = ['x']\nsandbox = { audit = {} }",
        "[mcp.servers.a]\ncomand = ['x']", "[monitor.kill_if]\ncpus = '>1%'"})
    EXPECT_NE(violation(parse_toml(text, "case").value()), "") << text;
}

TEST(JsonSchema, AWrongTypeDoesNotFitIt) {
  for (const char* text :
       {"version = 2", "limits = 3", "[limits]\nwall_time = 30", "[files]\nread = '/opt'",
        "[files.workspace]\nmode = 'ro'", "[isolation]\nwall = 'brick'", "[network]\nstrict = 1"})
    EXPECT_NE(violation(parse_toml(text, "case").value()), "") << text;
}

}  // namespace paddock::policy
