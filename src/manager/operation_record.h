// Records what is done in sandboxes: before it is done, and when it has ended. For the API and for
// tools.
#pragma once

#include <memory>
#include <string>

#include "guest/client.h"
#include "manager/running_sandbox.h"
#include "redact/redact.h"

namespace paddock::manager {

// Goes on once "a signal is about to be sent", "a context is about to be made, restarted or
// removed" (`kind`) is on the disk. The error arm: it must not be done. When it then fails,
// Manager::note_failure tells of that.
io::Task<Result<Event>> record_doing(Manager& manager, Caller caller,
                                     std::shared_ptr<Sandbox> sandbox, std::string kind,
                                     Value data);
// The same for "a file is about to be written". `act`: upload, unpack, mkdir, move, remove,
// compose.
io::Task<Result<Event>> record_write(Manager& manager, Caller caller,
                                     std::shared_ptr<Sandbox> sandbox, std::string act, Value data);
Value file_fields(const Value& request);    // what a request to the guest says of files
Value signal_fields(const Value& request);  // and of a signal

// Only the amount of input is recorded. `process` is the guest's request that names one. One event
// per second and process.
struct InputGiven {
  const Value& process;
  size_t bytes = 0;
  bool closed = false;
};
void note_input(Manager& manager, const Caller& caller, const Sandbox& sandbox,
                const InputGiven& input);
void note_read(Manager& manager, const Caller& caller, const Sandbox& sandbox, Value data,
               const redact::Counts& counts);
// Whether what is read of the sandbox's files, and their names, passes its redaction by the
// policy's word ([redact] files).
bool redacts_files(const Sandbox& sandbox);

// How many secrets were taken out of what came back, if any.
void note_redactions(Manager& manager, const Event& about, const redact::Counts& counts);

// A command of a sandbox, or a cell: from before it starts until it has ended.
class Recorded {
 public:
  Recorded(Manager& manager, Caller caller, std::shared_ptr<Sandbox> sandbox);
  Recorded(Recorded&&) = delete;
  ~Recorded();  // a command that still runs is followed to its end

  // An error: it must not start. `via`: by which way it was asked for.
  io::Task<Result<void>> start_command(Value request, const char* via);
  io::Task<Result<void>> start_code(std::string code, std::string language, std::string context);

  void runs_as(std::shared_ptr<guest::Client> guest, int64_t pid, int64_t timeout_ms);
  void count(uint8_t stream, size_t bytes);               // what it wrote
  void end(Value outcome, const redact::Counts& counts);  // once; what follows is not heard
  void not_started(const Error& why);
  bool is_open() const { return !start_.kind.empty(); }  // started, and not ended

 private:
  Event begin(const char* kind) const;
  Event ending() const;
  io::Task<Result<void>> record(Event event);

  Manager& manager_;
  std::shared_ptr<Sandbox> sandbox_;
  Caller caller_;
  Event start_;  // without its data; an empty kind: nothing is to be ended
  std::shared_ptr<guest::Client> guest_;
  int64_t pid_ = 0, timeout_ms_ = 0;
  uint64_t stdout_bytes_ = 0, stderr_bytes_ = 0;
};

}  // namespace paddock::manager
