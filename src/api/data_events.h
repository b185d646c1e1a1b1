// What is done in sandboxes over HTTP, as it stands in the records: told before it is done, and when it has ended.
#pragma once

#include <memory>
#include <string>

#include "api/routes.h"
#include "guest/client.h"
#include "redact/redact.h"

namespace paddock::api {

// Goes on once "a file is about to be written" is on the disk. `act`: upload, unpack, mkdir, move, remove, compose.
io::Task<Result<void>> record_write(Call& call, std::shared_ptr<manager::Sandbox> sandbox, const char* act, Value data);
Value file_fields(const Value& request);    // what a request to the guest says of files
Value signal_fields(const Value& request);  // and of a signal
// "A signal is about to be sent", "a context is about to be made, restarted or removed": as record_write.
io::Task<Result<void>> record_doing(Call& call, std::shared_ptr<manager::Sandbox> sandbox, const char* kind, Value data);
// Of input only how much there was; `process` is the guest's request that names one. Merged: one event a second and process.
void note_input(const Call& call, const manager::Sandbox& sandbox, const Value& process, size_t bytes, bool closed = false);
void note_read(const Call& call, const manager::Sandbox& sandbox, Value data, const redact::Counts& counts);
// Whether what is read of the sandbox's files, and their names, passes its redaction: the policy's [redact] files, or ?redact=1. Not by
// itself: a file that is shown under another name is not found by it.
bool redacts_files(const Call& call, const manager::Sandbox& sandbox);
Value shown_names(const Call& call, const manager::Sandbox& sandbox, Value names);

// How many secrets were taken out of what came back, if any.
void note_redactions(manager::Manager& manager, const Event& about, const redact::Counts& counts);

Error unrecorded_rpc(const Error& error);  // why something could not be recorded, with a code of Connect-RPC

// A command of a sandbox, or a cell: from before it starts until it has ended.
class Recorded {
 public:
  Recorded(const Call& call, std::shared_ptr<manager::Sandbox> sandbox);
  Recorded(Recorded&&) = delete;
  ~Recorded();  // a command that still runs is followed to its end

  // An error: it must not start. `via`: by which way it was asked for.
  io::Task<Result<void>> start_command(Value request, const char* via);
  io::Task<Result<void>> start_code(std::string code, std::string language, std::string context);

  void runs_as(std::shared_ptr<guest::Client> guest, int64_t pid, int64_t timeout_ms);
  void count(uint8_t stream, size_t bytes);                // what it wrote
  void end(Value outcome, const redact::Counts& counts);   // once; what follows is not heard
  void not_started(const Error& why);
  bool is_open() const { return !start_.kind.empty(); }    // started, and not ended

 private:
  Event begin(const char* kind) const;
  Event ending() const;
  io::Task<Result<void>> record(Event event);

  manager::Manager& manager_;
  std::shared_ptr<manager::Sandbox> sandbox_;
  manager::Caller caller_;
  Event start_;  // without its data; an empty kind: nothing is to be ended
  std::shared_ptr<guest::Client> guest_;
  int64_t pid_ = 0, timeout_ms_ = 0;
  uint64_t stdout_bytes_ = 0, stderr_bytes_ = 0;
};

}  // namespace paddock::api
