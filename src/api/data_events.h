// What is done in sandboxes over HTTP, as it stands in the records (manager/operation_record.h).
#pragma once

#include <memory>
#include <string>

#include "api/routes.h"
#include "manager/operation_record.h"
#include "manager/output_redaction.h"

namespace paddock::api {

using manager::file_fields;
using manager::FileRedaction;
using manager::kill_process;
using manager::limit_that_ended;
using manager::note_redactions;
using manager::outcome_of;
using manager::OutputRedaction;
using manager::put_counts;
using manager::Recorded;
using manager::signal_fields;

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

// Why something could not be recorded, with a code of Connect-RPC.
Error unrecorded_rpc(const Error& error);

}  // namespace paddock::api
