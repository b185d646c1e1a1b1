#include "manager/uid_slot.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"

namespace paddock::manager {

namespace {

constexpr uint32_t kSlots = 32768;
// systemd's table of uids (systemd.io/UIDS-GIDS) leaves 1879048192 and up unused.
constexpr uint32_t kFirstUid = 1'879'048'192;
constexpr uint32_t kFirstUidInNamespace = 30'000;
constexpr char kFolder[] = "/run/paddock-uids";

// Whether this user namespace knows the uids [first, first + kSlots).
bool maps(uint32_t first) {
  Result<std::string> text = read_file("/proc/self/uid_map");
  if (!text) return false;
  for (const std::string& line : split(text.value(), '\n')) {
    std::vector<std::string> numbers = words_in(line);  // inside, outside, count
    if (numbers.size() != 3) continue;
    uint64_t inside = std::strtoull(numbers[0].c_str(), nullptr, 10), count = std::strtoull(numbers[2].c_str(), nullptr, 10);
    if (inside <= first && first + uint64_t{kSlots} <= inside + count) return true;
  }
  return false;
}

Result<Fd> open_folder() {
  if (::mkdir(kFolder, 0700) != 0 && errno != EEXIST) return errno_error(errno, cat("make '", kFolder, "'"));
  Fd folder = TRY(open_file(kFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat info;
  if (::fstat(folder.get(), &info) != 0 || info.st_uid != 0 || (info.st_mode & 022))
    return Error{Code::denied, cat("'", kFolder, "' does not belong to root alone"), "remove it"};
  return folder;
}

}  // namespace

Result<UidSlot> take_uid_slot() {
  uint32_t first = maps(kFirstUid) ? kFirstUid : maps(kFirstUidInNamespace) ? kFirstUidInNamespace : 0;
  if (first == 0)
    return Error{Code::unsupported, "this user namespace has no uids to spare for a sandbox", "run paddock as an ordinary user"};
  Fd folder = TRY(open_folder());
  uint32_t start = 0;
  if (::getrandom(&start, sizeof start, 0) != sizeof start) return errno_error(errno, "get random bytes");
  for (uint32_t i = 0; i < kSlots; ++i) {
    uint32_t slot = (start + i) % kSlots;
    // 1024 files serve all slots: a lock is on one byte of one of them, and open-file-description locks die with
    // their last holder.
    std::string name = std::to_string(slot / 32);
    Fd lock(::openat(folder.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) return errno_error(errno, cat("open '", kFolder, "/", name, "'"));
    struct flock range{};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = slot % 32;
    range.l_len = 1;
    if (::fcntl(lock.get(), F_OFD_SETLK, &range) == 0) return UidSlot{first + slot, std::move(lock)};
    if (errno != EAGAIN && errno != EACCES) return errno_error(errno, cat("lock '", kFolder, "/", name, "'"));
  }
  return Error{Code::exhausted, "every uid for sandboxes is in use", "wait for other sandboxes to end"};
}

}  // namespace paddock::manager
