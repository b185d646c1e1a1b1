// What a record costs: the disk alone, one sync for each record, and one sync for all who wait; a
// short-lived appender; verifying.
//
//   audit DIRECTORY ROUNDS → JSON on stdout. All kinds take turns in every round, on the same
//   filesystem.
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "audit/disk.h"
#include "audit/journal.h"
#include "audit/verify.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/text.h"

using namespace paddock;

namespace {

double now_us() {
  timespec time;
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

double cpu_us() {
  rusage usage;
  (void)::getrusage(RUSAGE_SELF, &usage);
  auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "audit: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  return std::move(result).value();
}
void must(Result<void> result) {
  if (!result) (void)must(Result<int>(result.error()));
}

// As `command.start` has it.
Event sample(uint64_t number) {
  Cause cause{"0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"};
  Event event = cause.instant("command.start");
  event.span = "00f067aa0ba902b7";
  event.sandbox = "i4x8k2m9qz";
  event.tenant = "default";
  event.agent = "planner";
  event.data.set("argv", text_list({"python3", "-c", "print(sum(range(1000)))"}));
  event.data.set("user", "user");
  event.data.set("cwd", "/home/user");
  event.data.set("pid", number);
  return event;
}

// Knows how long the last sync took.
class TimedDisk : public audit::Disk {
 public:
  double last_sync_us = 0;
  int sync(int file) override {
    double start = now_us();
    int result = audit::Disk::sync(file);
    last_sync_us = now_us() - start;
    return result;
  }
};

struct Times {
  std::vector<double> us, beyond;  // the whole, and what of it was not the sync
  double total_us = 0, cpu = 0;
  uint64_t count = 0;
  void print(const char* name, bool last = false) {
    auto part = [](std::vector<double>& values, double p) {
      std::sort(values.begin(), values.end());
      return values.empty()
                 ? 0
                 : values[std::min(values.size() - 1,
                                   static_cast<size_t>(p * static_cast<double>(values.size())))];
    };
    std::printf(
        "\"%s\":{\"p50_us\":%.1f,\"p99_us\":%.1f,\"beyond_p50_us\":%.1f,\"beyond_p99_us\":%.1f,"
        "\"per_second\":%.0f,\"cpu_us\":%.2f,\"count\":%zu}%s\n",
        name, part(us, 0.5), part(us, 0.99), part(beyond, 0.5), part(beyond, 0.99),
        static_cast<double>(count) / total_us * 1e6,
        cpu / static_cast<double>(std::max<uint64_t>(count, 1)), us.size(), last ? "" : ",");
  }
  template <class Act>
  void measure(int times, const Act& act, TimedDisk* disk = nullptr) {
    for (int i = 0; i < times; ++i) {
      double start = now_us();
      act();
      us.push_back(now_us() - start);
      if (disk) beyond.push_back(us.back() - disk->last_sync_us);
      total_us += us.back();
      ++count;
    }
  }
};

// `waiting` records are always on their way: whoever hears that one is on the disk hands in the
// next.
void run_waiters(audit::Journal& journal, const TimedDisk& disk, int waiting, uint64_t records,
                 Times& times) {
  struct Slot {
    double start = 0;
    std::function<void(Result<void>)> done;
  };
  std::vector<Slot> slots(static_cast<size_t>(waiting));
  std::mutex mutex;
  std::condition_variable idle;
  int busy = waiting;
  uint64_t begun = 0;  // the journal's thread alone, after the first round
  std::vector<double> us, beyond;
  us.reserve(records + slots.size());
  beyond.reserve(records + slots.size());
  for (Slot& slot : slots)
    slot.done = [&](Result<void> done) {
      must(std::move(done));
      us.push_back(now_us() - slot.start);
      beyond.push_back(us.back() - disk.last_sync_us);
      if (begun < records) {
        ++begun;
        slot.start = now_us();
        journal.record(sample(begun), slot.done);
        return;
      }
      std::lock_guard guard(mutex);
      if (--busy == 0) idle.notify_one();
    };
  double start = now_us(), cpu = cpu_us();
  for (Slot& slot : slots) {
    slot.start = now_us();
    journal.record(sample(0), slot.done);
  }
  std::unique_lock lock(mutex);
  idle.wait(lock, [&] { return busy == 0; });
  times.total_us += now_us() - start;
  times.cpu += cpu_us() - cpu;
  times.count += us.size();
  times.us.insert(times.us.end(), us.begin(), us.end());
  times.beyond.insert(times.beyond.end(), beyond.begin(), beyond.end());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: audit DIRECTORY ROUNDS\n"), 2;
  std::string base = argv[1];
  int rounds = std::atoi(argv[2]);
  auto place = [&](const char* name) { return base + "/" + name; };
  Fd raw = must(open_file(place("raw"), O_WRONLY | O_CREAT | O_APPEND, 0600));
  TimedDisk log_disk, journal_disk;
  audit::Log log = must(audit::Log::open({.directory = place("log"), .disk = &log_disk}));
  audit::JournalOptions options;
  options.log = {.directory = place("journal"), .disk = &journal_disk};
  std::unique_ptr<audit::Journal> journal = must(audit::Journal::start(options));
  (void)must(audit::Log::open({.directory = place("run")}));
  std::string line(450, 'x');

  Times floor, single, run, append;
  const int kWaiting[] = {1, 8, 64, 256};
  Times waiters[4];
  for (int round = 0; round < rounds; ++round) {
    floor.measure(40, [&] {
      must(write_all(raw.get(), line));
      (void)::fdatasync(raw.get());
    });
    single.measure(
        40, [&] { must(log.append({sample(1)}, audit::Sync::disk)); }, &log_disk);
    for (int i = 0; i < 4; ++i)
      run_waiters(*journal, journal_disk, kWaiting[i], static_cast<uint64_t>(kWaiting[i]) * 30,
                  waiters[i]);
    run.measure(100, [&] {
      audit::Log fresh = must(audit::Log::open({.directory = place("run")}));
      must(fresh.append({sample(1)}, audit::Sync::none));
      must(fresh.append({sample(2)}, audit::Sync::none));
    });
    append.measure(200, [&] { must(log.append({sample(1)}, audit::Sync::none)); });
  }

  // 200,000 records, read from the page cache: verifying, and SHA-256 of the same bytes alone.
  audit::Log large =
      must(audit::Log::open({.directory = place("large"), .rotate_bytes = 1ULL << 40}));
  for (uint64_t i = 0; i < 200; ++i) {
    std::vector<Event> events;
    for (uint64_t k = 0; k < 1000; ++k) events.push_back(sample(i * 1000 + k));
    must(large.append(events, audit::Sync::none));
  }
  Times verify, hash;
  Fd file = must(open_file(place("large/00000001.jsonl"), O_RDONLY));
  double bytes = static_cast<double>(::lseek(file.get(), 0, SEEK_END));
  for (int i = 0; i < 5; ++i) {
    verify.measure(1, [&] {
      if (must(audit::verify({.directory = place("large")})).damage) std::exit(1);
    });
    hash.measure(1, [&] { (void)must(sha256_of(file.get())); });
  }

  std::printf("{");
  floor.print("floor");
  single.print("one_sync_each");
  for (int i = 0; i < 4; ++i) waiters[i].print(cat("waiting_", kWaiting[i]).c_str());
  run.print("run");
  append.print("append");
  std::sort(verify.us.begin(), verify.us.end());
  std::sort(hash.us.begin(), hash.us.end());
  std::printf(
      "\"verify\":{\"mb_per_second\":%.0f,\"sha256_mb_per_second\":%.0f,\"records_per_second\":%."
      "0f,\"bytes_per_record\":%.0f}}\n",
      bytes / verify.us[2], bytes / hash.us[2], 200'000 / verify.us[2] * 1e6, bytes / 200'000);
  journal.reset();
  std::filesystem::remove_all(base);
}
