#include "tools/decide/rates.h"

#include <algorithm>
#include <cstring>

#include "base/digest.h"
#include "base/text.h"
#include "tools/decide/rates_file.h"

namespace paddock::tools {

namespace {

// All times in this file are nanoseconds; the policy's are milliseconds.
constexpr int64_t kMillisecond = 1'000'000;
// A limit of no longer a period counts as full until the machine runs that long: calls shortly
// before a power failure may not have reached the disk. For longer ones that would be worse than
// what it prevents.
constexpr int64_t kShortPeriod = 600'000 * kMillisecond;
constexpr int64_t kLongestPeriod = 366LL * 24 * 3600 * 1000 * kMillisecond;
constexpr uint64_t kMostCounted = uint64_t{1} << 40;

// Bounded, so that sums of times cannot overflow.
int64_t period_of(const policy::Rate& rate) {
  return std::clamp<int64_t>(rate.period_ms, 1, kLongestPeriod / kMillisecond) * kMillisecond;
}

// For a bucket: how long one call takes to come back. Rounded up, so that never more than the rate
// comes back.
int64_t step_of(const policy::Rate& rate) {
  int64_t period = period_of(rate),
          count = static_cast<int64_t>(std::min<uint64_t>(rate.count, kMostCounted));
  return (period + count - 1) / count;
}

// A window of one period is the same one whatever its number, so that a policy that changes the
// number does not forget.
RatesFile::Id id_of(const Rates::Want& want) {
  const policy::Rate& rate = want.rate;
  std::string text = rate.burst ? cat("bucket ", rate.count, "/", rate.period_ms, " ", rate.burst)
                                : cat("window ", rate.period_ms);
  text += '\0';
  std::string digest = sha256_bytes(text + want.key);
  RatesFile::Id id;
  std::memcpy(&id, digest.data(), sizeof id);
  id.high |= 2;  // neither nobody's nor empty
  return id;
}

// ---- windows ---

// Another process may have been killed while it wrote, or the file may be damaged.
bool is_valid(const RatesSlot& slot, int64_t now) {
  if (slot.head - slot.tail > RatesSlot::kEntries) return false;
  int64_t before = INT64_MIN;
  for (uint64_t at = slot.tail; at != slot.head; ++at) {
    const RatesSlot::Entry& entry = slot.entries[at % RatesSlot::kEntries];
    if (entry.latest < before || entry.latest > now || entry.count > kMostCounted) return false;
    before = entry.latest;
  }
  return true;
}

// How long until there is room for one more; 0: there is.
int64_t window_wait(const RatesSlot& slot, const policy::Rate& rate, int64_t now) {
  int64_t period = period_of(rate);
  uint64_t counted = 0;
  int64_t wait = 0;
  // The latest first: the one with which it is full has to go.
  for (uint64_t at = slot.head; at != slot.tail; --at) {
    const RatesSlot::Entry& entry = slot.entries[(at - 1) % RatesSlot::kEntries];
    if (now - entry.latest >= period) break;
    counted += entry.count;
    if (counted >= rate.count) {
      wait = entry.latest + period - now;
      break;
    }
  }
  return wait;
}

// Drops what is older than the period, then adds the call to the last entry or to a new one.
void count_in_window(RatesSlot& slot, const policy::Rate& rate, int64_t now) {
  int64_t period = period_of(rate),
          together = rate.count <= Rates::kExact
                         ? 0
                         : (period + RatesSlot::kEntries - 2) /
                               static_cast<int64_t>(RatesSlot::kEntries - 1);
  uint64_t tail = slot.tail;
  while (tail != slot.head && now - slot.entries[tail % RatesSlot::kEntries].latest >= period)
    ++tail;
  put(slot.tail, tail);
  if (slot.head != tail) {
    RatesSlot::Entry& last = slot.entries[(slot.head - 1) % RatesSlot::kEntries];
    bool is_full = slot.head - tail == RatesSlot::kEntries;
    if (is_full || (together && now / together == last.latest / together)) {
      put(last.count, last.count + 1);
      put(last.latest, now);
      return;
    }
  }
  slot.entries[slot.head % RatesSlot::kEntries] = {now, 1};
  put(slot.head, slot.head + 1);
}

// ---- buckets: the time at which it would be full again says all ---

// Returns nanoseconds until one more call fits. A product that overflows stands for a bucket that
// is never empty.
int64_t bucket_wait(const RatesSlot& slot, const policy::Rate& rate, int64_t now) {
  int64_t step = step_of(rate), room = 0;
  if (__builtin_mul_overflow(
          step, static_cast<int64_t>(std::min<uint64_t>(rate.burst, kMostCounted)), &room))
    room = INT64_MAX / 4;
  return std::max<int64_t>(0, std::max(slot.full_at, now) + step - now - room);
}

}  // namespace

struct Rates::State {
  RatesFile file;
};

Rates::Rates(std::unique_ptr<State> state) : state_(std::move(state)) {}
Rates::~Rates() = default;

Result<std::unique_ptr<Rates>> Rates::open(const std::string& directory) {
  return open(directory, TRY(Clocks::of_this_host()));
}

Result<std::unique_ptr<Rates>> Rates::open(const std::string& directory, Clocks clocks) {
  RatesFile file = TRY(RatesFile::open(directory, std::move(clocks)));
  return std::unique_ptr<Rates>(new Rates(std::make_unique<State>(State{std::move(file)})));
}

Result<std::optional<Rates::Refused>> Rates::take(const std::vector<Want>& wants) {
  return decide(wants, true);
}
Result<std::optional<Rates::Refused>> Rates::look(const std::vector<Want>& wants) const {
  return decide(wants, false);
}

namespace {

// What a rate says about one call more, in nanoseconds to wait.
int64_t wait_for(RatesFile& file, std::optional<size_t> place, const policy::Rate& rate) {
  int64_t period = period_of(rate);
  if (rate.count == 0) return period;
  std::optional<int64_t> running = file.since_reboot();
  int64_t after_reboot =
      running && period <= kShortPeriod ? std::max<int64_t>(0, period - *running) : 0;
  if (!place) return after_reboot;
  RatesSlot& slot = file.slot(*place);
  int64_t now = file.now();
  if (rate.burst) {
    // Damaged.
    if (slot.full_at - now > 2 * kLongestPeriod) put(slot.full_at, now + kLongestPeriod);
    return std::max(after_reboot, bucket_wait(slot, rate, now));
  }
  if (!is_valid(slot, now)) {  // damaged: as many as may be counted just now
    file.set_idle_from(*place, now + period);
    slot.entries[0] = {now, kMostCounted};
    put(slot.tail, uint64_t{0});
    put(slot.head, uint64_t{1});
  }
  return std::max(after_reboot, window_wait(slot, rate, now));
}

// The slot is kept from reuse before the count is stored, in case this process is killed between
// the two.
void count(RatesFile& file, size_t place, const policy::Rate& rate) {
  int64_t now = file.now();
  RatesSlot& slot = file.slot(place);
  if (rate.burst) {
    int64_t full_at = std::max(slot.full_at, now) + step_of(rate);
    file.set_idle_from(place, full_at);
    put(slot.full_at, full_at);
    return;
  }
  file.set_idle_from(place, now + period_of(rate));
  count_in_window(slot, rate, now);
}

// Releases the lock of the file on every way out.
struct Unlock {
  RatesFile& file;
  ~Unlock() { file.unlock(); }
};

}  // namespace

// Looks at all rates before anything is counted, so that a refused call counts nowhere.
Result<std::optional<Rates::Refused>> Rates::decide(const std::vector<Want>& wants,
                                                    bool take) const {
  if (wants.empty()) return std::optional<Refused>();
  RatesFile& file = state_->file;
  std::vector<RatesFile::Id> ids;
  for (const Want& want : wants) ids.push_back(id_of(want));
  TRY(file.lock());
  Unlock unlock{file};
  std::optional<Refused> refused;
  for (size_t i = 0; i < wants.size(); ++i) {
    int64_t wait = wait_for(file, file.find(ids[i], false), wants[i].rate);
    int64_t retry_after_ms = (wait + kMillisecond - 1) / kMillisecond;
    if (wait > 0 && (!refused || retry_after_ms > refused->retry_after_ms))
      refused = Refused{i, retry_after_ms};
  }
  if (refused || !take) return refused;
  // A place for each before anything is counted. One that was made just now counts nothing yet: it
  // is held by being told when it will be idle.
  std::vector<size_t> places;
  for (size_t i = 0; i < wants.size(); ++i) {
    std::optional<size_t> place = file.find(ids[i], true);
    if (!place)
      return Error{Code::exhausted,
                   cat("count a call for ", wants[i].rule, ": ", RatesFile::kSlots,
                       " rates are being counted already"),
                   "wait until some of their periods are over, or use fewer agent_rate entries "
                   "with long periods"};
    file.set_idle_from(*place, file.now() + 1);
    places.push_back(*place);
  }
  for (size_t i = 0; i < wants.size(); ++i)
    if (std::find(places.begin(), places.begin() + static_cast<ptrdiff_t>(i), places[i]) ==
        places.begin() + static_cast<ptrdiff_t>(i))
      count(file, places[i], wants[i].rate);
  return refused;
}

}  // namespace paddock::tools
