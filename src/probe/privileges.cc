// Whether the program has privileges, or can gain any.
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "base/fd.h"
#include "base/text.h"
#include "probe/probe.h"

namespace paddock::probe {

namespace {

const Answers kAnswers("privileges");

// /proc/self/status by the names of its fields.
std::map<std::string, std::string> own_status() {
  std::map<std::string, std::string> fields;
  Result<std::string> text = read_file("/proc/self/status");
  if (!text) return fields;
  for (const std::string& line : split(text.value(), '\n')) {
    size_t colon = line.find(":\t");
    if (colon != std::string::npos) fields[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return fields;
}

// All these sets must be empty. A set that the kernel does not show counts as a failure.
void hold_capabilities(const std::map<std::string, std::string>& status, const char* probe,
                       const std::vector<const char*>& sets) {
  for (const char* set : sets) {
    auto found = status.find(set);
    if (found == status.end()) return kAnswers.failed(probe, cat(set, " is not shown"));
    if (found->second.find_first_not_of('0') != std::string::npos)
      return kAnswers.failed(probe, cat(set, " is ", found->second));
  }
  kAnswers.held(probe, "the set is empty");
}

// The kernel's own word on a process, which the process cannot change.
void expect_status(const std::map<std::string, std::string>& status, const char* probe,
                   const char* name, const char* wanted) {
  auto found = status.find(name);
  std::string value = found == status.end() ? "not shown" : found->second;
  if (value == wanted)
    kAnswers.held(probe, cat(name, ": ", value));
  else
    kAnswers.failed(probe, cat(name, ": ", value, ", not ", wanted));
}

// In a child, since an attempt that succeeds would change this process.
void in_child_judged(const char* probe, const char* what_worked,
                     const std::function<bool()>& attempt) {
  int result = in_child([&] { return attempt() ? 0 : errno; });
  if (result < 0) return kAnswers.untried(probe, "no child could be made");
  errno = result;
  kAnswers.judge(probe, result == 0, what_worked);
}

// Fails unless CAP_SYS_ADMIN is in the permitted set already.
bool raise_capability() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  data[0].effective = data[0].permitted = 1U << CAP_SYS_ADMIN;
  return ::syscall(SYS_capset, &header, data) == 0;
}

}  // namespace

// What the program has comes from /proc; what it could gain is tried.
void check_privileges(const Targets&) {
  std::map<std::string, std::string> status = own_status();
  hold_capabilities(status, "hold a capability", {"CapInh", "CapPrm", "CapEff", "CapAmb"});
  hold_capabilities(status, "hold a capability in the bounding set", {"CapBnd"});
  expect_status(status, "gain privileges by exec", "NoNewPrivs", "1");
  expect_status(status, "run without a system call filter", "Seccomp", "2");
  if (::geteuid() == 0)
    kAnswers.failed("be root", "the effective uid is 0");
  else
    kAnswers.held("be root", cat("the uid is ", ::geteuid()));
  in_child_judged("become root", "setuid(0) works",
                  [] { return ::setuid(0) == 0 || ::setresuid(0, 0, 0) == 0; });
  in_child_judged("take a capability", "capset works", raise_capability);
  in_child_judged("switch no_new_privs off", "prctl works",
                  [] { return ::prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0; });
}

}  // namespace paddock::probe
