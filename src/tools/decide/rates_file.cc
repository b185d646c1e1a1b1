#include "tools/decide/rates_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "store/state.h"
#include "tools/private_directory.h"

namespace paddock::tools {

namespace {

// The last character is the version of the format (docs/formats/rates.md).
constexpr char kMagic[8] = {'P', 'D', 'K', 'R', 'A', 'T', 'E', '1'};
constexpr int64_t kSecond = 1'000'000'000;
// Milliseconds; who holds the lock does so for microseconds.
constexpr int64_t kMostWait = 1500;

// Marks of index entries. No hash of a key has these values.
constexpr RatesFile::Id kNever{0, 0}, kNobody{1, 0};

// Which boot the file's time goes by. Two of them, so that one store puts the other in force.
struct Boot {
  char id[40];
  // The file's time less the time since that boot.
  int64_t offset;
  // Whether there are counts from before it.
  uint64_t earlier;
};

// These structs are the format of the file, which several processes map. A change needs a new
// magic.
struct Head {
  char magic[8];
  uint32_t slots, slot_bytes;
  // Which of the two boots is in force.
  uint64_t in_force;
  Boot boots[2];
  // When it was used last, by the time of day and by the file's own time.
  int64_t time_of_day, time;
};

struct Index {
  // kNever: nothing ever stood here.
  RatesFile::Id id;
  int64_t idle_from;
  uint64_t unused;
};

// Cannot fail: both clocks exist on every kernel that Paddock runs on.
int64_t read_clock(clockid_t clock) {
  timespec time;
  ::clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace

struct RatesFile::Layout {
  Head head;
  char rest_of_page[4096 - sizeof(Head)];
  Index index[kSlots];
  RatesSlot slots[kSlots];
};

// The id of the boot ends with a newline, which is not part of it.
Result<Clocks> Clocks::of_this_host() {
  Clocks clocks;
  clocks.since_boot_ns = [] { return read_clock(CLOCK_BOOTTIME); };
  clocks.time_of_day_ns = [] { return read_clock(CLOCK_REALTIME); };
  clocks.boot = TRY(read_file("/proc/sys/kernel/random/boot_id", 64));
  while (!clocks.boot.empty() && clocks.boot.back() == '\n') clocks.boot.pop_back();
  return clocks;
}

RatesFile::RatesFile(RatesFile&& other) noexcept
    : directory_(std::move(other.directory_)),
      clocks_(std::move(other.clocks_)),
      file_(std::move(other.file_)),
      layout_(std::exchange(other.layout_, nullptr)),
      synced_(other.synced_) {}

RatesFile::~RatesFile() { unmap(); }

// Done when somebody removed the file, and at the end.
void RatesFile::unmap() {
  if (layout_) (void)::munmap(layout_, sizeof(Layout));
  layout_ = nullptr;
  file_.reset();
}

// Maps the file at once, so that a directory without room or rights is found at the start.
Result<RatesFile> RatesFile::open(const std::string& directory, Clocks clocks) {
  if (clocks.boot.empty() || clocks.boot.size() >= sizeof(Boot::id))
    return Error{Code::unsupported, "tell this boot from others: the kernel gives no id for it",
                 ""};
  RatesFile file(directory, std::move(clocks));
  TRY(file.map());
  return file;
}

Result<void> RatesFile::wait_for_lock() {
  int failed = tools::wait_for_lock(file_.get(), kMostWait);
  if (failed != 0) return not_locked(failed, cat("lock '", printable(directory_), "/rates'"));
  return {};
}

// Made whole before anybody can see it: under another name, then given its own.
Result<void> RatesFile::map() {
  Fd folder = TRY(open_private_directory(directory_));
  std::string path = directory_ + "/rates", what = cat("open '", printable(path), "'");
  const char* hint = "remove it: then every rate is counted from nothing";
  auto open = [&] { return Fd(::openat(folder.get(), "rates", O_RDWR | O_NOFOLLOW | O_CLOEXEC)); };
  file_ = open();
  if (!file_ && errno == ENOENT) {
    std::string temporary = cat(".rates.", TRY(store::random_name(10)));
    Fd fresh(::openat(folder.get(), temporary.c_str(),
                      O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600));
    if (!fresh) return errno_error(errno, cat("make '", printable(path), "'"));
    struct Remove {
      int folder;
      const std::string& name;
      ~Remove() { (void)::unlinkat(folder, name.c_str(), 0); }
    } remove{folder.get(), temporary};
    auto head = std::make_unique<Head>();
    std::memset(head.get(), 0, sizeof(Head));
    std::memcpy(head->magic, kMagic, sizeof kMagic);
    head->slots = kSlots;
    head->slot_bytes = sizeof(RatesSlot);
    head->time_of_day = clocks_.time_of_day_ns();
    head->time = kSecond;
    std::memcpy(head->boots[0].id, clocks_.boot.data(), clocks_.boot.size());
    head->boots[0].offset = head->time - clocks_.since_boot_ns();
    TRY(write_all(fresh.get(), {reinterpret_cast<const char*>(head.get()), sizeof(Head)}));
    // All of it on the disk: a store into a page without a block would end the process when the
    // disk is full.
    if (int failed = ::posix_fallocate(fresh.get(), 0, sizeof(Layout)))
      return errno_error(failed, cat("make room for '", printable(path), "'"));
    (void)::fsync(fresh.get());
    if (::renameat2(folder.get(), temporary.c_str(), folder.get(), "rates", RENAME_NOREPLACE) !=
            0 &&
        errno != EEXIST)
      return errno_error(errno, cat("make '", printable(path), "'"));
    file_ = open();
  }
  if (!file_) return errno_error(errno, what, hint);
  TRY(check_private_file(file_.get(), what));
  struct stat info;
  if (::fstat(file_.get(), &info) != 0) return errno_error(errno, what);
  if (info.st_size != sizeof(Layout))
    return Error{Code::conflict,
                 cat(what, ": it has ", info.st_size, " bytes and not ", sizeof(Layout)), hint};
  void* mapped =
      ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (mapped == MAP_FAILED) return errno_error(errno, cat("map '", printable(path), "'"));
  layout_ = static_cast<Layout*>(mapped);
  const Head& head = layout_->head;
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0 || head.slots != kSlots ||
      head.slot_bytes != sizeof(RatesSlot) || head.in_force > 1)
    return Error{Code::conflict, cat(what, ": it is damaged, or of another version of Paddock"),
                 hint};
  return {};
}

// A file that was removed or replaced meanwhile is opened again.
Result<void> RatesFile::lock() {
  for (int tries = 0; tries < 3; ++tries) {
    if (!layout_) TRY(map());
    TRY(wait_for_lock());
    struct stat info;
    if (::fstat(file_.get(), &info) == 0 && info.st_nlink == 1 && info.st_size == sizeof(Layout)) {
      read_clocks();
      return {};
    }
    unmap();  // somebody removed it: what others count in now is another one
  }
  return Error{Code::conflict,
               cat("use '", printable(directory_), "/rates': it is being removed again and again"),
               ""};
}

// After a reboot the file's time goes on by as much as the time of day says has passed.
void RatesFile::read_clocks() {
  Head& head = layout_->head;
  int64_t of_day = clocks_.time_of_day_ns();
  since_boot_ = clocks_.since_boot_ns();
  const Boot* boot = &head.boots[head.in_force];
  bool is_this_boot =
      clocks_.boot == std::string_view(boot->id, ::strnlen(boot->id, sizeof boot->id));
  // Or a clock that went backwards, as in another time namespace.
  if (!is_this_boot || since_boot_ + boot->offset < head.time) {
    int64_t gone = std::max<int64_t>(0, of_day - head.time_of_day);
    uint64_t other = 1 - head.in_force;
    Boot next{};
    std::memcpy(next.id, clocks_.boot.data(), clocks_.boot.size());
    next.offset = head.time + gone - since_boot_;
    next.earlier = 1;
    head.boots[other] = next;
    put(head.in_force, other);
    boot = &head.boots[other];
  }
  now_ = since_boot_ + boot->offset;
  // In this order: cut off between the two, less time seems to have gone by, not more.
  put(head.time_of_day, of_day);
  put(head.time, now_);
}

void RatesFile::unlock() {
  // What a crash of the machine forgets is what was not written yet: it is on its way after a
  // second, without waiting for it.
  if (since_boot_ - synced_ >= kSecond) {
    (void)::sync_file_range(file_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
    synced_ = since_boot_;
  }
  (void)::flock(file_.get(), LOCK_UN);
}

std::optional<int64_t> RatesFile::since_reboot() const {
  const Boot& boot = layout_->head.boots[layout_->head.in_force];
  if (!boot.earlier) return std::nullopt;
  return since_boot_;
}

// Open addressing: looks from the id's own place on until it finds the id or a place never used.
std::optional<size_t> RatesFile::find(const Id& id, bool make) {
  std::optional<size_t> idle;
  size_t at = id.low % kSlots;
  for (size_t looked = 0; looked < kSlots; ++looked, at = (at + 1) % kSlots) {
    const Index& here = layout_->index[at];
    if (here.id == id) return at;
    if (!idle && here.idle_from <= now_) idle = at;
    if (here.id == kNever) break;
  }
  if (!make || !idle) return std::nullopt;
  Index& index = layout_->index[*idle];
  put(index.id.low, kNobody.low);
  put(index.id.high, kNobody.high);
  RatesSlot& slot = layout_->slots[*idle];
  put(slot.head, uint64_t{0});
  put(slot.tail, uint64_t{0});
  put(slot.full_at, int64_t{0});
  put(index.idle_from, int64_t{0});
  put(index.id.low, id.low);
  put(index.id.high, id.high);  // nobody's until this one: an id never has 1 here
  return idle;
}

RatesSlot& RatesFile::slot(size_t place) { return layout_->slots[place]; }

void RatesFile::set_idle_from(size_t place, int64_t time) {
  Index& index = layout_->index[place];
  if (time > index.idle_from) put(index.idle_from, time);
}

}  // namespace paddock::tools
