#include "wall/facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "linux/bounded_filesystem.h"
#include "linux/caps.h"
#include "linux/landlock.h"
#include "linux/seccomp.h"

namespace paddock::wall {

namespace {

// The parts of a Linux system that programs are made of. Nothing of /home, /root, /run, /var, /srv,
// /opt or /tmp.
constexpr const char* kSystem[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};

// What programs read in /etc that is neither personal nor secret. Users, hosts and resolver are
// made fresh.
constexpr const char* kEtc[] = {
    "alternatives",  // where Debian's /usr/bin links point
    "ld.so.cache",   // or every start searches for its libraries
    "ssl/certs",     // public certificates; not ssl/private
    "ssl/openssl.cnf",
    "ssl/cert.pem",
    "ssl/ca-bundle.pem",
    "pki/tls/certs",
    "pki/ca-trust/extracted",
    "localtime",
    "os-release",
    "fonts",
    "java-17-openjdk",
    "java-21-openjdk",  // Java's own settings are links to here
};

// Where the systems keep what their programs trust: Debian, Fedora, openSUSE, Alpine.
constexpr const char* kCaBundles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                      "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                      "/etc/ssl/cert.pem"};
constexpr char kJavaTrustStore[] = "/etc/ssl/certs/java/cacerts";

// Files of /proc that reveal the host's kernel, hardware, load or other sandboxes, or act on the
// machine. What programs read as a matter of course stays: cpuinfo, meminfo, stat, uptime, loadavg,
// version, filesystems, vmstat, cgroups, devices. Each costs every start some 30 µs, so lists of
// hardware that any machine has (bus, tty, irq, ioports) stay, too.
constexpr const char* kProcMasks[] = {
    "kcore", "kallsyms", "keys", "key-users", "timer_list", "sched_debug", "sysrq-trigger", "kmsg",
    "acpi", "scsi",
    // How the host was booted and built.
    "cmdline", "config.gz", "modules",
    // What its processors do; even keystrokes show in it.
    "interrupts", "softirqs", "schedstat",
    // Its disks, and which files are locked on them.
    "locks", "diskstats", "partitions", "swaps", "mdstat", "fs", "buddyinfo", "zoneinfo",
    "iomem",  // its memory
};

// Under the process wall, which has no /proc and /dev of its own, a program sees only these.
constexpr const char* kSystemFiles[] = {"/proc/cpuinfo",
                                        "/proc/meminfo",
                                        "/proc/stat",
                                        "/proc/uptime",
                                        "/proc/loadavg",
                                        "/proc/version",
                                        "/proc/filesystems",
                                        "/proc/sys/kernel/osrelease",
                                        "/proc/sys/kernel/ngroups_max",
                                        "/proc/sys/kernel/random",
                                        "/proc/sys/vm/overcommit_memory",
                                        "/proc/sys/kernel/cap_last_cap"};

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Nothing if there is no such entry.
std::optional<RootEntry> look_at_entry(const std::string& folder, const std::string& name) {
  RootEntry entry{.name = name};
  std::string path = folder + "/" + name;
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return std::nullopt;
  entry.is_directory = S_ISDIR(info.st_mode);
  entry.is_link = S_ISLNK(info.st_mode);
  if (!entry.is_link) return entry;
  char target[4096];
  ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  if (size > 0) entry.link.assign(target, static_cast<size_t>(size));
  return entry;
}

// The real path of a regular file in a root, with links followed as they are inside; empty if there
// is none.
std::string find_file(int root, const std::string& path) {
  open_how how{.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
  Fd file(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
  struct stat info;
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  auto name_of = [](int fd) {
    char target[4096];
    ssize_t size = ::readlink(cat("/proc/self/fd/", fd).c_str(), target, sizeof target);
    return std::string(target, size > 0 ? static_cast<size_t>(size) : 0);
  };
  std::string found = name_of(file.get()), top = name_of(root);
  if (top == "/") return found;
  return starts_with(found, top + "/") ? found.substr(top.size()) : "";
}

// The form of a switch in sysfs and procfs.
bool reads_one(const char* path) {
  Result<std::string> text = read_file(path, 64);
  return text && starts_with(text.value(), "1");
}

// A new namespace takes its settings from the kernel's defaults, or from the host's where the
// administrator says so.
bool has_ipv6() {
  if (!Fd(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0))) return false;
  if (reads_one("/sys/module/ipv6/parameters/disable_ipv6")) return false;
  Result<std::string> inherited = read_file("/proc/sys/net/core/devconf_inherit_init_net", 64);
  bool inherits =
      inherited && !starts_with(inherited.value(), "0") && !starts_with(inherited.value(), "2");
  return !inherits || !reads_one("/proc/sys/net/ipv6/conf/default/disable_ipv6");
}

// RLIMIT_NPROC counts all processes of a user, so those that run already must be added to it.
uint64_t count_processes_of(uint32_t uid) {
  uint64_t count = 0;
  DIR* proc = ::opendir("/proc");
  if (!proc) return 0;
  while (dirent* entry = ::readdir(proc)) {
    struct stat info;
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (::fstatat(::dirfd(proc), entry->d_name, &info, 0) == 0 && info.st_uid == uid) ++count;
  }
  ::closedir(proc);
  return count;
}

}  // namespace

HostFacts probe_host(WallKind wall) {
  HostFacts facts;
  facts.uid = ::geteuid();
  facts.gid = ::getegid();
  if (facts.uid == 0) {
    facts.privileged = kernel::has_capability(CAP_SETUID) && kernel::has_capability(CAP_SETGID) &&
                       kernel::has_capability(CAP_SYS_ADMIN) && kernel::has_capability(CAP_CHOWN);
    if (facts.privileged)
      facts.no_bounded_disk_why = kernel::why_no_bounded_filesystem();
    else
      facts.not_privileged_why =
          "this root lacks CAP_SETUID, CAP_SETGID, CAP_CHOWN or CAP_SYS_ADMIN";
  }
  facts.landlock_abi = kernel::landlock_abi();
  facts.seccomp = kernel::seccomp_works();
  if (!facts.privileged && wall == WallKind::process)
    facts.processes_of_user = count_processes_of(facts.uid);
  for (const char* name : kSystem)
    if (auto entry = look_at_entry("", name)) facts.root.push_back(*entry);
  for (const char* name : kEtc)
    if (auto entry = look_at_entry("/etc", name)) facts.etc.push_back(*entry);
  for (const char* name : kProcMasks)
    if (exists(cat("/proc/", name))) facts.proc_masks.push_back(cat("/proc/", name));
  for (const char* path : kSystemFiles)
    if (wall == WallKind::process && exists(path)) facts.system_files.push_back(path);
  return facts;
}

NetworkFacts probe_network(const std::string& root) {
  NetworkFacts facts;
  facts.ipv6 = has_ipv6();
  Fd top(::open(root.empty() ? "/" : root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return facts;
  for (const char* path : kCaBundles) {
    std::string found = find_file(top.get(), path);
    bool is_new = std::find(facts.ca_bundles.begin(), facts.ca_bundles.end(), found) ==
                  facts.ca_bundles.end();
    if (!found.empty() && is_new) facts.ca_bundles.push_back(found);
  }
  facts.java_trust_store = find_file(top.get(), kJavaTrustStore);
  if (!root.empty()) facts.resolv_conf = find_file(top.get(), "/etc/resolv.conf");
  return facts;
}

Result<std::vector<RootEntry>> list_root(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (!folder)
    return errno_error(errno, cat("open root '", printable(path), "'"),
                       "make one with: paddock image import NAME FILE");
  std::vector<RootEntry> entries;
  while (dirent* entry = ::readdir(folder)) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (auto found = look_at_entry(path, name)) entries.push_back(*found);
  }
  ::closedir(folder);
  std::sort(entries.begin(), entries.end(),
            [](const RootEntry& a, const RootEntry& b) { return a.name < b.name; });
  return entries;
}

std::string unescape_mount(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    bool escaped = text[i] == '\\' && i + 3 < text.size();
    plain += escaped ? static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                         (text[i + 3] - '0'))
                     : text[i];
    if (escaped) i += 3;
  }
  return plain;
}

namespace {

// If it cannot be found out, there may be some.
bool has_mounts_beneath(const std::string& path) {
  Result<std::string> text = read_file("/proc/self/mountinfo");
  if (!text) return true;
  for (const std::string& line : split(text.value(), '\n')) {
    std::vector<std::string> fields = split(line, ' ');
    if (fields.size() > 4 &&
        starts_with(unescape_mount(fields[4]), path == "/" ? path : path + "/"))
      return true;
  }
  return false;
}

}  // namespace

// One descriptor serves for the identity and the real name, so that what is judged is what will be
// mounted.
Result<HostPath> look_at(const std::string& path, std::string* real) {
  Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info;
  if (!place || ::fstat(place.get(), &info) != 0)
    return errno_error(errno, cat("look at '", printable(path), "'"));
  char target[4096];
  ssize_t size = ::readlink(cat("/proc/self/fd/", place.get()).c_str(), target, sizeof target);
  if (size <= 0) return errno_error(errno, cat("find the real name of '", printable(path), "'"));
  std::string name(target, static_cast<size_t>(size));
  bool is_directory = S_ISDIR(info.st_mode);
  if (real) *real = name;
  return HostPath{path,
                  {info.st_dev, info.st_ino},
                  is_directory,
                  S_ISSOCK(info.st_mode),
                  info.st_uid,
                  info.st_gid,
                  is_directory && has_mounts_beneath(name)};
}

}  // namespace paddock::wall
