#include "linux/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

#include "base/random_name.h"
#include "base/text.h"
#include "linux/tree.h"

namespace paddock::kernel {

namespace {

// The sticky bit does nothing here, and nobody else sets it on a cgroup: it marks the groups that
// Paddock made, on every version and without privilege, where extended attributes would need one or
// the other.
constexpr mode_t kMode = 01755;

// One mount of a cgroup hierarchy.
struct MountedTree {
  std::string directory;  // the mount point
  std::string root;       // which group of the hierarchy is visible there
  int version = 0;
  std::vector<std::string> options;  // version 1: the controllers are among them
};

std::vector<MountedTree> mounted_trees() {
  std::vector<MountedTree> trees;
  Result<std::string> text = read_file("/proc/self/mountinfo");
  if (!text) return trees;
  for (const std::string& line : split(text.value(), '\n')) {
    size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::vector<std::string> left = split(line.substr(0, separator), ' '),
                             right = split(line.substr(separator + 3), ' ');
    if (left.size() < 6 || right.size() < 3 || !starts_with(right[0], "cgroup")) continue;
    trees.push_back({left[4], left[3], right[0] == "cgroup2" ? 2 : 1, split(right[2], ',')});
  }
  return trees;
}

// The group of a process in each hierarchy: controllers ("" for version 2) → path.
std::map<std::string, std::string> groups_of(const std::string& process) {
  std::map<std::string, std::string> groups;
  Result<std::string> text = read_file(cat("/proc/", process, "/cgroup"));
  if (!text) return groups;
  for (const std::string& line : split(text.value(), '\n')) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    for (const std::string& controller : split(line.substr(first + 1, second - first - 1), ','))
      groups[controller] = line.substr(second + 1);
  }
  return groups;
}

// Where `group` is found below a mount that shows the hierarchy from `root` on. Empty if it is not
// visible there.
std::string directory_of(const MountedTree& tree, const std::string& group) {
  if (tree.root == "/") return group == "/" ? tree.directory : tree.directory + group;
  if (group == tree.root) return tree.directory;
  if (starts_with(group, tree.root + "/")) return tree.directory + group.substr(tree.root.size());
  return "";
}

bool can_make_groups_in(const std::string& directory) {
  return ::access(directory.c_str(), W_OK | X_OK) == 0;
}

bool write_text(const std::string& path, const std::string& text) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::vector<std::string> words_of(const std::string& path) {
  Result<std::string> text = read_file(path);
  return text ? words_in(text.value()) : std::vector<std::string>();
}

bool contains(const std::vector<std::string>& words, const char* word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Version 2: a directory whose children get `controller`. Enables it below `group` if that can be
// done: a group with processes of its own must be emptied first, so they (all ours, or it fails)
// move into a group beside the sandboxes.
bool enable_below(const std::string& group, const char* controller, bool prepare) {
  if (contains(words_of(group + "/cgroup.subtree_control"), controller)) return true;
  if (!contains(words_of(group + "/cgroup.controllers"), controller)) return false;
  if (write_text(group + "/cgroup.subtree_control", cat("+", controller))) return true;
  if (!prepare || errno != EBUSY) return false;
  std::string aside = group + "/paddock-callers";
  if (::mkdir(aside.c_str(), 0755) != 0 && errno != EEXIST) return false;
  for (const std::string& pid : words_of(group + "/cgroup.procs"))
    if (!write_text(aside + "/cgroup.procs", pid)) return false;
  return write_text(group + "/cgroup.subtree_control", cat("+", controller));
}

// Looks for the controller in version 1 first, where each hierarchy is separate, and then in
// version 2.
Controller find_controller(const char* name_v1, const char* name_v2,
                           const std::vector<MountedTree>& trees,
                           const std::map<std::string, std::string>& groups, bool prepare) {
  for (const MountedTree& tree : trees) {
    if (tree.version != 1 || !contains(tree.options, name_v1) || !groups.count(name_v1)) continue;
    std::string directory = directory_of(tree, groups.at(name_v1));
    if (directory.empty())
      return {0, "", cat("the group of this process is not visible below ", tree.directory)};
    if (!can_make_groups_in(directory))
      return {0, "", cat(directory, " is not writable for this user")};
    return {1, directory, ""};
  }
  for (const MountedTree& tree : trees) {
    if (tree.version != 2 || !groups.count("")) continue;
    std::string directory = directory_of(tree, groups.at(""));
    if (!contains(words_of(tree.directory + "/cgroup.controllers"), name_v2)) continue;
    // The top of the tree if it is ours (root), else the group this process was put in (systemd
    // delegation). Once this process has been moved aside, the delegated group is its parent.
    if (ends_with(directory, "/paddock-callers"))
      directory.resize(directory.size() - std::strlen("/paddock-callers"));
    for (const std::string& candidate : {tree.directory, directory})
      if (!candidate.empty() && can_make_groups_in(candidate) &&
          enable_below(candidate, name_v2, prepare))
        return {2, candidate, ""};
    return {0, "", cat("the cgroup of this user is not delegated (", directory, ")")};
  }
  return {0, "", cat("no ", name_v1, " controller is mounted")};
}

}  // namespace

CgroupFacts probe_cgroups(bool prepare) {
  std::vector<MountedTree> trees = mounted_trees();
  std::map<std::string, std::string> groups = groups_of("self");
  CgroupFacts facts;
  auto find = [&](const char* v1, const char* v2) {
    return find_controller(v1, v2, trees, groups, prepare);
  };
  facts.memory = find("memory", "memory");
  facts.pids = find("pids", "pids");
  facts.cpu = find("cpu", "cpu");
  facts.cpuacct = find("cpuacct", "cpu");
  facts.io = find("blkio", "io");
  for (const MountedTree& tree : trees) {
    if (tree.version != 2 || !groups.count("")) continue;
    std::string directory = directory_of(tree, groups.at(""));
    // A process is in one version 2 group only, so this must be the same place as for the
    // controllers.
    for (const Controller* controller : {&facts.memory, &facts.pids, &facts.cpu})
      if (controller->version == 2) directory = controller->directory;
    if (!directory.empty() && can_make_groups_in(directory))
      facts.unified = {2, directory, ""};
    else
      facts.unified = {0, "", cat(tree.directory, " is not writable for this user")};
  }
  if (facts.unified.version == 0 && facts.unified.why_not.empty())
    facts.unified.why_not = "no version 2 tree is mounted";
  facts.pressure = facts.unified.version &&
                   ::access((facts.unified.directory + "/cpu.pressure").c_str(), F_OK) == 0;
  facts.freezer = facts.unified.version ? facts.unified : find("freezer", "freezer");
  if (facts.memory.version == 1) {
    facts.swap_limit =
        ::access((facts.memory.directory + "/memory.memsw.limit_in_bytes").c_str(), F_OK) == 0;
    facts.socket_limit =
        ::access((facts.memory.directory + "/memory.kmem.tcp.limit_in_bytes").c_str(), F_OK) == 0;
  }
  if (facts.memory.version == 2) facts.swap_limit = true;
  return facts;
}

CgroupFacts probe_cgroups_without_scope(const std::string& trouble) {
  CgroupFacts facts = probe_cgroups(true);
  facts.scope_trouble = trouble;
  for (Controller* controller : {&facts.memory, &facts.pids, &facts.cpu, &facts.cpuacct, &facts.io,
                                 &facts.unified, &facts.freezer})
    if (controller->version == 0) controller->why_not += cat("; ", trouble);
  return facts;
}

bool has_unified_controllers() {
  // Where systemd mounts it, without reading the list of all mounts.
  for (const char* directory : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
    if (!words_of(cat(directory, "/cgroup.controllers")).empty()) return true;
  return false;
}

Result<CgroupFacts> enter_scope(const std::string& unit, const std::vector<pid_t>& pids,
                                const std::string& manager) {
  std::string scope;
  for (pid_t pid : pids) {
    std::map<std::string, std::string> groups = groups_of(std::to_string(pid));
    if (!groups.count("") || !ends_with(groups[""], "/" + unit))
      return Error{Code::io, cat("process ", pid, " is not in ", unit), ""};
    if (!scope.empty() && scope != groups[""])
      return Error{Code::io, cat("there is more than one ", unit), ""};
    scope = groups[""];
  }
  CgroupFacts facts;
  facts.manager = manager;
  for (const MountedTree& tree : mounted_trees())
    if (tree.version == 2 && facts.scope.empty()) facts.scope = directory_of(tree, scope);
  if (facts.scope.empty())
    return Error{Code::io, cat("the cgroup ", scope, " is not visible here"), ""};
  std::string aside = facts.scope + "/keeper";
  if (::mkdir(aside.c_str(), 0755) != 0)
    return errno_error(errno, cat("make the cgroup '", aside, "'"));
  for (pid_t pid : pids)
    if (!write_text(aside + "/cgroup.procs", std::to_string(pid)))
      return errno_error(errno, cat("move process ", pid, " to '", aside, "'"));
  auto enable = [&](const char* name) -> Controller {
    if (enable_below(facts.scope, name, false)) return {2, facts.scope, ""};
    return {0, "", cat(manager, " does not delegate ", name)};
  };
  facts.memory = enable("memory");
  facts.pids = enable("pids");
  facts.cpu = facts.cpuacct = enable("cpu");
  facts.io = enable("io");
  if (!facts.memory.version && !facts.pids.version && !facts.cpu.version)
    return Error{Code::io, cat(manager, " delegates none of memory, pids and cpu"), ""};
  facts.unified = facts.freezer = {2, facts.scope, ""};
  facts.pressure = ::access((facts.scope + "/cpu.pressure").c_str(), F_OK) == 0;
  facts.swap_limit = ::access((aside + "/memory.swap.max").c_str(), F_OK) == 0;
  return facts;
}

Result<Cgroup> Cgroup::create(const CgroupPlan& plan) {
  Cgroup group;
  group.plan_ = plan;
  if (::mkdir(plan.directory.c_str(), kMode) != 0)
    return errno_error(errno, cat("make the cgroup '", plan.directory, "'"));
  group.folder_ = Fd(::open(plan.directory.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC));
  Result<void> made;
  if (!group.folder_ || ::flock(group.folder_.get(), LOCK_EX | LOCK_NB) != 0)
    made = errno_error(errno, cat("lock the cgroup '", plan.directory, "'"));
  for (const auto& [file, value] : plan.writes) {
    if (made) made = group.write(file.c_str(), value);
  }
  if (made) {
    group.join_ = Fd(::openat(group.folder_.get(), plan.join.c_str(), O_WRONLY | O_CLOEXEC));
    if (!group.join_) made = errno_error(errno, cat("open '", plan.directory, "/", plan.join, "'"));
  }
  if (made) return group;
  (void)group.remove();
  return std::move(made.error());
}

std::optional<uint64_t> Cgroup::read_number(const char* file) const {
  Fd fd(::openat(folder_.get(), file, O_RDONLY | O_CLOEXEC));
  char text[32] = {};
  if (!fd || ::read(fd.get(), text, sizeof text - 1) <= 0) return std::nullopt;
  uint64_t number = 0;
  if (std::from_chars(text, text + sizeof text, number).ec != std::errc()) return std::nullopt;
  return number;
}

std::optional<uint64_t> Cgroup::read_keyed(const char* file, const char* key) const {
  Fd fd(::openat(folder_.get(), file, O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  Result<std::string> text = read_all(fd.get(), 1 << 16);
  if (!text) return std::nullopt;
  for (const std::string& line : split(text.value(), '\n')) {
    size_t space = line.find(' ');
    if (space == std::string::npos || line.compare(0, space, key) != 0) continue;
    uint64_t number = 0;
    const char* digits = line.data() + space + 1;
    if (std::from_chars(digits, line.data() + line.size(), number).ec == std::errc()) return number;
  }
  return std::nullopt;
}

Result<void> Cgroup::write(const char* file, const std::string& value) const {
  Fd fd(::openat(folder_.get(), file, O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return errno_error(errno, cat("write ", value, " to '", plan_.directory, "/", file, "'"));
  return {};
}

Result<void> Cgroup::set_frozen(bool frozen) const {
  if (plan_.version() == 2) return write("cgroup.freeze", frozen ? "1" : "0");
  return write("freezer.state", frozen ? "FROZEN" : "THAWED");
}

bool Cgroup::is_frozen() const {
  if (plan_.version() == 2) return read_keyed("cgroup.events", "frozen") == 1;
  Fd fd(::openat(folder_.get(), "freezer.state", O_RDONLY | O_CLOEXEC));
  char text[16] = {};
  return fd && ::read(fd.get(), text, sizeof text - 1) > 0 && starts_with(text, "FROZEN");
}

bool Cgroup::kill() const { return bool(write("cgroup.kill", "1")); }

Result<void> Cgroup::remove() const {
  if (::rmdir(plan_.directory.c_str()) != 0 && errno != ENOENT)
    return errno_error(errno, cat("remove the cgroup '", plan_.directory, "'"));
  return {};
}

bool end_cgroup(const std::string& directory) {
  if (!write_text(directory + "/cgroup.kill", "1"))  // version 2
    for (const std::string& word : words_of(directory + "/cgroup.procs"))
      if (int pid = std::atoi(word.c_str()); pid > 0) (void)::kill(pid, SIGKILL);
  // Version 1: frozen processes do not even die.
  (void)write_text(directory + "/freezer.state", "THAWED");
  return ::rmdir(directory.c_str()) == 0 || errno == ENOENT;
}

namespace {

// "paddock-" and the id of a run, or "i" and more of it for a living sandbox.
bool is_name_of_sandbox(std::string_view name) {
  constexpr std::string_view kPrefix = "paddock-";
  if (!starts_with(name, kPrefix)) return false;
  std::string_view id = name.substr(kPrefix.size());
  return is_random_name(id, 16) || (starts_with(id, "i") && is_random_name(id.substr(1), 20));
}

// The sticky bit and the owner tell our groups from others with a similar name.
bool was_made_by_us(int folder) {
  struct stat info;
  return ::fstat(folder, &info) == 0 && (info.st_mode & S_ISVTX) && info.st_uid == ::geteuid();
}

}  // namespace

void remove_stale_cgroups(const std::string& parent) {
  DIR* entries = ::opendir(parent.c_str());
  if (!entries) return;
  while (dirent* entry = ::readdir(entries)) {
    if (!is_name_of_sandbox(entry->d_name)) continue;
    std::string path = cat(parent, "/", entry->d_name);
    Fd folder(::open(path.c_str(), O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder || !was_made_by_us(folder.get()) || was_just_made(folder.get()) ||
        ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0)
      continue;
    (void)end_cgroup(path);
  }
  ::closedir(entries);
}

Result<void> enter_cgroup_namespace() {
  if (::unshare(CLONE_NEWCGROUP) != 0) return errno_error(errno, "enter a cgroup namespace");
  return {};
}

}  // namespace paddock::kernel
