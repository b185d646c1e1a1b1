// A scope of systemd: a cgroup with controllers that an ordinary user can have. The user's service
// manager (or PID 1, for root) makes it for processes that already run, delegates it, and removes
// it after the last of them. Only the manager can move a process into it, so it is asked for with
// the keeper of one sandbox, before there is anything inside.
//
//   if (std::optional<ServiceManager> manager = find_service_manager()) {
//     ScopeRequest request = TRY(ScopeRequest::begin(*manager, {keeper}));
//     …                                    // the manager works meanwhile
//     CgroupFacts cgroups = TRY(request.await());
//   }
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "linux/cgroup.h"
#include "paddock/error.h"

namespace paddock::kernel {

struct ServiceManager {
  std::string socket;
  bool is_bus = false;     // a message bus stands before it
  bool is_system = false;  // PID 1, for root; else the manager of this user
  uint32_t uid = 0;        // whose socket it must be

  const char* name() const { return is_system ? "systemd" : "the systemd user manager"; }
};

// The manager to ask for a scope. Nothing if there is none, or if it has no version 2 controllers
// to delegate.
std::optional<ServiceManager> find_service_manager();

// The conversation with a manager until a scope exists, without the socket.
class ScopeConversation {
 public:
  ScopeConversation(std::string unit, const std::vector<pid_t>& pids, bool is_bus, uint32_t uid);

  std::string take_output() { return std::exchange(output_, {}); }  // to be sent next
  // Takes what the manager sent. True once the scope exists, with the processes in it.
  Result<bool> take(std::string_view received);

 private:
  Result<void> take_greeting();
  Result<void> take_message(std::string_view bytes);

  std::string unit_, requests_, output_, input_;
  uint32_t start_serial_ = 0;  // of the call that makes the scope: the last one
  bool greeted_ = false, accepted_ = false, finished_ = false;
};

class ScopeRequest {
 public:
  // Asks, and returns at once. The processes must be this user's.
  static Result<ScopeRequest> begin(const ServiceManager& manager, std::vector<pid_t> pids);

  int fd() const { return socket_.get(); }  // becomes readable when advance() has something to do
  int milliseconds_left() const;
  // Takes what has come, without waiting. True once the scope exists; then await() returns at once.
  Result<bool> advance();
  // Waits, takes the processes into a group of their own and turns the controllers on for groups
  // beside it. Where a sandbox's groups go is then known. Fails when the manager refuses, or takes
  // longer than a few seconds.
  Result<CgroupFacts> await();

  const std::string& unit() const { return unit_; }

 private:
  ScopeRequest(const ServiceManager& manager, std::string unit, std::vector<pid_t> pids, Fd socket);
  Result<void> send();
  Error trouble(const std::string& why) const;

  ServiceManager manager_;
  std::string unit_;
  std::vector<pid_t> pids_;
  Fd socket_;
  ScopeConversation conversation_;
  uint64_t begun_ms_ = 0;
  bool stands_ = false;
};

// Whether its scopes end with the last session of this user: lingering is not enabled.
bool ends_at_logout(const ServiceManager& manager);

}  // namespace paddock::kernel
