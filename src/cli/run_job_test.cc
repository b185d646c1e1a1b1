#include "cli/run_job.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/load.h"
#include "policy/presets.h"

namespace paddock::cli {

namespace {

// A job as tools/sandboxed.cc writes it, read by the other side.
struct Sent {
  explicit Sent(const std::string& line) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours = Fd(ends[0]);
    job = std::make_unique<Job>(std::to_string(ends[1]));
    EXPECT_TRUE(write_all(ours.get(), line));
  }
  Fd ours;
  std::unique_ptr<Job> job;
};

std::string job_with(const Value& policy) {
  Value job;
  job.set("argv", text_list({"cat", "-n"}));
  job.set("policy", policy);
  job.set("env", Value::Object{{"A", "1"}});
  job.set("secrets", Value::Object{{"KEY", "open-sesame-1"}});
  job.set("agent", "tester");
  job.set("traceparent", "");
  job.set("name", "a policy");
  job.set("raw", true);
  return to_json(job) + "\n";
}

TEST(RunJob, ThePolicyIsTheOneThatWasGiven) {
  policy::LoadContext context{
      .paths = {"/", "/root"}, .read = [](const std::string&) -> Result<std::string> {
        return std::string(
            "[limits]\nmemory = \"99M\"\n[files]\nread = [\"/opt/models\"]\ndeny = "
            "[\"**/.env\"]\n[network]\nallow = [\"example.com\", \"*\"]\n"
            "inject = [{host = \"example.com\", header = \"X-Key\", secret = "
            "\"sesame-2\"}]\n[monitor]\nkill_if = { cpu = \">80% for 10s\" }\n"
            "[redact]\ncustom = [{ name = \"employee\", pattern = \"EMP-[0-9]{6}\" }]\n[env]\nset "
            "= { LANG = \"C\" }\npass = [\"TERM\"]\n[danger]\nallow = [\"network.wide\"]\n");
      }};
  std::vector<std::vector<std::string>> all{{"/file.toml"}, {}};
  for (const std::string& name : policy::preset_names()) all.push_back({name});
  for (const std::vector<std::string>& names : all) {
    SCOPED_TRACE(names.empty() ? "none" : names[0]);
    Result<policy::Combined> combined = policy::load(names, {}, context);
    ASSERT_TRUE(combined) << combined.error().message;
    Policy given = combined.value().policy;
    given.tools.reset(), given.calls.reset(), given.mcp_servers.reset();
    Sent sent(job_with(policy::to_value(given, policy::Secrets::kept)));
    Result<void> read = sent.job->read();
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(policy::canonical(sent.job->policy), policy::canonical(given));
    EXPECT_EQ(to_json(policy::to_value(sent.job->policy, policy::Secrets::kept)),
              to_json(policy::to_value(given, policy::Secrets::kept)));
  }
}

TEST(RunJob, IsReadWhole) {
  Sent sent(job_with(Value(Value::Object{})));
  ASSERT_TRUE(sent.job->read());
  EXPECT_EQ(sent.job->command.argv, (std::vector<std::string>{"cat", "-n"}));
  EXPECT_EQ(sent.job->command.secrets.at("KEY"), "open-sesame-1");
  EXPECT_EQ(sent.job->record.agent, "tester");
  EXPECT_TRUE(sent.job->raw);
}

TEST(RunJob, FailuresAreToldWithoutSecrets) {
  Sent sent(job_with(Value(Value::Object{})));
  ASSERT_TRUE(sent.job->read());
  EXPECT_EQ(sent.job->failed({Code::denied, "no open-sesame-1 here", "a hint"}), 125);
  char text[1000];
  ssize_t size = ::read(sent.ours.get(), text, sizeof text);
  EXPECT_EQ(std::string(text, static_cast<size_t>(size)),
            "{\"error\":{\"code\":\"denied\",\"message\":\"no [redacted:KEY] here\",\"hint\":\"a "
            "hint\"}}\n");
}

TEST(RunJob, RefusesWhatIsNone) {
  for (const char* line :
       {"{}\n", "[]\n", "x\n", "{\"argv\":[1]}\n", "{\"argv\":[\"a\"],\"env\":{\"A\":1}}\n"})
    EXPECT_FALSE(Sent(line).job->read()) << line;
  EXPECT_FALSE(Job("x").read());
  EXPECT_FALSE(Job("999").read());
  Sent gone("{");
  gone.ours.reset();
  EXPECT_FALSE(gone.job->read());
}

}  // namespace

}  // namespace paddock::cli
