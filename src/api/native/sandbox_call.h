// A request for something inside a running sandbox, by the native API or by envd: how it enters the
// sandbox, records what it is about to do there, and asks the guest.
//
//   CO_TRY(SandboxCall inside, co_await enter(call));
//   Value request = guest::to_value(guest::RemoveRequest{.path = path, .user = inside.user});
//   Value fields = file_fields(request);
//   CO_TRY_VOID(co_await record_write(inside, "remove", std::move(fields)));
//   CO_TRY(Value answer, co_await ask_guest(inside, request));
#pragma once

#include <memory>
#include <string>

#include "api/http/call.h"
#include "guest/protocol.h"
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

// The sandbox, its guest, and the request that acts there.
struct SandboxCall : RunningSandbox {
  Call& call;
  std::string user;  // the user inside; empty: the sandbox's default user
  // Whose words errors are told in: e2b is envd.
  Plane plane = Plane::native;

  Exchange& exchange() const { return call.exchange; }
  io::Loop& loop() const { return call.manager.loop(); }
  bool is_envd() const { return plane == Plane::e2b; }
};

// The sandbox that the path names, awake, and the user that the query names.
io::Task<Result<SandboxCall>> enter(Call& call);

// A channel to the guest that lives as long as the request it belongs to: cancelled when the client
// goes, and when the sandbox does (killed, paused, expired). An answer of envd that has begun is
// cut then, as E2B's clients expect of a sandbox that is gone.
class GuestChannel {
 public:
  using Item = guest::Channel::Item;
  // not_watched: reading the request's body tells when the client is gone, or it does not matter.
  enum class Client : uint8_t { watched, not_watched };
  GuestChannel(const SandboxCall& inside, std::shared_ptr<guest::Channel> channel,
               Client client = Client::watched);
  GuestChannel(const SandboxCall& inside, const Value& request, Client client = Client::watched)
      : GuestChannel(inside, inside.guest->open(request), client) {}
  ~GuestChannel();
  GuestChannel(GuestChannel&&) = delete;

  guest::Channel* operator->() const { return channel_.get(); }
  bool sandbox_is_gone() const { return state_->gone; }
  // Why it gave something else than was asked for, in the words of the API.
  Error error(const Item& item) const;
  // The result of the operation, past all that comes before it.
  io::Task<Result<Value>> result(io::Milliseconds deadline = io::Wait::kForever);

 private:
  struct State {
    Exchange* exchange;
    std::weak_ptr<guest::Channel> channel;
    bool gone = false;
  };
  const SandboxCall& inside_;
  std::shared_ptr<guest::Channel> channel_;
  std::shared_ptr<State> state_;
  std::shared_ptr<void> watch_;
};

// Asks the guest one thing that has no data.
io::Task<Result<Value>> ask_guest(const SandboxCall& inside, Value request);

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
// remove, compose; `fields`: what the guest's request says of files.
io::Task<Result<void>> record_write(const SandboxCall& inside, const char* act, Value fields);
// "A signal is about to be sent", by the guest's request.
io::Task<Result<void>> record_signal(const SandboxCall& inside, const Value& request);
// The same for what `kind` and `data` say.
io::Task<Result<void>> record_doing(const SandboxCall& inside, const char* kind, Value data);
// Of input only how much there was; `process` is the guest's request that names one. Merged: one
// event a second and process.
void note_input(const SandboxCall& inside, const Value& process, size_t bytes, bool closed = false);
void note_read(const SandboxCall& inside, Value data, const redact::Counts& counts);

// Whether what is read of the sandbox's files, and their names, passes its redaction: the policy's
// [redact] files, or ?redact=1. Not by itself: a file that is shown under another name is not found
// by it.
bool redacts_files(const SandboxCall& inside);
Value shown_names(const SandboxCall& inside, Value names);

}  // namespace paddock::api
