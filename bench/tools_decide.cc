// What it costs to judge a tool call: schema and rules alone, with rates, and the whole desk with a
// tool that does nothing.
//
//   tools_decide DIRECTORY ROUNDS → JSON on stdout. All kinds take turns in every round.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/text.h"
#include "policy/load.h"
#include "policy/tools/tool.h"
#include "tools/call_context.h"
#include "tools/decide/desk.h"
#include "tools/decide/rates.h"

using namespace paddock;

namespace {

constexpr size_t kBatch = 1000;

// As in the contract, but for the rate, which is never reached here.
constexpr const char* kPolicy = R"(
[calls]
rate = "100000000/minute"

[[tools]]
name = "send_email"
rate = "100000000/minute"
schema = { type = "object", required = ["to"], properties = { to = { type = "string" }, subject = { type = "string", maxLength = 200 }, body = { type = "string" } } }
rules = [ { param = "to", ends_with = "@company.com", why = "only inside the company" } ]

[[tools]]
name = "delete_file"
rules = [ { param = "path", not_starts_with = "/system/", why = "system files stay" } ]
)";

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "tools_decide: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  return std::move(result).value();
}

double now_us() {
  timespec time;
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

class Nothing : public tools::Provider {
 public:
  Nothing() {
    for (const char* name : {"send_email", "delete_file"}) {
      tools::ToolInfo info;
      info.name = name;
      info.input_schema = Value::Object{{"type", "object"}};
      tools_.push_back(std::move(info));
    }
  }
  const std::vector<tools::ToolInfo>& tools() const override { return tools_; }
  io::Task<mcp::Answer> call(tools::ToolCall, std::shared_ptr<tools::CallContext>) override {
    co_return mcp::Answer::done(tools::text_result("done"));
  }

 private:
  std::vector<tools::ToolInfo> tools_;
};

struct CallKind {
  const char* name;
  const char* tool;
  Value arguments;
  bool is_allowed;
};

io::Task<void> measure_desk(io::Loop& loop, tools::Desk& desk, const CallKind& kind,
                            std::vector<double>& times, size_t count) {
  auto caller = std::make_shared<tools::CallerPrincipal>();
  caller->id = "bench";
  for (size_t i = 0; i < count; ++i) {
    tools::Desk::Request request{.tool = kind.tool, .arguments = kind.arguments, .caller = caller};
    std::shared_ptr<mcp::Context> context =
        std::make_shared<mcp::DirectContext>("tools/call", Value(Value::Object{}), caller);
    double begin = now_us();
    tools::Called called = co_await desk.call(std::move(request), context);
    times.push_back(now_us() - begin);
    bool is_allowed = called.decision.kind == policy::Decision::Kind::allow;
    if (is_allowed != kind.is_allowed) std::abort();
  }
  loop.stop();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::string directory = argv[1];
  int rounds = std::atoi(argv[2]);
  policy::LoadContext context{
      .paths = {"/", "/"}, .read = [](const std::string&) { return Result<std::string>(kPolicy); }};
  Policy policy = must(policy::load({"/bench.toml"}, {}, context)).policy;
  policy::Tools tools = must(policy::Tools::compile(policy));
  std::unique_ptr<tools::Rates> rates = must(tools::Rates::open(directory));
  io::Loop& loop = *must(io::Loop::create());
  std::shared_ptr<tools::Desk> desk =
      must(tools::Desk::open(loop, {.policy = policy, .state_directory = directory}));
  Nothing nothing;
  if (Result<void> added = desk->add(nothing); !added) (void)must(Result<int>(added.error()));

  const CallKind kinds[] = {
      {"allowed", "send_email",
       Value::Object{{"to", "a@company.com"}, {"subject", "hello"}, {"body", "how are you"}}, true},
      {"denied", "send_email", Value::Object{{"to", "a@evil.example"}, {"subject", "hello"}},
       false},
      {"allowed_path", "delete_file", Value::Object{{"path", "/home/a/notes"}}, true},
  };
  std::map<std::string, std::vector<double>> times;
  for (int round = 0; round < rounds; ++round)
    for (const CallKind& kind : kinds) {
      const policy::Tool* tool = tools.find(kind.tool);
      std::vector<double>& decide = times[cat("decide_", kind.name)];
      std::vector<double>& with_rates = times[cat("with_rates_", kind.name)];
      std::vector<tools::Rates::Want> wants{
          {cat("tool ", kind.tool), {100'000'000, 60'000, 0, ""}, "rate"},
          {"calls", {100'000'000, 60'000, 0, ""}, "calls.rate"}};
      for (size_t i = 0; i < kBatch; ++i) {
        double begin = now_us();
        bool is_allowed = tool->decide(kind.arguments).kind == policy::Decision::Kind::allow;
        decide.push_back(now_us() - begin);
        if (is_allowed != kind.is_allowed) std::abort();
      }
      for (size_t i = 0; i < kBatch; ++i) {
        double begin = now_us();
        bool is_allowed = tool->decide(kind.arguments).kind == policy::Decision::Kind::allow;
        if (is_allowed) (void)must(rates->take(wants));
        with_rates.push_back(now_us() - begin);
      }
      io::spawn(measure_desk(loop, *desk, kind, times[cat("desk_", kind.name)], kBatch));
      loop.run();
    }
  Value all;
  for (auto& [name, each] : times) {
    std::sort(each.begin(), each.end());
    double sum = 0;
    for (double time : each) sum += time;
    Value figures;
    figures.set("per_second", 1e6 * static_cast<double>(each.size()) / sum);
    figures.set("p50_us", each[each.size() / 2]);
    figures.set("p99_us", each[each.size() * 99 / 100]);
    all.set(name, std::move(figures));
  }
  std::printf("%s\n", to_json(all).c_str());
}
