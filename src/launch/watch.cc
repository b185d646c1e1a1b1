#include "launch/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/text.h"
#include "linux/cpu_clock.h"
#include "linux/tree.h"

namespace paddock::launch {

namespace {

std::string read_at(int folder, const std::string& path) {
  Fd file(::openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return "";
  Result<std::string> text = read_all(file.get(), 1 << 16);
  return text ? std::move(text.value()) : "";
}

// Field `index` (0-based) of space-separated numbers.
uint64_t field(std::string_view text, int index) {
  while (index-- > 0) {
    size_t space = text.find(' ');
    if (space == std::string_view::npos) return 0;
    text.remove_prefix(space + 1);
  }
  uint64_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Fields of /proc/PID/stat, numbered as in proc(5). The name before the third may hold anything, so counting starts
// behind its last parenthesis.
uint64_t stat_field(const std::string& stat, int number) {
  size_t end = stat.rfind(") ");
  return end == std::string::npos ? 0 : field(std::string_view(stat).substr(end + 2), number - 3);
}

uint64_t to_us(uint64_t ticks) { return ticks * 1'000'000 / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK)); }

// Bytes that wait in the queues of a protocol's sockets: "tx_queue:rx_queue" in hex, the fifth column.
uint64_t queued_bytes(const std::string& table) {
  uint64_t total = 0;
  for (const std::string& line : split(table, '\n')) {
    std::vector<std::string> words = words_in(line);
    if (words.size() < 5 || words[4].size() != 17) continue;
    // SYN_SENT: the sequence numbers that the queue is computed from are being set while we read.
    if (words[3] == "02") continue;
    const std::string& queues = words[4];
    total += std::strtoull(queues.c_str(), nullptr, 16) + std::strtoull(queues.c_str() + 9, nullptr, 16);
  }
  return total;
}

// The sum of "Key:   number kB" lines.
uint64_t kilobytes(const std::string& text, std::initializer_list<const char*> keys) {
  uint64_t total = 0;
  for (const char* key : keys) {
    size_t at = text.find(key);
    if (at != std::string::npos) total += std::strtoull(text.c_str() + at + std::strlen(key), nullptr, 10);
  }
  return total * 1024;
}

std::vector<std::string> numbers_in(int directory) {
  std::vector<std::string> pids;
  Fd folder(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* entries = folder ? ::fdopendir(folder.get()) : nullptr;
  if (!entries) return pids;
  (void)folder.release();
  while (dirent* entry = ::readdir(entries))
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') pids.emplace_back(entry->d_name);
  ::closedir(entries);
  return pids;
}

using FileId = std::pair<dev_t, ino_t>;

// Bytes of the files without a name in a folder of links to files, for which `counts` says yes; each once, whoever holds it.
template <class Counts>
uint64_t nameless_in(int folder, const std::vector<std::string>& names, std::set<FileId>& seen, Counts counts) {
  uint64_t total = 0;
  for (const std::string& name : names) {
    struct stat info;
    if (::fstatat(folder, name.c_str(), &info, 0) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 0) continue;
    if (counts(info.st_dev) && seen.emplace(info.st_dev, info.st_ino).second) total += static_cast<uint64_t>(info.st_blocks) * 512;
  }
  return total;
}

// Those that a process, or one of its threads, holds open.
template <class Counts>
uint64_t nameless_files(int proc, const std::string& process, std::set<FileId>& seen, Counts counts) {
  Fd folder(::openat(proc, (process + "/fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder ? nameless_in(folder.get(), numbers_in(folder.get()), seen, counts) : 0;
}

// Where a process has mapped a file that has no name any more: "start-end", as in map_files.
std::vector<std::string> deleted_mappings(int proc, const std::string& pid) {
  constexpr size_t kMost = 4096;
  std::vector<std::string> found;
  Fd maps(::openat(proc, (pid + "/maps").c_str(), O_RDONLY | O_CLOEXEC));
  FILE* lines = maps ? ::fdopen(maps.get(), "r") : nullptr;
  if (!lines) return found;
  (void)maps.release();
  char* line = nullptr;
  size_t room = 0;
  for (ssize_t size; found.size() < kMost && (size = ::getline(&line, &room, lines)) > 0;) {
    std::string_view text(line, static_cast<size_t>(size));
    if (ends_with(text, " (deleted)\n")) found.emplace_back(text.substr(0, text.find(' ')));
  }
  ::free(line);
  (void)::fclose(lines);
  return found;
}

// All that a process keeps of files without names: open, mapped (only root may look), or open in threads that have
// descriptors of their own. Of very many threads some are looked at, others the next time.
template <class Counts>
uint64_t nameless_files_anywhere(int proc, const std::string& pid, uint64_t turn, std::set<FileId>& seen, Counts counts) {
  constexpr size_t kMostThreads = 64;
  uint64_t total = nameless_files(proc, pid, seen, counts);
  Fd mapped(::openat(proc, (pid + "/map_files").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (mapped) total += nameless_in(mapped.get(), deleted_mappings(proc, pid), seen, counts);
  Fd tasks(::openat(proc, (pid + "/task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::string> threads = tasks ? numbers_in(tasks.get()) : std::vector<std::string>();
  size_t step = threads.size() / kMostThreads + 1;
  for (size_t i = turn % step; i < threads.size(); i += step)
    if (threads[i] != pid) total += nameless_files(tasks.get(), threads[i], seen, counts);
  return total;
}

// What a tmpfs holds. The place is a mount of ours, which nobody inside can take away.
uint64_t in_memory(int root, const char* place) {
  Fd folder(::openat(root, place, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct statfs space;
  if (!folder || ::fstatfs(folder.get(), &space) != 0) return 0;
  return (space.f_blocks - space.f_bfree) * static_cast<uint64_t>(space.f_bsize);
}

}  // namespace

uint64_t now_us() {
  timespec time;
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_nsec) / 1000;
}

std::vector<int> descendants(int pid) {
  std::vector<int> found, open{pid};
  while (!open.empty()) {
    int next = open.back();
    open.pop_back();
    Fd tasks(::open(cat("/proc/", next, "/task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!tasks) continue;
    for (const std::string& task : numbers_in(tasks.get())) {
      for (const std::string& child : split(read_at(tasks.get(), task + "/children"), ' ')) {
        if (child.empty()) continue;
        found.push_back(std::atoi(child.c_str()));
        open.push_back(found.back());
      }
    }
  }
  return found;
}

void end_descendants(const std::vector<kernel::Cgroup>& groups) {
  while (true) {
    for (const kernel::Cgroup& group : groups)
      if (group.plan().version() == 2) (void)group.kill();
    for (int pid : descendants(::getpid())) (void)::kill(pid, SIGKILL);
    pid_t reaped;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {}
    if (reaped < 0 && errno == ECHILD) return;
    ::usleep(200);
  }
}

const kernel::Cgroup* Watcher::group_for(kernel::CgroupUse use) const {
  if (!groups_) return nullptr;
  for (const kernel::Cgroup& group : *groups_)
    if (group.plan().uses & use) return &group;
  return nullptr;
}

Watcher::Processes Watcher::processes() const {
  if (container_) return {Fd(), proc_.get(), numbers_in(proc_.get())};
  Fd host(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int number = host.get();
  Processes all{std::move(host), number, {}};
  for (int pid : descendants(::getpid())) all.pids.push_back(std::to_string(pid));
  return all;
}

void Watcher::add_processes(Sample& sample, bool with_memory) {
  Processes all = processes();
  uint64_t waited_for = 0;
  if (!container_) {
    rusage ended{};
    (void)::getrusage(RUSAGE_CHILDREN, &ended);
    waited_for = static_cast<uint64_t>(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) * 1'000'000 +
                 static_cast<uint64_t>(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec);
  }
  uint64_t with_children = waited_for, alive = 0;
  std::map<std::pair<std::string, uint64_t>, uint64_t> now;
  for (const std::string& pid : all.pids) {
    std::string stat = read_at(all.proc, pid + "/stat");
    uint64_t own = to_us(stat_field(stat, 14) + stat_field(stat, 15));
    sample.pids += stat_field(stat, 20);
    with_children += own + to_us(stat_field(stat, 16) + stat_field(stat, 17));
    alive += own;
    now[{pid, stat_field(stat, 22)}] = own;
  }
  if (container_ && sample.pids > 0) --sample.pids;  // PID 1 is ours
  // Two counts that can each miss something, so the larger holds: what the living used together with the children they
  // waited for (misses children nobody waits for), and what each process had used when it was last seen (misses what
  // it used after that).
  for (const auto& [process, cpu] : own_cpu_)
    if (!now.count(process)) ended_cpu_ += cpu;
  own_cpu_ = std::move(now);
  sample.cpu_us = std::max(with_children, alive + ended_cpu_);
  if (with_memory) sample.memory = memory_of(all.proc, all.pids);
}

// The kernel walks the sockets of the whole host for these tables: at most one part in ten of the time is spent on it.
uint64_t Watcher::queued(int proc) {
  uint64_t begin = now_us();
  if (begin < queued_again_us_) return queued_;
  queued_ = 0;
  for (const char* table : {"1/net/udp", "1/net/udp6", "1/net/tcp", "1/net/tcp6"}) queued_ += queued_bytes(read_at(proc, table));
  queued_again_us_ = now_us() + 9 * (now_us() - begin);
  return queued_;
}

uint64_t Watcher::memory_of(int proc, const std::vector<std::string>& pids) {
  struct stat scratch{};
  if (scratch_) (void)::fstat(scratch_.get(), &scratch);
  std::set<FileId> seen;
  // memfd and deleted files of other tmpfs; those of the scratch filesystem are counted with it.
  auto elsewhere_in_memory = [&](dev_t device) { return major(device) == 0 && device != scratch.st_dev; };
  uint64_t resident = 0, overhead = container_ ? queued(proc) : 0;
  for (const std::string& pid : pids) {
    std::string status = read_at(proc, pid + "/status");
    resident += kilobytes(status, {"RssAnon:", "RssShmem:", "VmSwap:"});
    overhead += kilobytes(status, {"VmPTE:"}) + nameless_files(proc, pid, seen, elsewhere_in_memory);
  }
  // Forked processes share pages that were counted for each: look closer before it matters.
  uint64_t near = all_ ? std::min(watch_.memory / 2, kMatters) : watch_.memory / 2;
  if (resident + overhead <= near) return resident + overhead;
  uint64_t proportional = 0;
  for (const std::string& pid : pids) proportional += kilobytes(read_at(proc, pid + "/smaps_rollup"), {"Pss_Anon:", "Pss_Shmem:", "SwapPss:"});
  return proportional + overhead;
}

// Walking a large tree takes a while: at most one part in ten of the time is spent on it, and far less for the living, of
// which there are many. Who makes many names must not gain time by it, so that the pause stays short, and ends when the
// disk fills quickly.
void Watcher::add_measured(Sample& sample) {
  uint64_t begin = now_us();
  owed_ = begin < measure_again_us_;
  if (!owed_ || (begin >= may_measure_us_ && room_fell())) {
    room_ = room();
    owed_ = false;
    ++turn_;
    bool whole = true;
    std::pair<uint64_t, uint64_t> growth{0, 0};
    for (const Measured& place : measured_) {
      // A tree that grows faster than it is walked ends the walk, and with it the run.
      bool open_up = watch_.measured_whole && ::geteuid() != 0;  // all of it is the sandbox's own
      Result<kernel::TreeSize> size =
          kernel::measure_tree(place.folder.get(), {.make_readable = open_up, .most_inodes = place.inodes + watch_.measured_inodes + 1, .stop = stop_});
      if (!size && size.error().code == Code::exhausted) growth.second = watch_.measured_inodes + 1;  // too deep to be looked at
      whole = whole && size;
      if (!size) continue;
      growth.first += size.value().bytes - std::min(size.value().bytes, place.bytes);
      growth.second += size.value().inodes - std::min(size.value().inodes, place.inodes);
    }
    if (root_) growth.first += nameless_bytes_of_root();
    // Half a walk (directories were moved about) never shows less than the last one did.
    if (!whole) growth = {std::max(growth.first, growth_.first), std::max(growth.second, growth_.second)};
    growth_ = growth;
    uint64_t took = now_us() - begin;
    may_measure_us_ = now_us() + took;
    measure_again_us_ = now_us() + std::min<uint64_t>((watch_.measured_whole ? 49 : 9) * took, kLongestPause);
  }
  sample.disk += growth_.first;
  sample.inodes += growth_.second;
}

// Free bytes where the measured places are.
uint64_t Watcher::room() const {
  struct statfs space;
  if (measured_.empty() || ::fstatfs(measured_.front().folder.get(), &space) != 0) return 0;
  return space.f_bavail * static_cast<uint64_t>(space.f_bsize);
}

bool Watcher::walk_is_due() const { return (owed_ && now_us() >= measure_again_us_) || room_fell(); }

// Others write to the same disk: then a walk is made for nothing.
bool Watcher::room_fell() const {
  if (measured_.empty() || !watch_.measured_disk) return false;
  uint64_t left = watch_.measured_disk - std::min(watch_.measured_disk, growth_.first);
  return room() + std::max(left / 2, kNoticed) < room_;
}

void Watcher::measure_from_here() {
  for (const std::string& path : watch_.measured) {
    Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    bool from_zero = !folder || watch_.measured_whole;
    Result<kernel::TreeSize> size = from_zero ? Result<kernel::TreeSize>(kernel::TreeSize{}) : kernel::measure_tree(folder.get());
    if (folder && size) measured_.push_back({std::move(folder), size.value().bytes, size.value().inodes});
  }
  room_ = room();
}

// Files that were deleted, or never had a name, take room all the same.
uint64_t Watcher::nameless_bytes(dev_t device) const {
  Processes all = processes();
  std::set<FileId> seen;
  uint64_t total = 0;
  for (const std::string& pid : all.pids) total += nameless_files_anywhere(all.proc, pid, turn_, seen, [&](dev_t found) { return found == device; });
  return total;
}

// Both may be overlays of their own.
uint64_t Watcher::nameless_bytes_of_root() const {
  struct stat top{}, usr{};
  if (::fstat(root_.get(), &top) != 0) return 0;
  if (::fstatat(root_.get(), "usr", &usr, AT_SYMLINK_NOFOLLOW) != 0) usr = top;
  Processes all = processes();
  std::set<FileId> seen;
  uint64_t total = 0;
  for (const std::string& pid : all.pids)
    total += nameless_files_anywhere(all.proc, pid, turn_, seen, [&](dev_t found) { return found == top.st_dev || found == usr.st_dev; });
  return total;
}

void Watcher::add_disk(Sample& sample, bool quick) {
  if (!measured_.empty() && !quick) add_measured(sample);
  if (!scratch_) return;
  struct stat place{};
  (void)::fstat(scratch_.get(), &place);
  if (watch_.disk || watch_.inodes) {  // a directory on disk: no quota to read, so count
    if (quick) return;
    ++turn_;
    kernel::MeasureOptions options{.make_readable = true, .most_inodes = watch_.inodes + 1};
    if (Result<kernel::TreeSize> size = kernel::measure_tree(scratch_.get(), options)) {
      sample.disk += size.value().bytes + nameless_bytes(place.st_dev);
      sample.inodes += size.value().inodes;
    }
    return;
  }
  struct statfs space;
  if (::fstatfs(scratch_.get(), &space) != 0) return;
  uint64_t block = static_cast<uint64_t>(space.f_bsize);
  sample.disk += (space.f_blocks - space.f_bfree) * block;
  sample.inodes += space.f_files - space.f_ffree;
  sample.disk_full = watch_.kernel_disk && space.f_bfree * block < 65536;
  sample.inodes_full = watch_.kernel_inodes && space.f_ffree == 0;
}

std::optional<uint64_t> Watcher::counted_cpu_us() const {
  const kernel::Cgroup* cpu = group_for(kernel::kCpuUsage);
  if (cpu && cpu->plan().version() == 1) return cpu->read_number("cpuacct.usage").value_or(0) / 1000;
  if (cpu) return cpu->read_keyed("cpu.stat", "usage_usec").value_or(0);
  if (cpu_clock_) return kernel::read_cpu_clock_us(cpu_clock_.get());
  return std::nullopt;
}

uint64_t Watcher::cpu_us() {
  if (std::optional<uint64_t> counted = counted_cpu_us()) return *counted;
  Sample sample;
  add_processes(sample, false);
  return sample.cpu_us;
}

Sample Watcher::sample(bool quick) {
  Sample sample;
  add_disk(sample, quick);
  const kernel::Cgroup* cpu = group_for(kernel::kCpuUsage);
  bool count_memory = watch_.memory || (all_ && !group_for(kernel::kMemory));
  bool count_processes = count_memory || watch_.pids || ((watch_.kernel_pids || all_) && !group_for(kernel::kPids)) || !cpu;
  if (count_processes) add_processes(sample, count_memory);
  std::optional<uint64_t> counted = counted_cpu_us();
  if (counted) sample.cpu_us = cpu ? *counted : std::max(sample.cpu_us, *counted);
  if (count_memory && root_) sample.memory += in_memory(root_.get(), "dev/shm") + in_memory(root_.get(), "run");
  // Private files in a tmpfs are memory too.
  if (count_memory && watch_.kernel_disk) sample.memory += sample.disk - growth_.first;
  return sample;
}

Counters Watcher::counters() const {
  Counters counters;
  if (const kernel::Cgroup* memory = group_for(kernel::kMemory)) {
    bool v1 = memory->plan().version() == 1;
    counters.memory_peak = memory->read_number(v1 ? "memory.max_usage_in_bytes" : "memory.peak");
    counters.oom_kills = memory->read_keyed(v1 ? "memory.oom_control" : "memory.events", "oom_kill").value_or(0);
  }
  if (const kernel::Cgroup* pids = group_for(kernel::kPids)) {
    counters.pids_peak = pids->read_number("pids.peak");
    counters.pids_refused = pids->read_keyed("pids.events", "max").value_or(0);
  }
  return counters;
}

}  // namespace paddock::launch
