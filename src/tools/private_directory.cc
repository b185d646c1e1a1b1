#include "tools/private_directory.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

namespace paddock::tools {

namespace {

constexpr const char* kHint =
    "it must be yours alone: remove it, or set PADDOCK_STATE to a directory of your own";

// With its parents, each for this user alone.
Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  int failed = errno;
  size_t slash = path.rfind('/');
  if (failed == ENOENT && slash != std::string::npos && slash > 0) {
    TRY(make_directory(path.substr(0, slash)));
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
    failed = errno;
  }
  return errno_error(failed, cat("make '", printable(path), "'"));
}

// What others can write, they could use to give out approvals or to reset rates.
Result<void> check_owner(const struct stat& info, const std::string& what) {
  if (info.st_uid != ::geteuid())
    return Error{Code::denied, cat(what, ": it belongs to user ", info.st_uid), kHint};
  if (info.st_mode & 077) return Error{Code::denied, cat(what, ": others can reach it"), kHint};
  return {};
}

}  // namespace

// Checked through the descriptor, so that nobody can exchange the directory in between.
Result<Fd> open_private_directory(const std::string& path) {
  TRY(make_directory(path));
  Fd fd = TRY(open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat info;
  std::string what = cat("open '", printable(path), "'");
  if (::fstat(fd.get(), &info) != 0) return errno_error(errno, what);
  TRY(check_owner(info, what));
  return fd;
}

// A second name could make this file another one that its owner did not mean.
Result<void> check_private_file(int file, const std::string& what) {
  struct stat info;
  if (::fstat(file, &info) != 0) return errno_error(errno, what);
  if (!S_ISREG(info.st_mode) || info.st_nlink > 1)
    return Error{Code::denied, cat(what, ": not a regular file with one name"), kHint};
  return check_owner(info, what);
}

// Yields at first, because most holders are done in microseconds; then sleeps between tries.
int wait_for_lock(int file, int64_t most_ms) {
  constexpr int kYields = 50, kPauseMs = 10;
  for (int64_t tries = 0; tries < kYields + most_ms / kPauseMs; ++tries) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno != EWOULDBLOCK && errno != EINTR) return errno;
    timespec pause{0, kPauseMs * 1'000'000};
    if (tries < kYields)
      ::sched_yield();
    else
      ::nanosleep(&pause, nullptr);
  }
  return EWOULDBLOCK;
}

// A lock that is held for so long usually means a stopped process, so the hint asks for that.
Error not_locked(int failed, const std::string& what) {
  if (failed != EWOULDBLOCK) return errno_error(failed, what);
  return {Code::conflict, cat(what, ": another Paddock process has held it for too long"),
          "is one of them stopped (SIGSTOP)?"};
}

}  // namespace paddock::tools
