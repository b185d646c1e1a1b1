// The manager's side of an egress process: starts it, sends it the rules, and reads what happened.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "egress/settings.h"
#include "io/loop.h"
#include "paddock/policy.h"
#include "paddock/sandbox.h"
#include "run/uid_slot.h"

namespace paddock::runs {

// Makes egress's settings from what the policy says about the network. Reads the secrets of
// network.inject from the caller's environment or files.
Result<egress::Settings> egress_settings(const Policy& policy, const std::string& sandbox);

// Sums of a network so far, as egress reports them while they change (egress/log.h).
struct LiveNetwork {
  uint64_t up = 0, down = 0, connections = 0;
  int64_t time_ms = 0;  // on egress's clock; 0: no report yet
};
std::optional<LiveNetwork> parse_live(std::string_view line);  // nothing: another line

// The interval of these reports, where no policy asks for a shorter one.
constexpr uint64_t kLiveMs = 500;

// One egress process. Not copied and not moved: others hold its address.
class Egress {
 public:
  // Starts the process and sends the settings; await_ready() says whether it took them. With
  // `privileged`, root is the caller, and egress gets a uid of its own.
  static Result<std::unique_ptr<Egress>> start(egress::Settings settings, bool privileged);
  ~Egress();  // ends it, and with it the sandbox's network

  // What programs inside need to trust egress where it reads TLS. All of it is empty where it does
  // not.
  struct Ready {
    std::string certificate, bundle;  // PEM
    std::string java_trust_store;
  };
  Result<Ready> await_ready();                          // once; it serves from then on
  io::Task<Result<Ready>> await_ready(io::Loop& loop);  // the same, on an event loop

  // Sends new rules for a living sandbox. Connections to what is no longer allowed are torn down;
  // rules that egress refuses leave the old ones in force. May be called from another thread than
  // the one that supervises.
  Result<void> reload(const Policy& policy);

  // For a sandbox that outlives its server: whoever holds these descriptors keeps the egress
  // process alive, and can end it. They are the control socket, the event socket, a pidfd, and the
  // lock of its uid if it has one.
  Result<std::vector<int>> handover();
  // Takes over an egress process that another server started, by the socket that the keeper held.
  static std::unique_ptr<Egress> adopt(const std::string& sandbox, Fd control);
  // The process lives on after this object.
  void let_go() { pid_ = -1; }
  Fd take_events() { return std::move(events_); }  // for a reader elsewhere

  Fd take_sandbox_socket() { return std::move(sandbox_); }  // for the sandbox's first process
  int events() const { return events_.get(); }
  // Reads what there is without waiting. False when egress is gone.
  bool read_events();
  const LiveNetwork& live() const { return live_; }
  // Called with each entry of the request log, as a line of JSON.
  std::function<void(const std::string& line)> on_entry;

  // Ends the network. What happened goes into the result: denials, usage, limits that were hit.
  void finish(RunResult& result);
  // Valid after finish(): how many entries of the log are missing because nobody read them fast
  // enough.
  uint64_t entries_lost() const { return entries_lost_; }

  // Adds the secrets of network.inject, named by host and header, to those that are redacted.
  void add_secrets(std::map<std::string, std::string>& secrets) const;
  pid_t pid() const { return pid_; }

 private:
  static constexpr size_t kMostEntries = 1000;  // kept for the result

  Egress() = default;
  // Sends an order and waits for its answer. `patience` is in milliseconds.
  Result<Value> ask(const Value& order, bool reads_events, int patience);
  Result<Value> read_answer(bool reads_events, int patience);  // milliseconds
  void end_now();
  static Result<Value> parse_answer(const std::string& line);
  static Result<Ready> parse_ready(const Value& answer);
  void take_lines();
  void take_summary(const Value& summary, RunResult& result);

  pid_t pid_ = -1;
  std::mutex asking_;  // one question and its answer at a time
  Fd control_, events_, sandbox_, pidfd_;
  std::optional<UidSlot> uid_;
  egress::Settings settings_;
  std::string lines_;
  LiveNetwork live_;
  std::vector<std::string> entries_;
  uint64_t entries_left_out_ = 0, entries_lost_ = 0;
};

}  // namespace paddock::runs
