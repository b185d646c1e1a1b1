#include "launch/hold.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "launch/channel.h"
#include "launch/launch.h"
#include "linux/cpu_clock.h"
#include "linux/uapi.h"

namespace paddock::launch {

// SO_PASSCRED makes the kernel tell the pid of the sender as we see it; a process in another PID
// namespace cannot know that itself.
Result<void> Hold::make_first_process(uint64_t namespaces, Fd& control) {
  int cgroup = -1;
  for (const kernel::Cgroup& group : groups_)
    if (group.plan().version() == 2 && !joins_later_) cgroup = group.folder_fd();
  auto [inner, outer] = TRY(make_channel());
  int on = 1;
  if (::setsockopt(outer.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
    return errno_error(errno, "watch the sandbox");
  child_ = TRY(kernel::fork_child(namespaces, cgroup));
  if (child_.pid == 0) {
    outer.reset();
    control.reset();
    launch(std::move(inner), namespaces);
  }
  guard_ = std::move(outer);
  namespaces_ = namespaces;
  return {};
}

// The order matters: sources are taken while we have the rights, the cgroups of version 2 exist
// before the fork, the id map is written before the plan is sent, and nothing goes on before
// open_the_way().
Result<void> Hold::start(const Plan& plan, const std::string& plan_bytes, std::vector<Fd>& passed,
                         Fd& control, Watcher& watcher) {
  Sources sources;
  if (plan.privileged) TRY(take_sources(plan, Taker::keeper, sources));
  joins_later_ = !plan.boot.runtime.empty();
  uint64_t wanted = plan.namespaces & ~static_cast<uint64_t>(CLONE_NEWCGROUP);
  bool version_2 =
      std::any_of(plan.cgroups.begin(), plan.cgroups.end(),
                  [](const kernel::CgroupPlan& group) { return group.version() == 2; });
  // A process that was made ahead is in no cgroup yet, and a version 2 cgroup cannot be joined
  // later.
  if (namespaces_ != wanted || version_2) forget_first_process();
  // Without a PID namespace, daemonised grandchildren of the program become our children.
  if (!plan.container && ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
    return errno_error(errno, "become a subreaper");
  if (child_.pid < 0) {
    TRY(make_cgroups(plan, watcher));
    TRY(make_first_process(wanted, control));
  }
  bool cpu_group =
      std::any_of(plan.cgroups.begin(), plan.cgroups.end(),
                  [](const kernel::CgroupPlan& group) { return group.uses & kernel::kCpuUsage; });
  if ((plan.watch.cpu_time || plan.living) && !cpu_group)
    if (Result<Fd> clock = kernel::open_cpu_clock(child_.pid))
      watcher.use_cpu_clock(std::move(clock.value()));
  if (plan.namespaces & CLONE_NEWUSER)
    TRY(kernel::write_id_map(child_.pid, plan.ids, plan.privileged));
  std::vector<int> descriptors;
  size_t inner = program_descriptors(plan);
  for (size_t i = 0; i < inner; ++i) descriptors.push_back(passed.at(i).get());
  for (const Fd& source : sources)
    if (source) descriptors.push_back(source.get());
  TRY(send_plan(guard_.get(), plan_bytes, descriptors));
  passed.erase(passed.begin(), passed.begin() + static_cast<ptrdiff_t>(inner));
  if (groups_.empty()) TRY(make_cgroups(plan, watcher));  // while the first process builds its root
  return {};
}

Result<void> Hold::open_the_way() const {
  std::vector<int> joins;
  for (const kernel::Cgroup& group : groups_)
    if (group.plan().version() == 1 || joins_later_) joins.push_back(group.join_fd());
  return send_record(guard_.get(), Record{.kind = Record::Kind::joined}, joins);
}

Result<void> Hold::make_cgroups(const Plan& plan, Watcher& watcher) {
  for (const kernel::CgroupPlan& group : plan.cgroups)
    groups_.push_back(TRY(kernel::Cgroup::create(group)));
  watcher.use_cgroups(&groups_);
  return {};
}

void Hold::forget_first_process() {
  if (child_.pid <= 0) return;
  (void)kernel::pidfd_send_signal(child_.pidfd.get(), SIGKILL);
  (void)::waitpid(child_.pid, nullptr, 0);
  child_ = {};
}

// Right after the last exit the kernel may report a group as busy for a moment, so this tries for a
// second.
void Hold::remove_groups() const {
  for (const kernel::Cgroup& group : groups_)
    for (int attempt = 0; attempt < 2000 && !group.remove(); ++attempt) ::usleep(500);
}

}  // namespace paddock::launch
