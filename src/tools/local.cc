#include "tools/local.h"

#include "base/fd.h"
#include "base/text.h"
#include "policy/load.h"
#include "run/secrets.h"
#include "store/load_context.h"
#include "store/state.h"

namespace paddock::tools {

namespace {

// How long the end waits for traces to be sent, in milliseconds.
constexpr io::Milliseconds kTracesTime = 1'000;

// Without a record there are no calls, unless the policy accepts that.
Result<std::unique_ptr<record::Events>> open_events(io::Loop& loop, const Policy& policy,
                                                    const std::string& state) {
  record::EventsOptions options{.state_directory = state,
                                .audit = policy.audit,
                                .telemetry = policy.telemetry,
                                .beside = true};
  for (auto& [name, value] : options.telemetry.headers)
    value = TRY(runs::read_secret(value, cat("telemetry.headers.", name)));
  Result<std::unique_ptr<record::Events>> events = record::Events::start(loop, options);
  if (!events && policy.danger.count("audit.off")) return std::unique_ptr<record::Events>();
  return events;
}

}  // namespace

// Whoever runs this process may do everything that the policy allows.
Result<std::unique_ptr<LocalTools>> LocalTools::open(io::Loop& loop, LocalOptions options) {
  std::unique_ptr<LocalTools> local(new LocalTools);
  local->caller_.tenant = "local";
  local->caller_.scopes = {"admin"};
  local->caller_.agent = options.agent;
  if (!options.traceparent.empty())
    local->caller_.cause = Cause::from_traceparent(options.traceparent);
  Policy policy = TRY(policy::load(options.policies, {}, store::load_context())).policy;
  std::string state = TRY(store::state_directory());
  local->events_ = TRY(open_events(loop, policy, state));
  ToolboxOptions toolbox{.policy = std::move(policy),
                         .state_directory = state,
                         .events = local->events_.get(),
                         .only = options.only,
                         .on_line = options.on_line};
  local->toolbox_ = TRY(Toolbox::create(loop, std::move(toolbox)));
  return local;
}

std::shared_ptr<mcp::DirectContext> LocalTools::new_context() const {
  return direct_context(make_principal(caller_));
}

io::Task<Called> LocalTools::call(std::string tool, Value arguments, bool dry_run,
                                  std::shared_ptr<mcp::DirectContext> context) {
  co_await toolbox_->start_for(tool);
  Desk::Request request{.tool = tool,
                        .arguments = std::move(arguments),
                        .caller = make_principal(caller_),
                        .dry_run = dry_run};
  Called called = co_await toolbox_->desk().call(std::move(request), context);
  co_return called;
}

io::Task<void> LocalTools::close() {
  co_await toolbox_->stop();
  if (events_) co_await events_->drain(kTracesTime);
}

}  // namespace paddock::tools
