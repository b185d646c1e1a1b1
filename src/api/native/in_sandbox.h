// How handlers act in a running sandbox: how they enter it, record what they are about to do there,
// and ask its guest.
#pragma once

#include <memory>
#include <string>

#include "api/http/call.h"
#include "manager/operation_record.h"
#include "manager/output_redaction.h"
#include "manager/running_sandbox.h"

namespace paddock::api {

using manager::cancel_with;
using manager::file_fields;
using manager::FileRedaction;
using manager::from_guest;
using manager::kill_process;
using manager::limit_that_ended;
using manager::note_redactions;
using manager::outcome_of;
using manager::OutputRedaction;
using manager::put_counts;
using manager::Recorded;
using manager::RunningSandbox;
using manager::signal_fields;
using manager::without_secrets;

// The sandbox named in the path, awake.
io::Task<Result<RunningSandbox>> enter(Call& call);

// Why a channel gave something else than was asked for.
Error unexpected(const guest::Channel::Item& item);

// Asks the guest one thing and answers with what it says (an empty result: 204).
struct AskOptions {
  // It changes files: the name of the act, for the record that is made before.
  const char* writes = nullptr;
  bool signals = false;  // it sends a signal: recorded before as well
  bool redacts = false;  // the texts of the answer are what programs were given
  // They are names of files: redacted where files are (below).
  bool names = false;
};
io::Task<Result<Reply>> answer_from_guest(Call& call, Value request, AskOptions options = {});

// Goes on once "a file is about to be written" is on the disk. `act`: upload, unpack, mkdir, move,
// remove, compose.
io::Task<Result<void>> record_write(Call& call, std::shared_ptr<manager::Sandbox> sandbox,
                                    const char* act, Value data);
// "A signal is about to be sent", "a context is about to be made, restarted or removed": as
// record_write.
io::Task<Result<void>> record_doing(Call& call, std::shared_ptr<manager::Sandbox> sandbox,
                                    const char* kind, Value data);
// Of input only how much there was; `process` is the guest's request that names one. Merged: one
// event a second and process.
void note_input(const Call& call, const manager::Sandbox& sandbox, const Value& process,
                size_t bytes, bool closed = false);
void note_read(const Call& call, const manager::Sandbox& sandbox, Value data,
               const redact::Counts& counts);
// Whether what is read of the sandbox's files, and their names, passes its redaction: the policy's
// [redact] files, or ?redact=1. Not by itself: a file that is shown under another name is not found
// by it.
bool redacts_files(const Call& call, const manager::Sandbox& sandbox);
Value shown_names(const Call& call, const manager::Sandbox& sandbox, Value names);

}  // namespace paddock::api
