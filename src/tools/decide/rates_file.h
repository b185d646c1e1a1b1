// The file behind tools/decide/rates.h: a table of counts that all processes map. What is stored
// may be cut off by SIGKILL between any two stores: each of them leaves the file valid, and none
// gives back what was taken. docs/formats/rates.md describes it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "tools/decide/rates.h"

namespace paddock::tools {

// Stored whole and in this order, as far as other processes see it after this one was killed.
template <class T>
void put(T& place, T value) {
  __atomic_store_n(&place, value, __ATOMIC_RELEASE);
}

// The counts of one key. Either a window or a bucket uses it; the kind is part of the key.
struct RatesSlot {
  static constexpr uint64_t kEntries = Rates::kExact;
  struct Entry {
    // The time of the latest call in it.
    int64_t latest;
    uint64_t count;
  };
  // For a window: the entries are tail … head-1, each at its number modulo kEntries.
  uint64_t head, tail;
  // For a bucket: when it would be full again.
  int64_t full_at;
  uint64_t unused;
  Entry entries[kEntries];
};
static_assert(sizeof(RatesSlot) == 1024);

class RatesFile {
 public:
  static constexpr size_t kSlots = 2048;
  // A part of a hash. Two keys with the same one share their counts, which is improbable and only
  // makes the limit stricter.
  struct Id {
    uint64_t high = 0, low = 0;
    bool operator==(const Id&) const = default;
  };

  static Result<RatesFile> open(const std::string& directory, Clocks clocks);
  RatesFile(RatesFile&& other) noexcept;
  RatesFile& operator=(RatesFile&&) = delete;
  ~RatesFile();

  // Between the two nobody else reads or changes anything. lock() also looks at the clocks.
  Result<void> lock();
  void unlock();

  // The file's own time: goes on by the monotonic clock, and over a reboot by the time of day;
  // never backwards.
  int64_t now() const { return now_; }
  // The machine was started that long ago, and this file has counts from before: those that had not
  // reached the disk are missing. Else none.
  std::optional<int64_t> since_reboot() const;

  // Where the counts of `id` are. Unset: there are no counts that matter. With `make`, an idle
  // place is given to it; unset then means that there is none.
  std::optional<size_t> find(const Id& id, bool make);
  RatesSlot& slot(size_t place);
  // From then on nothing in it counts. To be told before what is counted is stored.
  void set_idle_from(size_t place, int64_t time);

 private:
  struct Layout;
  RatesFile(std::string directory, Clocks clocks)
      : directory_(std::move(directory)), clocks_(std::move(clocks)) {}
  Result<void> map();
  void unmap();
  Result<void> wait_for_lock();
  void read_clocks();

  std::string directory_;
  Clocks clocks_;
  Fd file_;
  Layout* layout_ = nullptr;
  int64_t now_ = 0, since_boot_ = 0, synced_ = 0;
};

}  // namespace paddock::tools
