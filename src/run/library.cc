// paddock::run: the public door to prepare and run.
#include <limits.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "paddock/paddock.h"
#include "policy/load.h"
#include "run/run.h"
#include "store/state.h"

namespace paddock {

namespace {

policy::LoadContext load_context() {
  char path[PATH_MAX];
  const char* directory = ::getcwd(path, sizeof path) ? path : "/";
  return {{directory, store::home_directory()},
          [](const std::string& file) { return read_file(file); }};
}

}  // namespace

Result<RunResult> run(const Command& command, const Policy& policy, const RunOptions& options) {
  Policy call = policy;
  if (call.name.empty()) call.name = "the call";
  policy::Combined combined = TRY(policy::load(options.policies, call, load_context()));
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
