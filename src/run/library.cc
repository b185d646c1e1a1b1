// paddock::run, the public entry to prepare and run.
#include "base/text.h"
#include "paddock/paddock.h"
#include "policy/load.h"
#include "run/run.h"
#include "store/load_context.h"

namespace paddock {

Result<RunResult> run(const Command& command, const Policy& policy, const RunOptions& options) {
  Policy call = policy;
  if (call.name.empty()) call.name = "the call";
  policy::Combined combined = TRY(policy::load(options.policies, call, store::load_context()));
  runs::RunRecordOptions record{.agent = options.agent,
                                .traceparent = options.traceparent,
                                .policies = join(options.policies, " ")};
  TRY(runs::find_collector(combined.policy, record));
  Result<runs::Prepared> prepared = runs::prepare(command, combined.policy, {});
  if (!prepared)
    return runs::record_refusal(command, combined.policy, record, std::move(prepared.error()));
  return runs::run(std::move(prepared).value(), {.capture = true,
                                                 .report = options.report,
                                                 .discard = options.discard,
                                                 .record = std::move(record),
                                                 .notes = combined.notes});
}

}  // namespace paddock
