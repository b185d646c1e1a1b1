#include "linux/bounded_filesystem.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"

namespace paddock::kernel {

namespace {

constexpr char kControl[] = "/dev/loop-control";
constexpr char kMaker[] = "/usr/sbin/mke2fs";
constexpr uint64_t kInodeSize = 256;
// ext4 has inodes in such steps for each group of blocks.
constexpr uint64_t kGroupSize = 128 << 20, kGroupInodes = 16;
constexpr int kAttempts = 64;  // others look for a free device, too

// Runs mke2fs on the open file, which has no name of its own to be given.
Result<void> make_ext4(int image, uint64_t inodes) {
  std::string count = std::to_string(inodes);
  // It lives as long as one run: a journal would only cost.
  const char* argv[] = {kMaker,
                        "-q",
                        "-F",
                        "-t",
                        "ext4",
                        "-O",
                        "^has_journal,^resize_inode",
                        "-E",
                        "nodiscard",
                        "-m",
                        "0",
                        "-b",
                        "4096",
                        "-I",
                        "256",
                        "-N",
                        count.c_str(),
                        "/proc/self/fd/3",
                        nullptr};
  char* env[] = {nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, image, 3);
  pid_t pid = 0;
  int failed = ::posix_spawn(&pid, kMaker, &actions, nullptr, const_cast<char* const*>(argv), env);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed) return errno_error(failed, cat("start ", kMaker), "install e2fsprogs");
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (status != 0)
    return Error{
        Code::io,
        cat(kMaker, " failed: ",
            WIFEXITED(status) ? cat("exit status ", WEXITSTATUS(status)) : "it was killed"),
        ""};
  return {};
}

// A loop device and the descriptor that keeps it set up.
struct Device {
  Fd fd;  // held until it is mounted: without users it clears itself
  std::string path;
};

// Between finding a free device and taking it somebody else may take it, so this tries again.
Result<Device> attach(int image) {
  Fd control = TRY(open_file(kControl, O_RDWR));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return errno_error(errno, "find a free loop device");
    std::string path = cat("/dev/loop", number);
    Fd device = TRY(open_file(path, O_RDWR));
    loop_config config{};
    config.fd = static_cast<uint32_t>(image);
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (::ioctl(device.get(), LOOP_CONFIGURE, &config) == 0)
      return Device{std::move(device), std::move(path)};
    if (errno != EBUSY) return errno_error(errno, cat("set up ", path));
  }
  return Error{Code::exhausted, "others took every loop device that was free", "try again"};
}

}  // namespace

std::string why_no_bounded_filesystem() {
  if (::access(kControl, R_OK | W_OK) != 0)
    return cat("there is no ", kControl, " that we may use");
  if (::access(kMaker, X_OK) != 0) return cat(kMaker, " is not installed");
  return "";
}

Result<void> mount_bounded_filesystem(const std::string& directory, uint64_t bytes,
                                      uint64_t inodes) {
  Fd image(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  // The tables of inodes come on top; the rest of what the filesystem needs for itself is taken
  // from the space.
  uint64_t size = (bytes + inodes * kInodeSize + 4095) / 4096 * 4096;
  if (!image || ::ftruncate(image.get(), static_cast<off_t>(size)) != 0)
    return errno_error(errno, cat("make a file of ", size, " bytes in '", directory, "'"));
  uint64_t step = kGroupInodes * (size / kGroupSize + 1);
  TRY(make_ext4(image.get(), std::max(inodes / step, uint64_t{1}) * step));
  Device device = TRY(attach(image.get()));
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return errno_error(errno, "make a mount namespace");
  if (::mount(device.path.c_str(), directory.c_str(), "ext4", MS_NOSUID | MS_NODEV, nullptr) != 0)
    return errno_error(errno, cat("mount ", device.path));
  (void)::rmdir(cat(directory, "/lost+found").c_str());
  return {};
}

void unmount_bounded_filesystem(const std::string& directory) {
  (void)::umount2(directory.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
}

}  // namespace paddock::kernel
