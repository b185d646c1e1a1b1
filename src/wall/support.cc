#include "wall/support.h"

#include <linux/netlink.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "launch/channel.h"
#include "launch/network.h"
#include "linux/child.h"
#include "linux/loopback.h"
#include "linux/netlink.h"
#include "wall/container/network_plan.h"
#include "wall/facts.h"

namespace paddock::wall {

const char* to_string(Support::State state) {
  switch (state) {
    case Support::State::works: return "works";
    case Support::State::fails: return "does not work";
    case Support::State::absent: return "not in this version";
  }
  return "";
}

Advice advise_on_user_namespaces(const NamespaceSwitches& switches) {
  if (switches.max_user_namespaces == "0")
    return {"user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=15000"};
  if (switches.unprivileged_userns_clone == "0")
    return {"kernel.unprivileged_userns_clone is 0",
            "sysctl -w kernel.unprivileged_userns_clone=1"};
  if (!switches.apparmor_restrict.empty() && switches.apparmor_restrict != "0")
    return {"AppArmor takes the rights in a new user namespace away",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"};
  return {"the kernel, or the container this runs in, forbids them",
          "run paddock as root, or outside of the container, or use --wall process"};
}

namespace {

constexpr int kSilent = 2;  // exit status of a child whose network works, but cannot log

// Takes the place of a sandbox's first process. The error, if any, goes to the pipe.
int open_trial_network(const launch::NetworkPlan& plan, Fd egress, int report) {
  Result<void> opened = kernel::bring_loopback_up();
  if (opened) opened = launch::open_network(plan, CLONE_NEWNET, std::move(egress));
  if (!opened) {
    (void)write_all(report, cat(opened.error().message, "\n", opened.error().hint));
    return 1;
  }
  // The rule is sent a second time, because open_network() ignores whether it was taken.
  return kernel::send_netlink(NETLINK_NETFILTER, plan.log_rule) ? 0 : kSilent;
}

}  // namespace

// In a child, as the namespaces cannot be left again.
Result<NetworkTrial> try_network() {
  NetworkTrial trial{.ipv6 = probe_network("").ipv6};
  launch::NetworkPlan plan = plan_network({}, trial.ipv6);
  auto [ours, theirs] = TRY(launch::make_channel());  // ours takes the sockets, and lets them go
  Pipe report = TRY(make_pipe());
  kernel::Child child = TRY(kernel::fork_child(CLONE_NEWUSER | CLONE_NEWNET));
  if (child.pid == 0) ::_exit(open_trial_network(plan, std::move(theirs), report.write.get()));
  report.write.reset();
  Result<std::string> trouble = read_all(report.read.get(), 4096);
  int status = 0;
  if (::waitpid(child.pid, &status, 0) != child.pid)
    return errno_error(errno, "wait for the trial of the network");
  size_t line = trouble ? trouble.value().find('\n') : std::string::npos;
  if (line != std::string::npos)
    return Error{Code::unsupported, trouble.value().substr(0, line),
                 trouble.value().substr(line + 1)};
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 1)
    return Error{Code::unsupported, "the trial of the network did not come to its end", ""};
  trial.log = WEXITSTATUS(status) != kSilent;
  return trial;
}

std::string advise_on_cgroup(const kernel::CgroupFacts& cgroups, bool is_root) {
  if (is_root)
    return "mount the controller, or start the container this runs in with a writable cgroup";
  if (!cgroups.scope.empty())
    return "as root: mkdir -p /etc/systemd/system/user@.service.d; printf "
           "'[Service]\\nDelegate=pids memory cpu io\\n' > "
           "/etc/systemd/system/user@.service.d/delegate.conf; systemctl daemon-reload; then log "
           "in again";
  if (!cgroups.scope_trouble.empty()) return "see: journalctl --user; or run as root";
  return "run as root, or where a systemd user manager runs (a login session, or: loginctl "
         "enable-linger)";
}

}  // namespace paddock::wall
