#include "wall/report.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "launch/channel.h"
#include "wall/facts.h"

namespace paddock::wall {

namespace {

// The sandbox is not what was promised, so the program must not run.
Error missing(const std::string& what) {
  return Error{
      Code::internal,
      cat("the sandbox was made, but the kernel does not show ", what, "; nothing was run"),
      "please report this"};
}

uint64_t to_number(const std::string& text) {
  uint64_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "Key:\tvalue" lines of /proc/PID/status.
std::map<std::string, std::string> read_status(int pid) {
  std::map<std::string, std::string> fields;
  Result<std::string> text = read_file(cat("/proc/", pid, "/status"));
  if (!text) return fields;
  for (const std::string& line : split(text.value(), '\n')) {
    size_t colon = line.find(":\t");
    if (colon != std::string::npos) fields[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return fields;
}

bool has_option(const std::string& options, const char* name) {
  std::vector<std::string> words = split(options, ',');
  return std::find(words.begin(), words.end(), name) != words.end();
}

// To compare with: a namespace of the program's own has another inode.
uint64_t own_namespace(const char* name) {
  char target[64] = {};
  (void)!::readlink(cat("/proc/self/ns/", name).c_str(), target, sizeof target - 1);
  const char* number = std::strchr(target, '[');
  return number ? std::strtoull(number + 1, nullptr, 10) : 0;
}

// Reads one thing after the other, and fails at the first that is missing.
class Reader {
 public:
  Reader(const Request& request, const HostFacts& facts, const Compiled& compiled, int pid,
         const std::array<uint64_t, 16>& namespaces)
      : request_(request),
        facts_(facts),
        compiled_(compiled),
        plan_(compiled.plan),
        pid_(pid),
        namespaces_(namespaces),
        status_(read_status(pid)) {}

  Result<std::map<std::string, Enforced>> read() {
    if (plan_.boot.carried) return read_other_kernel();
    TRY(read_identity());
    TRY(read_capabilities());
    TRY(read_syscalls());
    TRY(read_namespaces());
    TRY(read_files());
    TRY(read_membership());
    read_user_counters();
    read_end();
    for (const auto& [kind, limit] : compiled_.limits.limits) TRY(read_limit(kind, limit));
    return std::move(found_);
  }

 private:
  // Another kernel stands between the program and the host's: what can be read here is how that
  // one is held. `pid_` is the process of ours that carries for it; the runtime's are beside it.
  Result<std::map<std::string, Enforced>> read_other_kernel() {
    pid_ = TRY(find_kernel());
    status_ = read_status(pid_);
    uint64_t uid = std::strtoull(status_["Uid"].c_str(), nullptr, 10);
    if (uid == 0 && facts_.privileged) return missing("an unprivileged uid");
    if (status_["Seccomp"] != "2") return missing("Seccomp: 2");
    if (status_["NoNewPrivs"] != "1") return missing("NoNewPrivs: 1");
    std::string kernel = cat(plan_.boot.runtime, "'s kernel");
    put("identity", cat("uid ", uid, " on the host, for ", kernel));
    put("syscalls", cat(kernel, " answers them; its own pass a seccomp filter"));
    put("privileges", cat("NoNewPrivs: 1, for ", kernel));
    put("capabilities", cat(kernel, " gives none of the host's: CapEff ", status_["CapEff"]));
    for (const char* name : {"processes", "ipc", "hostname"}) put(name, kernel);
    put("network", cat(kernel, " has only loopback"));
    put("files", cat(kernel, ", and beneath it a root of its own in a mount namespace"));
    put("user_counters", kernel);
    TRY(read_membership());
    read_end();
    for (const auto& [kind, limit] : compiled_.limits.limits) TRY(read_limit(kind, limit));
    return std::move(found_);
  }

  // The runtime's processes are children of the carrier's parent: its kernel, and a server of
  // files.
  Result<int> find_kernel() {
    std::string parent = read_status(pid_)["PPid"];
    Result<std::string> children = read_file(cat("/proc/", parent, "/task/", parent, "/children"));
    if (children)
      for (const std::string& child : words_in(children.value()))
        if (int pid = static_cast<int>(to_number(child)); pid != pid_ && is_kernel(pid)) return pid;
    return missing(cat("the kernel of ", plan_.boot.runtime));
  }

  static bool is_kernel(int pid) {
    Result<std::string> command = read_file(cat("/proc/", pid, "/cmdline"));
    return command && starts_with(command.value(), "runsc-sandbox");
  }

  void put(const std::string& name, std::string by, Strength strength = Strength::kernel) {
    found_[name] = {std::move(by), strength};
  }

  Result<void> read_identity() {
    // Real, effective, saved, of the filesystem.
    std::vector<std::string> uids = words_in(status_["Uid"]);
    uint64_t expected = request_.sandbox_uid;
    if (uids != std::vector<std::string>(4, std::to_string(expected)))
      return missing(cat("uid ", expected));
    if (expected == 0 && facts_.privileged) return missing("an unprivileged uid");
    put("identity", cat("uid ", expected, " on the host",
                        facts_.privileged ? plan_.living ? cat(" and ", plan_.ids.count - 1,
                                                               " more, this sandbox's own")
                                                         : ", this sandbox's own"
                                          : ", the caller's"));
    return {};
  }

  Result<void> read_capabilities() {
    if (plan_.living) return read_kept_capabilities();
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
      if (status_[set].find_first_not_of('0') != std::string::npos || status_[set].empty())
        return missing(cat("an empty ", set));
    bool bounding_empty = status_["CapBnd"].find_first_not_of('0') == std::string::npos;
    if (!bounding_empty && (plan_.container || facts_.privileged))
      return missing("an empty CapBnd");
    if (status_["NoNewPrivs"] != "1") return missing("NoNewPrivs: 1");
    put("capabilities", bounding_empty ? "CapEff, CapPrm, CapInh, CapAmb and CapBnd are empty"
                                       : "CapEff, CapPrm, CapInh and CapAmb are empty; CapBnd "
                                         "cannot be gained under no_new_privs");
    put("privileges", "NoNewPrivs: 1");
    return {};
  }

  // A living sandbox keeps exactly the capabilities of its plan, and no more.
  Result<void> read_kept_capabilities() {
    auto holds = [&](const char* set, uint64_t expected) {
      return !status_[set].empty() && std::strtoull(status_[set].c_str(), nullptr, 16) == expected;
    };
    for (const char* set : {"CapInh", "CapAmb"})
      if (!holds(set, 0)) return missing(cat("an empty ", set));
    for (const char* set : {"CapPrm", "CapEff", "CapBnd"})
      if (!holds(set, plan_.capabilities)) return missing(cat("few capabilities in ", set));
    if (status_["NoNewPrivs"] != "1") return missing("NoNewPrivs: 1");
    put("capabilities", cat("CapBnd of the user namespace: ", status_["CapBnd"],
                            " (what root inside needs to own files and to become users)"));
    put("privileges", "NoNewPrivs: 1");
    return {};
  }

  // What ends the program if Paddock itself is killed.
  void read_end() {
    if (plan_.container)
      put("end", "the PID namespace ends with its first process, and that with the keeper");
    else
      put("end",
          "paddock, the keeper and its parent watch each other; if all are killed at once, "
          "daemonised processes live on",
          Strength::sampled);
  }

  Result<void> read_syscalls() {
    if (status_["Seccomp"] != "2") return missing("Seccomp: 2");
    put("syscalls", cat("seccomp filter (", plan_.seccomp.size() / 8, " instructions)"));
    return {};
  }

  Result<void> read_namespaces() {
    if (!plan_.container) {
      put("network", "seccomp refuses socket()");
      put("processes", cat("landlock abi ", facts_.landlock_abi,
                           facts_.privileged ? " and an own uid" : " scopes"));
      put("ipc", "seccomp refuses System V and POSIX queues");
      return {};
    }
    std::vector<std::string> own;
    for (size_t i = 0; i < launch::kNamespaceNames.size(); ++i) {
      const char* name = launch::kNamespaceNames[i];
      if (namespaces_[i] == 0 || namespaces_[i] == own_namespace(name))
        return missing(cat("an own ", name, " namespace"));
      own.push_back(cat(name, ":[", namespaces_[i], "]"));
    }
    put("processes", own[2]);
    TRY(read_network(own[3]));
    put("ipc", own[4]);
    put("hostname", own[5]);
    return {};
  }

  // The kernel acknowledged the rules when they were loaded. What is checked is that egress has
  // locked itself down.
  Result<void> read_network(const std::string& own) {
    if (!plan_.network.enabled) {
      put("network", cat(own, " with only loopback"));
      return {};
    }
    std::map<std::string, std::string> egress = read_status(request_.egress_pid);
    bool no_capabilities =
        !egress["CapEff"].empty() && egress["CapEff"].find_first_not_of('0') == std::string::npos;
    if (egress["Seccomp"] != "2" || egress["NoNewPrivs"] != "1" || !no_capabilities)
      return missing("egress locked down");
    std::vector<std::string> uids = words_in(egress["Uid"]);
    put("network",
        cat(own, " with only loopback; nftables redirects all TCP and DNS to egress (uid ",
            uids.empty() ? "?" : uids[0], ", seccomp, no capabilities, no files)"));
    return {};
  }

  // What a run mounts read-only. In a living sandbox the targets of the plan lie in what becomes
  // its root later, so they cannot be compared.
  std::set<std::string> planned_read_only() const {
    std::set<std::string> targets;
    if (plan_.living) return targets;
    using Kind = launch::Step::Kind;
    for (const launch::Step& step : plan_.steps) {
      bool mounts = step.kind != Kind::directory && step.kind != Kind::file &&
                    step.kind != Kind::symlink && step.kind != Kind::enter;
      if (!mounts) continue;
      bool is_read_only = (step.kind == Kind::bind || step.kind == Kind::tmpfs) &&
                          (step.attributes & MOUNT_ATTR_RDONLY);
      if (is_read_only)
        targets.insert(step.target);
      else  // something else comes to stand there
        targets.erase(step.target);
    }
    return targets;
  }

  // A runtime hides what we name in /proc behind an empty tmpfs or the null device, with options of
  // its own. Neither can hold a set-uid file.
  bool is_mask_of_runtime(const std::vector<std::string>& words, const std::string& line) const {
    if (plan_.boot.runtime.empty() || !starts_with(words[4], "/proc/")) return false;
    bool is_empty = line.find(" - tmpfs ") != std::string::npos && starts_with(words[5], "ro");
    return is_empty || words[3] == "/null";
  }

  // The root must be the one that was built, what is mounted read-only must be so, and nothing in a
  // living sandbox may honour set-uid bits.
  Result<void> read_files() {
    if (!plan_.container) {
      put("files", cat("landlock abi ", facts_.landlock_abi));
      return {};
    }
    Result<std::string> text = read_file(cat("/proc/", pid_, "/mountinfo"));
    if (!text) return missing("its mounts");
    bool root_found = false;
    std::set<std::string> read_only = planned_read_only();
    for (const std::string& line : split(text.value(), '\n')) {
      std::vector<std::string> words = split(line, ' ');
      if (words.size() < 10) continue;
      if (words[4] == "/") {
        root_found =
            plan_.living
                ? line.find(" - overlay ") != std::string::npos && has_option(words[5], "nosuid")
                : line.find(" - tmpfs ") != std::string::npos && starts_with(words[5], "ro");
        if (!root_found)
          return missing(plan_.living ? "an overlay as its root" : "a read-only root");
      }
      if (words[4] == "/tmp") scratch_line_ = line;
      bool may_write =
          words[4] == "/usr" && plan_.living && line.find(" - overlay ") != std::string::npos;
      bool must_not = words[4] == "/usr" || words[4] == "/proc" ||
                      read_only.count(unescape_mount(words[4])) > 0;
      if (must_not && !may_write && !starts_with(words[5], "ro"))
        return missing(cat("a read-only ", words[4]));
      if (plan_.living && !has_option(words[5], "nosuid") && !is_mask_of_runtime(words, line))
        return missing(cat("nosuid at ", words[4]));
    }
    if (!root_found) return missing("a root of its own");
    std::string overlay = plan_.living ? "overlay in an own " : "";
    put("files", plan_.landlock.handled_files
                     ? cat(overlay, "mount namespace + landlock abi ", facts_.landlock_abi)
                     : overlay + "mount namespace");
    return {};
  }

  // The kernel counts some things per user of the host. If that user is the sandbox's own, nobody
  // else is affected.
  void read_user_counters() {
    bool inotify_bounded = !plan_.container || namespaces_[launch::kNamespaceNames.size()] != 0;
    std::string by = "RLIMIT_SIGPENDING, MSGQUEUE, MEMLOCK, RTPRIO, NICE";
    if (!plan_.container)
      by += "; seccomp refuses inotify";
    else if (inotify_bounded)
      by += "; inotify bounded in the user namespace";
    else
      by += "; inotify NOT BOUNDED: /proc/sys/user cannot be written here";
    if (plan_.container && facts_.privileged)
      by += ", not isolated: counted with uid 0 of the host";
    if (!facts_.privileged)
      by += cat(", not isolated: pipes, inotify and descriptors in flight are counted with uid ",
                facts_.privileged ? 0 : ::geteuid(), " of the host");
    put("user_counters", std::move(by));
  }

  // A limit of a group applies only to processes that are in it.
  Result<void> read_membership() {
    Result<std::string> text = read_file(cat("/proc/", pid_, "/cgroup"));
    std::vector<std::string> lines = text ? split(text.value(), '\n') : std::vector<std::string>();
    auto in_ours = [&](const std::string& line) {
      return ends_with(line, cat("/paddock-", plan_.id));
    };
    if (static_cast<size_t>(std::count_if(lines.begin(), lines.end(), in_ours)) <
        plan_.cgroups.size())
      return missing("it in its cgroups");
    return {};
  }

  // A file in the cgroup must hold a value at most as large as the limit; 0 would mean that it
  // cannot be read.
  Result<void> read_limit(LimitKind kind, const PlannedLimit& limit) {
    const char* name = info(kind).name;
    if (limit.readback) {
      Result<std::string> text = read_file(limit.readback->path, 4096);
      if (!text || to_number(text.value()) == 0 ||
          to_number(text.value()) > limit.readback->expected)
        return missing(cat(name, " in ", limit.readback->path));
    }
    if (plan_.boot.carried) {  // rlimits and mounts are in that kernel
      put(name, limit.enforced.by, limit.enforced.strength);
      return {};
    }
    if (kind == LimitKind::open_files) TRY(read_rlimit("Max open files", limit.value));
    if (kind == LimitKind::file_size) TRY(read_rlimit("Max file size", limit.value));
    if (kind == LimitKind::pids && starts_with(limit.enforced.by, "RLIMIT_NPROC"))
      TRY(read_rlimit("Max processes", limit.value + 2));
    const char* filesystem =
        compiled_.limits.scratch_is_bounded ? " - ext4 /dev/loop" : " - tmpfs ";
    if (kind == LimitKind::disk && limit.enforced.strength == Strength::kernel &&
        scratch_line_.find(filesystem) == std::string::npos)
      return missing("a filesystem of a fixed size at /tmp");
    put(name, limit.enforced.by, limit.enforced.strength);
    return {};
  }

  // The hard limit counts, as the program may raise the soft one up to it.
  Result<void> read_rlimit(const char* label, uint64_t most) {
    Result<std::string> text = read_file(cat("/proc/", pid_, "/limits"));
    size_t at = text ? text.value().find(label) : std::string::npos;
    if (at == std::string::npos) return missing(label);
    // Soft, hard.
    std::vector<std::string> values = words_in(text.value().substr(at + std::strlen(label)));
    if (values.size() < 2 || values[1] == "unlimited" || to_number(values[1]) > most)
      return missing(cat(label, " of ", most));
    return {};
  }

  const Request& request_;
  const HostFacts& facts_;
  const Compiled& compiled_;
  const launch::Plan& plan_;
  int pid_;
  const std::array<uint64_t, 16>& namespaces_;
  std::map<std::string, std::string> status_;
  std::string scratch_line_;
  std::map<std::string, Enforced> found_;
};

}  // namespace

Result<std::map<std::string, Enforced>> read_back(const Request& request, const HostFacts& facts,
                                                  const Compiled& compiled, int pid,
                                                  const std::array<uint64_t, 16>& namespaces) {
  return Reader(request, facts, compiled, pid, namespaces).read();
}

}  // namespace paddock::wall
