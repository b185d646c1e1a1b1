#include "audit/log_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

#include "base/digest.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

constexpr std::string_view kSuffix = ".jsonl";
constexpr int kLockTries = 40'000;

// Ten seconds in all.
constexpr timespec kLockPause{0, 250'000};

}  // namespace

// Nobody else may have access, since whoever can write here can destroy the log.
Result<Fd> open_log_directory(const std::string& path) {
  std::string what = cat("open the audit log '", printable(path), "'");
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(errno, what, "its parent directory must exist and be yours to write");
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory)
    return errno_error(
        errno, what,
        errno == ENOTDIR || errno == ELOOP ? "it must be a directory, not a link" : "");
  struct stat info;
  if (::fstat(directory.get(), &info) != 0) return errno_error(errno, what);
  if (info.st_uid != ::geteuid())
    return Error{Code::denied, cat(what, ": it belongs to uid ", info.st_uid, ", not to you"),
                 "name another directory: [audit] path"};
  if (info.st_mode & 077)
    return Error{Code::denied, cat(what, ": others than its owner have access to it"),
                 cat("chmod 700 '", printable(path), "'")};
  return directory;
}

// Polls instead of blocking, so that a stopped process leads to an error rather than to a hang.
Result<Lock> Lock::take(int directory, bool shared) {
  for (int i = 0; i < kLockTries; ++i) {
    if (::flock(directory, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) return Lock(directory);
    if (errno != EWOULDBLOCK && errno != EINTR) return errno_error(errno, "lock the audit log");
    (void)::nanosleep(&kLockPause, nullptr);
  }
  return Error{Code::io, "lock the audit log: another process has held it for ten seconds",
               "look for a stopped one: lslocks, or fuser -v on the directory"};
}

void Lock::release() {
  if (directory_ >= 0) (void)::flock(std::exchange(directory_, -1), LOCK_UN);
}

// A key of another length was damaged; signing with it would produce seals that nobody can check.
Result<std::string> read_seed(int directory) {
  Fd file = TRY(open_in(directory, "key", O_RDONLY));
  std::string seed = TRY(read_all(file.get(), kSeedSize));
  if (seed.size() != kSeedSize)
    return Error{Code::invalid, "read the audit log's key: it is not 32 bytes long",
                 "restore it from a copy"};
  return seed;
}

// Written under a hidden name, synced, and only then made visible. Replaces nothing.
Result<Fd> make_file(Disk& disk, int directory, const std::string& name, std::string_view content) {
  std::string hidden = cat(".", name, ".new"), what = cat("make '", name, "' of the audit log");
  (void)disk.remove(directory, hidden.c_str());  // of a start that was interrupted
  Fd file(disk.create(directory, hidden.c_str()));
  if (!file) return errno_error(errno, what);
  ssize_t written = disk.write_at(file.get(), content, 0);
  if (written != static_cast<ssize_t>(content.size()))
    return errno_error(written < 0 ? errno : ENOSPC, what);
  if (disk.sync(file.get()) != 0) return errno_error(errno, what);
  if (disk.make_visible(directory, hidden.c_str(), name.c_str()) != 0)
    return errno_error(errno, what);
  return file;
}

// A key of its own for `head`, so that the seed is used for signing only.
std::string mac_key_of(std::string_view seed) { return hmac_sha256(seed, "paddock audit head v1"); }

// Eight digits keep the files in order in a listing; larger numbers still work.
std::string segment_name(uint64_t number) {
  char text[40];
  std::snprintf(text, sizeof text, "%08llu.jsonl", static_cast<unsigned long long>(number));
  return text;
}

// Files whose names are not exactly those of segments are ignored.
Result<std::vector<uint64_t>> segment_numbers(int directory) {
  Fd again(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return errno_error(errno, "list the audit log");
  std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(again.get()), ::closedir);
  if (!list) return errno_error(errno, "list the audit log");
  (void)again.release();  // closedir closes it
  std::vector<uint64_t> numbers;
  while (const dirent* entry = ::readdir(list.get())) {
    std::string_view name = entry->d_name;
    if (!ends_with(name, kSuffix)) continue;
    uint64_t number = 0;
    auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failed == std::errc() && number > 0 && segment_name(number) == name)
      numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// Refuses links, and does not block on a fifo that somebody put there.
Result<Fd> open_in(int directory, const std::string& name, int flags) {
  std::string what = cat("open '", name, "' of the audit log");
  Fd file(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) return errno_error(errno, what, errno == ELOOP ? "it is a link: remove it" : "");
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return errno_error(errno, what);
  if (!S_ISREG(info.st_mode))
    return Error{Code::denied, cat(what, ": not a regular file"), "remove it"};
  return file;
}

}  // namespace paddock::audit
