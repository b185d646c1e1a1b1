#include "policy/decode.h"

#include "policy/explain.h"
#include "policy/intersect.h"
#include "policy/test_cases.h"

namespace paddock::policy {

namespace {

DecodeContext context() {
  DecodeContext context;
  context.base_directory = "/work/project";
  context.home = "/home/agent";
  return context;
}

}  // namespace

TEST(Decode, RefusesEveryBadPolicyWithItsLine) {
  for (const Value& entry : test_cases("bad.toml", "case")) {
    SCOPED_TRACE(text_of(entry, "name"));
    Result<Policy> policy = decode_text(text_of(entry, "policy"), "case.toml", context());
    ASSERT_FALSE(policy);
    const Error& error = policy.error();
    EXPECT_EQ(error.code, Code::invalid);
    EXPECT_TRUE(starts_with(error.message, cat("case.toml:", *entry.find("line")->as_int(), ": ")))
        << error.message;
    EXPECT_NE(error.message.find(text_of(entry, "message")), std::string::npos) << error.message;
    EXPECT_NE(error.hint.find(text_of(entry, "hint")), std::string::npos) << error.hint;
  }
}

TEST(Decode, ReadsEveryGoodPolicyAndWritesItBack) {
  for (const Value& entry : test_cases("good.toml", "case")) {
    SCOPED_TRACE(text_of(entry, "name"));
    Result<Policy> policy = decode_text(text_of(entry, "policy"), "case.toml", context());
    ASSERT_TRUE(policy) << policy.error().message;
    Value value = to_value(policy.value());
    expect_keys(value, entry.find("expect"));

    Result<Policy> again = decode(value, "again", {});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(to_json(to_value(again.value())), to_json(value));
    Result<Policy> from_json = decode_text(to_json(value, true), "again.json", {});
    ASSERT_TRUE(from_json) << from_json.error().message;
    EXPECT_EQ(to_json(to_value(from_json.value())), to_json(value));
  }
}

TEST(Decode, TheManualsExamplesArePoliciesThatHold) {
  std::string manual = read_file(cat(PADDOCK_SOURCE_DIR, "/docs/policy.md")).value();
  for (const char* heading :
       {"[network]", "[monitor]", "[calls]", "[[tools]]", "[mcp.servers.files]"}) {
    SCOPED_TRACE(heading);
    size_t start = manual.find(cat("```toml\n", heading));
    ASSERT_NE(start, std::string::npos);
    start += std::string_view("```toml\n").size();
    Result<Policy> policy = decode_text(manual.substr(start, manual.find("```", start) - start),
                                        "policy.md", context());
    ASSERT_TRUE(policy) << policy.error().message;
    Result<Combined> combined = combine({{policy.value()}}, {}, {});
    EXPECT_TRUE(combined) << combined.error().message;
  }
}

TEST(Decode, TheManualNamesEveryMetricAndEveryDanger) {
  std::string manual = read_file(cat(PADDOCK_SOURCE_DIR, "/docs/policy.md")).value();
  for (const MonitorMetricInfo& metric : kMonitorMetrics)
    EXPECT_NE(manual.find(cat("`", metric.name, "`")), std::string::npos) << metric.name;
  for (const DangerInfo& danger : kDangers)
    EXPECT_NE(manual.find(cat("| `", danger.name, "` | ")), std::string::npos) << danger.name;
}

TEST(Decode, ToldByNameOrByBraceReadsJson) {
  EXPECT_TRUE(decode_text("\n {\"version\": 1}", "policy", context()));
  EXPECT_TRUE(decode_text("{}", "policy.json", context()));
  EXPECT_FALSE(decode_text("version = 1", "policy.json", context()));
}

TEST(Decode, NeedsATableAtTheTop) {
  Result<Policy> policy = decode_text("[]", "policy.json", context());
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().message, "policy.json:1: must be a table, not a list");
}

TEST(Decode, LeavesOutTheLineWhereThereIsNone) {
  Value limits, root;
  limits.set("pids", 0);
  root.set("limits", std::move(limits));
  Result<Policy> policy = decode(root, "request", context());
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().message, "request: limits.pids: must be above zero");
}

TEST(Decode, AToolIsTheSameHoweverItIsWritten) {
  Result<Policy> toml =
      decode_text("[[tools]]\nrate = \"1/day\"\nname = \"mail\"\n", "a.toml", context());
  Result<Policy> json =
      decode_text(R"({"tools": [{"name": "mail", "rate": "1/day"}]})", "b.json", context());
  ASSERT_TRUE(toml);
  ASSERT_TRUE(json);
  EXPECT_EQ(toml.value().tools->at(0).json, json.value().tools->at(0).json);
}

TEST(Decode, RefusesAToolThatIsNestedTooDeeply) {
  std::string schema = std::string(40, '[') + std::string(40, ']');
  Result<Policy> policy = decode_text(
      cat(R"({"tools":[{"name":"t","schema":{"enum":)", schema, "}}]}"), "a.json", context());
  ASSERT_FALSE(policy);
  EXPECT_NE(policy.error().message.find("nested too deeply"), std::string::npos)
      << policy.error().message;
}

}  // namespace paddock::policy
