// The audit log for a program that is not a server: it appends by itself, a few records at a time.
//
// May something happen without a record? Yes, with a note, where [audit] is silent and the state
// directory cannot be used. No, where [audit] is set, or a log exists and cannot be written. A full
// disk or log is handled as [audit] on_full says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/log.h"
#include "paddock/policy.h"
#include "paddock/sandbox.h"

namespace paddock::record {

class OwnLog {
 public:
  // `sync` is what counts where the policy is silent.
  explicit OwnLog(const Policy& policy, audit::Sync sync = audit::Sync::none);

  // To be called before the acts that the events describe. On error they must not happen.
  Result<void> record(const std::vector<Event>& events);
  // To be called afterwards. Events that cannot be written are counted; the next one that can be
  // written says how many.
  void note(const std::vector<Event>& events);
  // Has a full segment signed by the program that can do it, and waits for that.
  void seal_if_full();

  // Where the records are and why some are missing; `recorded` and `trace` are the caller's to fill
  // in.
  const RunAudit& told() const { return told_; }
  bool ran_unrecorded_by_danger() const { return off_; }  // [danger] audit.off was used

 private:
  Result<void> open();
  audit::LogOptions log_options() const;
  Result<void> append(const std::vector<Event>& events);
  void miss(const std::vector<Event>& events, const Error& error);
  bool must_record(const Error& error) const;

  AuditPolicy audit_;
  bool durable_ = false, may_be_off_ = false, off_ = false;
  bool is_elsewhere_ = false;  // a server keeps this log in another place (log_location.h)
  std::optional<audit::Log> log_;
  RunAudit told_;
};

// Records an administrative act of the user's own command before it happens:
// {"act":"image.rm","name":…}.
Result<void> record_act(const std::string& act, Value data, Event* recorded = nullptr);
// Records that the act did not happen after all.
void note_failure(const Event& recorded, const Error& why);

}  // namespace paddock::record
