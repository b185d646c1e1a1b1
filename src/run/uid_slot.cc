#include "run/uid_slot.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"
#include "store/rootfs.h"

namespace paddock::runs {

namespace {

constexpr uint32_t kSlots = 32768;
// systemd's table of uids (systemd.io/UIDS-GIDS) leaves 1879048192 to 2147483647 unused. The slots
// are the first of these; ranges follow, in steps of their size.
constexpr uint32_t kFirstUid = 1'879'048'192;
// Most namespaces of containers map 65536 ids; accounts are at their lower end.
constexpr uint32_t kFirstUidInNamespace = 30'000;
constexpr uint32_t kFirstRange = kFirstUid + store::kIdCount;
constexpr uint32_t kRanges = 4094;
constexpr char kFolder[] = "/run/paddock-uids";

// Whether this user namespace maps the uids [first, first + wanted).
bool maps(uint32_t first, uint32_t wanted) {
  Result<std::string> text = read_file("/proc/self/uid_map");
  if (!text) return false;
  for (const std::string& line : split(text.value(), '\n')) {
    std::vector<std::string> numbers = words_in(line);  // inside, outside, count
    if (numbers.size() != 3) continue;
    uint64_t inside = std::strtoull(numbers[0].c_str(), nullptr, 10),
             count = std::strtoull(numbers[2].c_str(), nullptr, 10);
    if (inside <= first && first + uint64_t{wanted} <= inside + count) return true;
  }
  return false;
}

// The folder must be root's: whoever can write there could free or block slots.
Result<Fd> open_folder() {
  if (::mkdir(kFolder, 0700) != 0 && errno != EEXIST)
    return errno_error(errno, cat("make '", kFolder, "'"));
  Fd folder = TRY(open_file(kFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat info;
  if (::fstat(folder.get(), &info) != 0 || info.st_uid != 0 || (info.st_mode & 022))
    return Error{Code::denied, cat("'", kFolder, "' does not belong to root alone"), "remove it"};
  return folder;
}

// A slot and the descriptor whose lock holds it.
struct Taken {
  uint32_t slot = 0;
  Fd lock;
};

// Takes a free slot. One file serves 32 of them: each lock is on one byte of it. Locks of open file
// descriptions are released with the last descriptor, so a crash cannot leak one.
Result<Taken> take_slot(const std::string& prefix, uint32_t slots) {
  Fd folder = TRY(open_folder());
  // A random start keeps sandboxes that begin at the same time from trying the same slots.
  uint32_t start = 0;
  if (::getrandom(&start, sizeof start, 0) != sizeof start)
    return errno_error(errno, "get random bytes");
  for (uint32_t i = 0; i < slots; ++i) {
    uint32_t slot = (start % slots + i) % slots;
    std::string name = cat(prefix, slot / 32);
    Fd lock(::openat(folder.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) return errno_error(errno, cat("open '", kFolder, "/", name, "'"));
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = slot % 32;
    range.l_len = 1;
    if (::fcntl(lock.get(), F_OFD_SETLK, &range) == 0) return Taken{slot, std::move(lock)};
    if (errno != EAGAIN && errno != EACCES)
      return errno_error(errno, cat("lock '", kFolder, "/", name, "'"));
  }
  return Error{Code::exhausted, "every uid for sandboxes is in use",
               "wait for other sandboxes to end"};
}

}  // namespace

Result<UidSlot> take_uid_slot() {
  uint32_t first = maps(kFirstUid, kSlots)              ? kFirstUid
                   : maps(kFirstUidInNamespace, kSlots) ? kFirstUidInNamespace
                                                        : 0;
  if (first == 0)
    return Error{Code::unsupported, "this user namespace has no uids to spare for a sandbox",
                 "run paddock as an ordinary user"};
  Taken taken = TRY(take_slot("", kSlots));
  // Beside the slots, and before the ranges that follow.
  uint32_t spare = first == kFirstUid ? first + kSlots : first - 1;
  return UidSlot{first + taken.slot, spare, std::move(taken.lock)};
}

Result<IdRange> take_id_range() {
  if (!maps(store::kDiskBase, store::kIdCount) || !maps(kFirstRange, kRanges * store::kIdCount))
    return Error{Code::unsupported,
                 "this user namespace has no range of ids to spare for a living sandbox",
                 "run paddock as an ordinary user"};
  Taken taken = TRY(take_slot("range-", kRanges));
  return IdRange{kFirstRange + taken.slot * store::kIdCount, std::move(taken.lock)};
}

}  // namespace paddock::runs
