// Calls that wait until somebody decides about them. One file each in the state directory, so that
// `paddock approve` reaches a call of any process. An approval is for the hash of the tool, its
// exact arguments, what the policy says about it and the caller (tools/decide/call_hash.h), and for
// nothing else. Times go by both clocks, whichever is over first. A reboot ends all of them.
// docs/approvals.md says the rest.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/value_edit.h"
#include "io/loop.h"
#include "paddock/error.h"
#include "tools/decide/rates.h"

namespace paddock::tools {

struct Approval {
  enum class State : uint8_t { waiting, approved, denied, expired } state = State::waiting;
  // Eight characters of [a-z2-7], short enough for people to type.
  std::string id;
  std::string tool, agent;
  // Redacted, for people to read.
  Value arguments;
  // What they do not see of them: {"parts","kinds","bytes"}; null: nothing.
  Value hidden;
  std::string hash;  // hex SHA-256
  // Who decided, and what they said.
  std::string why;
  // Milliseconds since 1970.
  int64_t asked_ms = 0, expires_ms = 0;
  // How long the approval may be used again. 0: once.
  int64_t remember_ms = 0;
  // The same end, by the clock that nobody can set.
  int64_t ends_since_boot_ms = 0;
};
constexpr const char* kApprovalStates[] = {"waiting", "approved", "denied", "expired"};
inline auto& names_of(Approval::State) { return kApprovalStates; }
inline const char* to_string(Approval::State state) {
  return kApprovalStates[static_cast<size_t>(state)];
}

inline constexpr auto kApprovalFields =
    std::make_tuple(field("id", &Approval::id), field("state", &Approval::state),
                    field("tool", &Approval::tool, Presence::optional),
                    field("agent", &Approval::agent, Presence::optional),
                    field("arguments", &Approval::arguments, Presence::optional),
                    field("hidden", &Approval::hidden, Presence::sparse),
                    field("hash", &Approval::hash), field("why", &Approval::why, Presence::sparse),
                    field("asked_ms", &Approval::asked_ms, Presence::optional),
                    field("expires_ms", &Approval::expires_ms, Presence::optional),
                    field("remember_ms", &Approval::remember_ms, Presence::sparse));
inline Value to_value(const Approval& approval) { return write_record(kApprovalFields, approval); }
// How much of the arguments is not shown; empty: all is.
std::string hidden_words(const Approval& approval);

class Approvals {
 public:
  // Made when missing.
  static Result<std::unique_ptr<Approvals>> open(const std::string& directory);
  static Result<std::unique_ptr<Approvals>> open(const std::string& directory, Clocks clocks);
  ~Approvals();

  // The number of calls of one agent that may wait.
  static constexpr size_t kMostOfAnAgent = 32;
  // Whatever was said about them.
  static constexpr size_t kMostKept = 1024, kMostKeptOfAnAgent = 256;
  // Asks, for as long as from asked_ms to expires_ms; fills in the id. The same call that waits
  // already is the same approval, and what was denied stays so until its time is over: nobody is
  // worn down by being asked again. Code::exhausted: too many are there.
  Result<Approval> ask(Approval asked);
  // Until somebody has said something or its time is over (State::expired). Code::not_found:
  // another call used or withdrew it. Code::conflict: given up. That is asked a few times a second.
  io::Task<Result<Approval>> wait(io::Loop& loop, std::string id, std::function<bool()> given_up);
  // The approval of this very call, not used yet or remembered; uses it up. Of two processes only
  // one gets it.
  Result<std::optional<Approval>> use(const std::string& hash);
  // For a call that was not made after all.
  Result<void> put_back(const Approval& used);
  // What is kept about this very call, whatever was said about it.
  Result<std::optional<Approval>> about(const std::string& hash) const;

  // For people and programs. Those whose time is over are not there.
  Result<std::vector<Approval>> list() const;
  Result<Approval> find(const std::string& id) const;  // Code::not_found
  // Code::not_found, or Code::conflict when it was decided before; but an approval can be taken
  // back.
  Result<void> decide(const std::string& id, bool approve, const std::string& by,
                      const std::string& why);

 private:
  struct State;
  explicit Approvals(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paddock::tools
