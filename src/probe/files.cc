// Whether files of the host can be read, written or executed from inside.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "probe/probe.h"

namespace paddock::probe {

namespace {

const Answers kAnswers("files");

// Another file at the same path is not a breach: a sandbox has a /var of its own.
void read_host_file(const HostFile& file) {
  std::string probe = cat("read ", file.path);
  Fd fd(::open(file.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info;
  if (!fd || ::fstat(fd.get(), &info) != 0) return kAnswers.held(probe, std::strerror(errno));
  if (info.st_dev == file.device && info.st_ino == file.inode)
    return kAnswers.failed(probe, "the host's own could be opened");
  kAnswers.held(probe, "what is there is not the host's");
}

// Opening may be refused while stat still shows that a file exists.
void see_host_file(const HostFile& file) {
  struct stat info;
  bool found = ::stat(file.path.c_str(), &info) == 0;
  bool same = found && info.st_dev == file.device && info.st_ino == file.inode;
  kAnswers.judge("see that a file of the host exists", same, cat("stat ", file.path, " works"));
}

// The file is removed again at once. errno is kept for the answer.
void write_into(const std::string& probe, const std::string& folder) {
  std::string path = cat(folder, folder == "/" ? "" : "/", "paddock-probe-was-here");
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  int failed = errno;
  if (fd) (void)::unlink(path.c_str());
  errno = failed;
  kAnswers.judge(probe, static_cast<bool>(fd), cat("a file could be made in ", folder));
}

// The file holds no program: the kernel says EACCES before it looks inside, and ENOEXEC after.
void execute_from(const std::string& folder, bool allowed) {
  std::string probe = cat("run a program from ", folder), path = folder + "/paddock-probe-program";
  if (allowed) return kAnswers.untried(probe, "files.tmp_exec allows it");
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755));
  if (!fd) return kAnswers.held(probe, std::strerror(errno));
  bool written = ::write(fd.get(), "x", 1) == 1;
  fd.reset();
  int result = in_child([&] {
    char* const words[] = {const_cast<char*>(path.c_str()), nullptr};
    ::execve(path.c_str(), words, words + 1);
    return errno;
  });
  (void)::unlink(path.c_str());
  if (!written || result < 0) return kAnswers.untried(probe, "the sandbox is too small for it");
  errno = result;
  kAnswers.judge(probe, result != EACCES && result != EPERM, "the kernel would run it");
}

// Three ways to set the bit. Each is a different system call, and a filter could forget one.
void make_setuid_file() {
  std::string path = temporary_folder() + "/paddock-probe-setuid", how;
  for (const char* way : {"open", "chmod", "mknod"}) {
    (void)::unlink(path.c_str());
    if (way == std::string_view("mknod"))
      (void)::mknod(path.c_str(), S_IFREG | 06755, 0);
    else
      Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC,
                way == std::string_view("open") ? 06755 : 0755));
    if (way == std::string_view("chmod")) (void)::chmod(path.c_str(), 06755);
    struct stat info;
    if (::stat(path.c_str(), &info) == 0 && info.st_mode & (S_ISUID | S_ISGID))
      how += cat(how.empty() ? "" : ", ", way);
  }
  (void)::unlink(path.c_str());
  if (how.empty())
    kAnswers.held("make a setuid file", "the bits are refused");
  else
    kAnswers.failed("make a setuid file", cat("by ", how));
}

// A device node would give access to hardware by number, past every path.
void make_device() {
  std::string path = temporary_folder() + "/paddock-probe-device";
  bool made = ::mknod(path.c_str(), S_IFCHR | 0600, 0x0103) == 0;  // /dev/null's number
  int failed = errno;
  if (made) (void)::unlink(path.c_str());
  errno = failed;
  kAnswers.judge("make a device node", made, "mknod works");
}

// Devices through which a program could reach the kernel, the network or a hypervisor.
void open_devices() {
  for (const char* path :
       {"/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/vhost-vsock"}) {
    Fd fd(::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    kAnswers.judge(cat("open ", path), static_cast<bool>(fd), "it opens");
  }
}

// A masked file cannot be opened or is empty, and a masked directory shows no entries.
bool tells_something(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!fd || ::fstat(fd.get(), &info) != 0) return false;
  char byte;
  if (!S_ISDIR(info.st_mode)) return ::read(fd.get(), &byte, 1) == 1;
  size_t entries = 0;
  DIR* folder = ::fdopendir(fd.release());
  while (folder && ::readdir(folder)) ++entries;
  if (folder) ::closedir(folder);
  return entries > 2;
}

// Judged by content and not by identity: in a copied workspace a file has another inode than on the
// host.
void read_hidden(const std::string& path) {
  std::string probe = cat("read what the policy denies: ", path);
  if (tells_something(path))
    kAnswers.failed(probe, "it can be read");
  else
    kAnswers.held(probe, "nothing is there");
}

// Files of /proc that show the whole machine.
void read_kernel_files() {
  std::vector<std::string> told;
  for (const char* name : {"kcore", "kallsyms", "keys", "key-users", "timer_list", "sched_debug",
                           "kmsg", "acpi", "scsi"})
    if (tells_something(cat("/proc/", name))) told.push_back(name);
  if (told.empty())
    kAnswers.held("read the kernel's files in /proc", "all are masked or absent");
  else
    kAnswers.failed("read the kernel's files in /proc",
                    cat("these tell something: ", join(told, ", ")));
}

// Only opened, never written: on an unprotected host that must do no harm.
void write_kernel_files() {
  std::vector<std::string> open;
  for (const char* path :
       {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
        "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger"})
    if (Fd fd(::open(path, O_WRONLY | O_CLOEXEC)); fd) open.push_back(path);
  if (open.empty())
    kAnswers.held("write the kernel's settings in /proc", "all are read-only or hidden");
  else
    kAnswers.failed("write the kernel's settings in /proc",
                    cat("these open for writing: ", join(open, ", ")));
}

}  // namespace

// What the policy denies first, then what no sandbox should be able to do.
void check_files(const Targets& targets) {
  for (const HostFile& file : targets.denied) read_host_file(file);
  for (const std::string& path : targets.hidden) read_hidden(path);
  read_host_file(targets.marker);
  see_host_file(targets.marker);
  for (const char* folder : {"/", "/usr", "/etc"}) write_into(cat("write to ", folder), folder);
  write_into("write to the host's temporary folder", targets.folder);
  std::vector<std::string> folders = {temporary_folder()};
  for (const char* folder : {"/tmp", "/var/tmp", "/dev/shm"})
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  for (const std::string& folder : folders) execute_from(folder, targets.tmp_exec);
  make_setuid_file();
  make_device();
  open_devices();
  read_kernel_files();
  write_kernel_files();
}

}  // namespace paddock::probe
