// The sockets between caller, keeper and the sandbox's first process. All are stream sockets that
// carry fixed-size records, some with descriptors; a plan follows the record that announces it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock::launch {

// One message. All programs that exchange it are built together, so the struct itself goes over the
// wire.
struct Record {
  enum class Kind : uint32_t {
    // keeper → first process (after the plan)
    joined = 1,  // the cgroups are made; their join files come along
    go,          // caller → keeper → program: exec now
    signal,      // caller → keeper → PID 1: number is a signal for the program
    // first process → keeper (→ caller)
    // The root stands; descriptors: /proc inside, the scratch filesystem, the user namespace, the
    // terminal if there is one.
    built,
    // The program waits before its exec; number is its pid on the host, numbers its namespaces.
    ready,
    failed,   // Paddock failed; text is the error, number its Code
    not_run,  // exec failed; number is errno
    exited,   // number is the wait status
    // caller → keeper
    // numbers[0] bytes of a plan follow; the program's descriptors come along (also keeper → first
    // process).
    plan,
    making,  // text is a directory that is being made for this run: without a plan it is to go
    kill,    // number is the LimitKind that was hit, or -1
    alive,   // the program printed something: it is not idle
    // keeper → caller
    ended,  // numbers as in Ended; text says why
    // server → keeper of a living sandbox; each is answered in turn, by itself or by `failed`
    // Descriptors of the answer: the stream to the guest, and with a network egress's control and
    // event sockets;
    // numbers[0] is 1 when it is frozen.
    attach,
    freeze,
    thaw,
    usage,     // numbers of the answer as in LivingUsage; the keeper of a run answers it, too
    replaced,  // keeper → server: another one has come, and this was the last word to you
    // server → keeper of a living sandbox, without an answer: what the keeper does by itself while
    // there is no server
    lifetime,  // numbers as in LifetimeOrder
    rule,      // numbers and texts as in RuleOrder
  } kind;
  int32_t number = 0;
  std::array<uint64_t, 16> numbers{};
  char text[512] = {};
  char hint[256] = {};
};

// The order of the namespaces in Record::numbers of `ready`.
inline constexpr std::array<const char*, 7> kNamespaceNames = {"user", "mnt", "pid",   "net",
                                                               "ipc",  "uts", "cgroup"};

// Stands for a number that could not be measured.
inline constexpr uint64_t kUnmeasured = UINT64_MAX;

// What the keeper saw, in Record::numbers of `ended`.
struct Ended {
  int32_t status = 0;      // wait status of the program
  int32_t killed_by = -1;  // LimitKind that the keeper or the caller enforced by killing
  uint64_t cpu_us = 0, memory_peak = 0, pids_peak = 0, disk_bytes = 0, disk_inodes = 0;
  uint64_t disk_full = 0, inodes_full = 0;  // seen at its cap
  uint64_t oom_kills = 0, pids_refused = 0;
  uint64_t wall_us = 0;

  Record to_record() const;
  static Ended from_record(const Record& record);
};

// What a sandbox uses, in Record::numbers of `usage`. Times are in µs, sizes in bytes.
struct LivingUsage {
  uint64_t cpu_us = 0, memory = 0, memory_cache = 0, memory_peak = 0, pids = 0, disk = 0,
           oom_kills = 0;
  bool frozen = false;
  bool paused_by_keeper = false;  // its time was over, or a rule held, and no server was there

  Record to_record() const;
  static LivingUsage from_record(const Record& record);
};

// How long a sandbox lives from now on, and what happens at the end.
struct LifetimeOrder {
  uint64_t left_ms = 0;      // 0: until it is killed
  uint64_t idle_ms = 0;      // how long it may be without requests; 0: any time
  bool pause = false;        // else it is killed
  bool keep_memory = false;  // when it is paused

  Record to_record() const;
  static LifetimeOrder from_record(const Record& record);
};

// One rule of [monitor] that kills or pauses.
struct RuleOrder {
  // True for the first rule of a new set: those sent before do not count any more.
  bool first = false;
  MonitorRule rule;
  uint64_t every_ms = 0;  // between two looks
  uint64_t limit = 0;     // the sandbox's, of which the rule may be a percentage

  Record to_record() const;
  // Nothing if the record comes from a version that knows more rules.
  static std::optional<RuleOrder> from_record(const Record& record);
};

// An error as a record, and back. Texts that are too long are cut.
Record failure(const Error& error);
Error to_error(const Record& record);

// Both ends are CLOEXEC. Whoever hands one to a child clears that for this one only.
Result<std::pair<Fd, Fd>> make_channel();
Result<void> send_bytes(int socket, std::string_view bytes, const std::vector<int>& descriptors);
Result<void> send_record(int socket, const Record& record,
                         const std::vector<int>& descriptors = {});

// A record and the descriptors that came with it. `closed`: the other side is gone.
struct Received {
  bool closed = false;
  Record record;
  std::vector<Fd> descriptors;
  pid_t sender = 0;  // when the socket has SO_PASSCRED
};
Result<Received> receive_record(int socket);

// The same without waiting, for callers that watch several sockets.
class RecordReader {
 public:
  // A whole record, or nothing yet. `closed` is set at the end of the stream, also if that comes in
  // the middle of a record.
  Result<std::optional<Received>> read(int socket);

 private:
  Received next_;
  size_t size_ = 0;  // of it that is there
};

// Sends the plan with its descriptors. The receiver knows from the plan which is which.
Result<void> send_plan(int socket, const std::string& bytes, const std::vector<int>& descriptors);
struct ReceivedPlan {
  std::string bytes;
  std::vector<Fd> descriptors;
  std::string making;  // what the caller said it was making, also when no plan came
  bool closed = false;
};
Result<ReceivedPlan> receive_plan(int socket);

}  // namespace paddock::launch
