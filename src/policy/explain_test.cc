#include "policy/explain.h"

#include "policy/decode.h"
#include "policy/presets.h"
#include "policy/test_cases.h"

namespace paddock::policy {

TEST(Explain, NamesEveryLimitAndWhatAnUnsetOneMeans) {
  std::string text = explain(preset("default").value());
  for (const LimitInfo& limit : kLimits)
    EXPECT_NE(text.find(cat("\n  ", limit.name, " ")), std::string::npos) << limit.name;
  EXPECT_NE(text.find("512M: memory of the whole sandbox"), std::string::npos) << text;
  EXPECT_NE(text.find("not set: every CPU, shared fairly with others"), std::string::npos) << text;
  EXPECT_NE(text.find("no host can be reached"), std::string::npos) << text;
  EXPECT_NE(text.find("no weakening is accepted"), std::string::npos) << text;
}

TEST(Explain, SaysWhatTheNetworkMayDo) {
  Policy policy;
  policy.network.allow = {"api.example.com:443"};
  policy.network.inject = {{.host = "api.example.com",
                            .header = "Authorization",
                            .secret = "env:API_KEY",
                            .format = "Bearer {}"}};
  std::string text = explain(policy);
  EXPECT_NE(text.find("api.example.com gets 'Authorization: Bearer {}', where {} is env:API_KEY"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("resolvers        the host's own"), std::string::npos) << text;
  EXPECT_NE(text.find("strict           not set: to an allowed host"), std::string::npos) << text;
  policy.network.strict = true;
  policy.network.resolvers = {"9.9.9.9", "10.0.0.2:5353"};
  text = explain(policy);
  EXPECT_NE(text.find("strict           TLS must show the name it is for"), std::string::npos)
      << text;
  EXPECT_NE(text.find("resolvers        9.9.9.9, 10.0.0.2:5353"), std::string::npos) << text;
}

TEST(Explain, SaysWhatIsWatched) {
  Result<Policy> policy = decode_text(R"(
limits = { memory = "1G" }
monitor = { every = "2s", warn_if = { memory = ">=90%" }, pause_if = { net = ">5M" }, kill_if = { cpu = ">80% for 10s" } }
redact = { custom = [{ name = "employee", pattern = 'EMP-\d{6}' }], files = true }
audit = { on_full = "gap", keep = "90d", rotate = "1M", max_size = "1G" }
telemetry = { endpoint = "http://127.0.0.1:4318", headers = { Authorization = "env:TOKEN" } }
)",
                                      "a.toml", {});
  ASSERT_TRUE(policy) << policy.error().message;
  std::string text = explain(policy.value());
  for (const char* line :
       {"every            2s",
        "warn_if          says so when memory is at or above 90% of limits.memory",
        "pause_if         pauses the sandbox when net is above 5M/s",
        "kill_if          ends the sandbox when cpu is above 80% of one core for 10s",
        "custom           employee: EMP-", "files            what is read over the API, too",
        "on_full          without room for a record it goes on",
        "keep             90d: what is older goes", "endpoint         http://127.0.0.1:4318",
        "headers          Authorization=env:TOKEN"})
    EXPECT_NE(text.find(cat("\n  ", line)), std::string::npos) << line << "\n" << text;
}

TEST(Explain, SaysWhatAnAcceptedDangerMeans) {
  Policy policy;
  policy.danger = {"files.sockets"};
  EXPECT_NE(explain(policy).find("accepted: granting a path that holds a control socket"),
            std::string::npos);
}

TEST(Explain, DoesNotPassOnEscapeSequences) {
  Policy policy;
  policy.name = "a\x1b[2J";
  policy.files.read = {{"/x\x1b[31m\n"}};
  policy.env.set["A"] = "\x1b]0;title\x07";
  EXPECT_EQ(explain(policy).find('\x1b'), std::string::npos);
}

TEST(ToValue, KeepsAValueThatHasNoShortForm) {
  Policy policy;
  policy.limits[LimitKind::memory] = (1ull << 30) + 1;
  policy.limits[LimitKind::cpu] = 123;
  policy.limits[LimitKind::wall_time] = 61'001;
  policy.limits[LimitKind::net_up_rate] = 1'000'001;
  Result<Policy> again = decode(to_value(policy), "again", {});
  ASSERT_TRUE(again) << again.error().message;
  for (const LimitInfo& limit : kLimits)
    EXPECT_EQ(again.value().limits[limit.kind], policy.limits[limit.kind]) << limit.name;
}

TEST(ToToml, IsAPolicyFileAgain) {
  for (const Value& entry : test_cases("good.toml", "case")) {
    SCOPED_TRACE(text_of(entry, "name"));
    DecodeContext context;
    context.base_directory = "/work/project";
    context.home = "/home/agent";
    Policy policy = decode_text(text_of(entry, "policy"), "case.toml", context).value();
    std::string toml = to_toml(policy);
    if (toml.find("null") != std::string::npos) continue;  // a schema's null has no form in TOML
    Result<Policy> again = decode_text(toml, "again.toml", {});
    ASSERT_TRUE(again) << again.error().message << "\n" << toml;
    EXPECT_EQ(to_json(to_value(again.value())), to_json(to_value(policy)));
  }
}

}  // namespace paddock::policy
