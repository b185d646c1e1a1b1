#include "record/own_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "record/event_budget.h"
#include "record/log_location.h"
#include "record/server_program.h"
#include "redact/redact.h"
#include "store/state.h"

namespace paddock::record {

namespace {

constexpr int kSealMs = 10'000;

// Whoever sets anything in [audit] expects a record.
bool is_set(const AuditPolicy& audit) {
  return audit.path || audit.durable || audit.on_full || audit.rotate_bytes || audit.most_bytes ||
         audit.keep_ms;
}

bool exists(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

// The hint for a full disk names the setting that accepts gaps.
Error not_recorded(const Error& error) {
  return Error{error.code, cat("refused, since it could not be recorded: ", error.message),
               error.code == Code::exhausted
                   ? "make room, or let [audit] on_full = \"gap\" go on without a record"
                   : error.hint,
               Kind::unrecorded};
}

}  // namespace

OwnLog::OwnLog(const Policy& policy, audit::Sync sync)
    : audit_(policy.audit),
      durable_(sync == audit::Sync::disk),
      may_be_off_(policy.danger.count("audit.off") > 0) {}

Result<void> OwnLog::open() {
  if (log_) return {};
  if (audit_.path) {
    told_.path = *audit_.path;
  } else {
    told_.path = cat(TRY(store::state_path()), "/audit");
    std::string state = TRY(store::state_directory());
    Result<std::string> place = log_location(state);
    is_elsewhere_ = !place || place.value() != told_.path;
    if (!place) return place.error();
    told_.path = place.value();
  }
  log_.emplace(TRY(audit::Log::open(log_options())));
  return {};
}

audit::LogOptions OwnLog::log_options() const {
  audit::LogOptions options{.directory = told_.path};
  if (audit_.rotate_bytes) options.rotate_bytes = *audit_.rotate_bytes;
  if (audit_.most_bytes) options.most_bytes = *audit_.most_bytes;
  if (audit_.keep_ms) options.keep_ms = *audit_.keep_ms;
  return options;
}

Result<void> OwnLog::append(const std::vector<Event>& events) {
  TRY(open());
  TRY(log_->append(events,
                   audit_.durable.value_or(durable_) ? audit::Sync::disk : audit::Sync::none));
  if (!told_.first) told_.first = log_->appended().first;
  told_.last = log_->appended().last;
  return {};
}

// The events are not in the log, although what they describe happens or has happened.
void OwnLog::miss(const std::vector<Event>& events, const Error& error) {
  told_.why = error.message;
  if (log_) (void)log_->count_missing(events.size());
}

// A lack of room never counts as "there is no log": there will be room again, and then this record
// would be missing.
bool OwnLog::must_record(const Error& error) const {
  return is_set(audit_) || is_elsewhere_ || error.code == Code::exhausted ||
         (!told_.path.empty() && exists(told_.path));
}

Result<void> OwnLog::record(const std::vector<Event>& events) {
  Result<void> appended = append(events);
  if (appended) return {};
  const Error& error = appended.error();
  bool gap = error.code == Code::exhausted && audit_.on_full == AuditFull::gap;
  if (must_record(error) && !gap && !may_be_off_) return not_recorded(error);
  off_ = must_record(error) && !gap;
  miss(events, error);
  return {};
}

void OwnLog::note(const std::vector<Event>& events) {
  Result<void> appended = append(events);
  if (!appended) miss(events, appended.error());
}

void OwnLog::seal_if_full() {
  if (!log_ || !log_->is_full()) return;
  log_.reset();
  audit::LogOptions options = log_options();
  std::vector<std::string> words{"audit",    "seal",
                                 "--dir",    options.directory,
                                 "--rotate", std::to_string(options.rotate_bytes)};
  if (options.most_bytes)
    words.insert(words.end(), {"--max-size", std::to_string(options.most_bytes)});
  if (options.keep_ms) words.insert(words.end(), {"--keep", cat(options.keep_ms, "ms")});
  (void)run_server_program(words, "", kSealMs);  // the next who finds it full tries again
}

Result<void> record_act(const std::string& act, Value data, Event* recorded) {
  Cause cause = Cause::begin();
  Event event = cause.instant("admin");
  event.span = cause.child().span;
  event.verdict = "allow";
  Value all;
  all.set("act", act);
  all.set("user", static_cast<uint64_t>(::geteuid()));
  if (Value::Object* members = data.as_object())
    for (Value::Member& member : *members) all.set(member.first, std::move(member.second));
  event.data = redact::redacted(*redact::Rules::common(), all);
  shorten(event);
  OwnLog log{Policy{}, audit::Sync::disk};
  TRY(log.record({event}));
  log.seal_if_full();
  if (recorded) *recorded = std::move(event);
  return {};
}

void note_failure(const Event& recorded, const Error& why) {
  Event event = failure_of(recorded, why);
  event.data = redact::redacted(*redact::Rules::common(), event.data);
  shorten(event);
  OwnLog(Policy{}).note({event});
}

}  // namespace paddock::record
