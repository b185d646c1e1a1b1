#include "launch/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/mman.h>
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

#include "base/sanitizer.h"
#include "base/text.h"
#include "linux/child.h"
#include "linux/cpu_clock.h"
#include "linux/tree.h"
#include "linux/user_namespace.h"

namespace paddock::launch {

namespace {

// /proc counts in clock ticks.
uint64_t to_us(uint64_t ticks) {
  return ticks * 1'000'000 / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
}

// Bytes that wait in the queues of a protocol's sockets: "tx_queue:rx_queue" in hex, the fifth
// column.
uint64_t queued_bytes(const std::string& table) {
  uint64_t total = 0;
  for (const std::string& line : split(table, '\n')) {
    std::vector<std::string> words = words_in(line);
    if (words.size() < 5 || words[4].size() != 17) continue;
    // SYN_SENT: the sequence numbers that the queue is computed from are being set while we read.
    if (words[3] == "02") continue;
    const std::string& queues = words[4];
    total +=
        std::strtoull(queues.c_str(), nullptr, 16) + std::strtoull(queues.c_str() + 9, nullptr, 16);
  }
  return total;
}

// The shared memory of the whole host. No sandbox has more of it than this grew by.
std::optional<uint64_t> shared_memory_of_host() {
  ProcText text = read_proc(AT_FDCWD, "/proc/meminfo");
  std::optional<uint64_t> kilobytes =
      text.whole() ? number_after(text.text, "Shmem:") : std::nullopt;
  if (!kilobytes) return std::nullopt;
  return *kilobytes << 10;
}

// The filesystem inside the kernel on which memfds and shared anonymous mappings are files.
dev_t device_of_shared_memory() {
  Fd file(::memfd_create("paddock", MFD_CLOEXEC));
  struct stat info {};
  return file && ::fstat(file.get(), &info) == 0 ? info.st_dev : 0;
}

dev_t device_of(int folder, const char* place) {
  struct stat info {};
  return ::fstatat(folder, place, &info, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0 ? info.st_dev
                                                                                   : 0;
}

// What a tmpfs holds. The place is a mount of ours, which nobody inside can remove.
uint64_t in_memory(int root, const char* place) {
  Fd folder(::openat(root, place, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct statfs space;
  if (!folder || ::fstatfs(folder.get(), &space) != 0 || space.f_type != TMPFS_MAGIC) return 0;
  return (space.f_blocks - space.f_bfree) * static_cast<uint64_t>(space.f_bsize);
}

// Subtracts without going below zero: the two numbers were not read at the same instant.
uint64_t less(uint64_t from, uint64_t what) { return from - std::min(from, what); }

}  // namespace

uint64_t now_us() {
  timespec time;
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<uint64_t>(time.tv_nsec) / 1000;
}

std::vector<int> descendants(int pid) {
  std::vector<int> found, open{pid};
  while (!open.empty()) {
    std::string tasks = cat("/proc/", open.back(), "/task");
    open.pop_back();
    for (const std::string& task :
         numbers_in(AT_FDCWD, tasks).value_or(std::vector<std::string>())) {
      for (const std::string& child :
           words_in(read_proc(AT_FDCWD, cat(tasks, "/", task, "/children")).text)) {
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

void Watcher::use_scratch(Fd scratch) {
  scratch_ = std::move(scratch);
  if (!scratch_ || !(watch_.disk || watch_.inodes)) return;
  // This is a directory on disk without a quota to read. It is measured like the others, and
  // everything in it is new.
  if (Result<Fd> again = open_file(cat("/proc/self/fd/", scratch_.get()), O_RDONLY | O_DIRECTORY)) {
    measured_.push_back({.place = std::move(again.value()), .own = true});
    if (!room_at_start_) room_at_start_ = room_before_ = room_ = room();
  }
}

Watcher::Processes Watcher::processes() const {
  if (container_) {
    std::optional<std::vector<std::string>> pids = numbers_in(proc_.get(), ".");
    bool known = pids.has_value();
    // With a sanitizer, our own process is larger than all that the program may have.
    if (kSanitized && known) std::erase(*pids, "1");
    return {Fd(), proc_.get(), known, known ? std::move(*pids) : std::vector<std::string>()};
  }
  Fd host(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int number = host.get();
  Processes all{std::move(host), number, number >= 0, {}};
  for (int pid : descendants(top_))
    if (pid != ::getpid()) all.pids.push_back(std::to_string(pid));
  return all;
}

void Watcher::add_processes(Sample& sample) {
  Processes all = processes();
  sample.pids_known = all.known;
  uint64_t waited_for = 0;
  if (!container_) {
    ProcText keeper = read_proc(AT_FDCWD, cat("/proc/", top_, "/stat"));
    waited_for = to_us(stat_field(keeper.text, 16) + stat_field(keeper.text, 17));
  }
  uint64_t with_children = waited_for, alive = 0;
  std::map<std::pair<std::string, uint64_t>, uint64_t> now;
  for (const std::string& pid : all.pids) {
    ProcText read = read_proc(all.proc, pid + "/stat");
    if (!read.whole()) sample.pids_known &= read.gone();
    const std::string& stat = read.text;
    uint64_t own = to_us(stat_field(stat, 14) + stat_field(stat, 15));
    sample.pids += stat_field(stat, 20);
    with_children += own + to_us(stat_field(stat, 16) + stat_field(stat, 17));
    alive += own;
    now[{pid, stat_field(stat, 22)}] = own;
  }
  if (container_ && !kSanitized && sample.pids > 0) --sample.pids;  // PID 1 is ours
  // Two counts that can each miss something, so the larger holds: what the living used together
  // with the children they waited for (misses children nobody waits for), and what each process had
  // used when it was last seen (misses what it used after that).
  for (const auto& [process, cpu] : own_cpu_)
    if (!now.count(process)) ended_cpu_ += cpu;
  own_cpu_ = std::move(now);
  sample.cpu_us = std::max(with_children, alive + ended_cpu_);
  if (counts_memory()) add_memory(sample, all);
}

// The kernel walks the sockets of the whole host for these tables: at most one part in ten of the
// time is spent on it.
std::optional<uint64_t> Watcher::queued(int proc) {
  uint64_t begin = now_us();
  if (begin < queued_again_us_) return queued_;
  queued_ = 0;
  for (const char* table : {"udp", "udp6", "tcp", "tcp6", "udplite", "udplite6", "icmp", "icmp6"}) {
    ProcText text = read_proc(proc, cat("1/net/", table));
    if (text.state == ProcText::State::unreadable) queued_ = std::nullopt;
    if (queued_) *queued_ += queued_bytes(text.text);
  }
  queued_again_us_ = now_us() + 9 * (now_us() - begin);
  return queued_;
}

void Watcher::add_memory(Sample& sample, const Processes& all) {
  std::optional<uint64_t> waiting = container_ ? queued(all.proc) : 0;
  bool known = all.known && waiting && unseen_.memory_known;
  uint64_t own = 0, shared = 0, elsewhere = waiting.value_or(0),
           files = in_tmpfs() + unseen_.memory;
  std::vector<ProcessMemory> each;
  for (const std::string& pid : all.pids) {
    std::optional<ProcessMemory> memory = resident_memory(all.proc, pid);
    known = known && memory;
    each.push_back(memory.value_or(ProcessMemory{}));
    own += each.back().own;
    shared += each.back().shared;
    elsewhere += each.back().tables;
  }
  // Mapped pages of shared memory belong to the files that were counted, or to some that were not
  // seen.
  sample.memory = own + elsewhere + std::max(shared, files);
  sample.memory_known = known;
  // Forked processes share pages that were counted for each: look closer before it matters.
  uint64_t near = watch_.memory ? std::min(watch_.memory / 2, kMatters) : kMatters;
  if (sample.memory <= near) return;
  own = shared = 0;
  for (size_t i = 0; i < all.pids.size(); ++i) {
    // Without credit for what is shared.
    ProcessMemory memory = proportional_memory(all.proc, all.pids[i]).value_or(each[i]);
    own += memory.own;
    shared += memory.shared;
  }
  sample.memory = own + elsewhere + std::max(shared, files);
}

// Private files in a tmpfs are memory too.
uint64_t Watcher::in_tmpfs() const {
  uint64_t bytes = watch_.kernel_disk && scratch_ ? in_memory(scratch_.get(), ".") : 0;
  return root_ ? bytes + in_memory(root_.get(), "dev/shm") + in_memory(root_.get(), "run") : bytes;
}

// Looking through all descriptors takes a while where there are many: at most a third of the time.
void Watcher::look_for_unseen() {
  uint64_t begin = now_us();
  if (begin < unseen_again_us_) return;
  Processes all = processes();
  // PID 1 is ours: it cannot be looked into, and hides nothing.
  all.pids.erase(std::remove(all.pids.begin(), all.pids.end(), container_ ? "1" : ""),
                 all.pids.end());
  Holdings held = find_holdings(all.proc, all.pids, breathe_);
  if (container_ && root_) {  // but the guest of a living sandbox opens files for others
    Holdings ours = find_holdings(all.proc, {"1"}, breathe_);
    held.nameless.merge(ours.nameless);
  }
  bool blind = cannot_look_into(held) || !all.known;
  if (counts_memory()) judge_unseen_memory(held, blind);
  if (measures_disk()) judge_unseen_disk(held, blind);
  file_bytes_ = std::move(held.nameless);
  file_bytes_.merge(held.mapped);
  unseen_again_us_ = now_us() + 2 * (now_us() - begin);
}

// A process in the middle of an exec cannot be looked into either, nor can the program before its
// first one: until then PID 1 waits for it in vfork(2), in state "D".
bool Watcher::cannot_look_into(const Holdings& held) {
  if (held.unreadable == 0) {
    blind_since_us_ = 0;
    return false;
  }
  std::string first = container_ && !root_ ? read_proc(proc_.get(), "1/stat").text : "";
  size_t end = first.rfind(") ");
  if (end != std::string::npos && first.compare(end + 2, 1, "D") == 0) return false;
  if (!blind_since_us_) blind_since_us_ = now_us();
  return now_us() - blind_since_us_ > kBlindness;
}

// The bytes of a file that is only mapped: at least as many as when it was last seen open.
uint64_t Watcher::mapped_bytes(const FileId& file, uint64_t mapped) const {
  auto seen = file_bytes_.find(file);
  return seen == file_bytes_.end() ? mapped : std::max(mapped, seen->second);
}

// What can be hidden is bounded by the growth of the host's shared memory. In that case the run is
// charged for others, too.
void Watcher::judge_unseen_memory(Holdings& held, bool blind) {
  uint64_t open = 0, mapped = 0;
  size_t only_mapped = 0;
  for (const auto& [file, bytes] : held.nameless) open += file.first == shared_device_ ? bytes : 0;
  for (auto& [file, bytes] : held.mapped) {
    if (file.first != shared_device_) continue;
    bytes = mapped_bytes(file, bytes);
    mapped += bytes;
    ++only_mapped;
  }
  blind = blind || held.in_flight || only_mapped > kFewShared || !shared_device_;
  uint64_t most = blind ? UINT64_MAX : open + mapped;
  std::optional<uint64_t> host = most > open ? shared_memory_of_host() : std::nullopt;
  if (host && shared_at_start_) {
    shared_at_start_ = std::min(*shared_at_start_, *host);  // others may have freed some
    most = std::min(most, std::max(open, less(*host - *shared_at_start_, in_tmpfs())));
  }
  unseen_.memory_known = most != UINT64_MAX;
  unseen_.memory = unseen_.memory_known ? most : open;
}

// The same with the free space of the disk as the bound. A file that is only mapped, and was never
// seen open, may be as large as what the disk lost since the last time.
void Watcher::judge_unseen_disk(Holdings& held, bool blind) {
  dev_t in_memory[] = {
      shared_device_, watch_.kernel_disk && scratch_ ? device_of(scratch_.get(), "") : 0,
      root_ ? device_of(root_.get(), "dev/shm") : 0, root_ ? device_of(root_.get(), "run") : 0};
  auto on_disk = [&](const FileId& file) {
    return std::find(std::begin(in_memory), std::end(in_memory), file.first) == std::end(in_memory);
  };
  uint64_t bytes = 0, now = room();
  uint64_t lost = less(less(room_before_, now), less(growth_.first, growth_before_));
  size_t only_mapped = 0;
  for (const auto& [file, size] : held.nameless) bytes += on_disk(file) ? size : 0;
  for (auto& [file, size] : held.mapped) {
    if (!on_disk(file)) continue;
    if (!file_bytes_.count(file)) size = std::max(size, std::exchange(lost, 0));
    size = mapped_bytes(file, size);
    bytes += size;
    ++only_mapped;
  }
  if (blind || held.in_flight || only_mapped > kFewMapped || hidden_folders_ ||
      failed_walks_ >= kMostFailedWalks)
    bytes = std::max(bytes, less(less(room_at_start_, now), growth_.first));
  unseen_.disk = bytes;
  room_before_ = now;
  growth_before_ = growth_.first;
}

// Walking a large tree takes a while. At most one part in ten of the time is spent on it, and far
// less for living sandboxes, of which there are many. A program must not gain time by making many
// names, so the pause stays short, and ends early when the disk fills quickly.
void Watcher::measure() {
  uint64_t begin = now_us();
  owed_ = begin < measure_again_us_;
  if (owed_ && (begin < may_measure_us_ || !room_fell())) return;
  room_ = room();
  owed_ = false;
  bool whole = true;
  hidden_folders_ = false;
  std::pair<uint64_t, uint64_t> growth{0, 0};
  for (const Measured& place : measured_) {
    Result<kernel::TreeSize> size = measure(place);
    if (size && size.value().unreadable > place.unreadable && enter_user_namespace())
      size = measure(place);
    // Too deep to be looked at.
    if (!size && size.error().code == Code::exhausted) growth.second = most_inodes() + 1;
    whole = whole && size;
    if (!size) continue;
    growth.first += less(size.value().bytes, place.bytes);
    growth.second += less(size.value().inodes, place.inodes);
    hidden_folders_ |= size.value().unreadable > place.unreadable;
  }
  failed_walks_ = whole ? 0 : failed_walks_ + 1;
  // Half a walk (directories were moved about) never shows less than the last one did.
  if (!whole)
    growth = {std::max(growth.first, growth_.first), std::max(growth.second, growth_.second)};
  growth_ = growth;
  uint64_t took = now_us() - begin;
  may_measure_us_ = now_us() + took;
  measure_again_us_ =
      now_us() + std::min<uint64_t>((watch_.measured_whole ? 49 : 9) * took, kLongestPause);
}

Result<kernel::TreeSize> Watcher::measure(const Measured& place) const {
  if (!place.directory) {
    struct stat info;
    if (::fstat(place.place.get(), &info) != 0) return errno_error(errno, "measure a file");
    return kernel::TreeSize{.bytes = static_cast<uint64_t>(info.st_blocks) * 512};
  }
  bool open_up = ::geteuid() != 0 && place.own;
  // A tree that grows faster than it is walked ends the walk, and with it the run.
  kernel::MeasureOptions options{.make_readable = open_up,
                                 .most_inodes = place.inodes + most_inodes() + 1};
  options.stop = [this] {
    if (breathe_) breathe_();
    return false;
  };
  return kernel::measure_tree(place.place.get(), options);
}

// In its user namespace this process, which made it, has every right over the sandbox's files.
bool Watcher::enter_user_namespace() {
  int entered = std::exchange(user_namespace_, -1);
  return entered >= 0 && kernel::enter_user_namespace(entered) && kernel::die_with_parent();
}

uint64_t Watcher::most_inodes() const { return std::max(watch_.measured_inodes, watch_.inodes); }

// Free bytes where the measured places are.
uint64_t Watcher::room() const {
  struct statfs space;
  if (measured_.empty() || ::fstatfs(measured_.front().place.get(), &space) != 0) return 0;
  return space.f_bfree * static_cast<uint64_t>(space.f_bsize);
}

bool Watcher::walk_is_due() const {
  return (owed_ && now_us() >= measure_again_us_) || room_fell();
}

// If others write to the same disk, a walk is made for nothing.
bool Watcher::room_fell() const {
  uint64_t most = watch_.measured_disk && watch_.disk ? std::min(watch_.measured_disk, watch_.disk)
                                                      : std::max(watch_.measured_disk, watch_.disk);
  if (measured_.empty() || !most) return false;
  return room() + std::max(less(most, growth_.first) / 2, kNoticed) < room_;
}

void Watcher::measure_from_here() {
  if (counts_memory() || !watch_.measured.empty() || watch_.disk)
    shared_device_ = device_of_shared_memory();
  if (counts_memory()) shared_at_start_ = shared_memory_of_host();
  for (const std::string& path : watch_.measured) {
    Measured place{.place = Fd(::open(path.c_str(), O_PATH | O_CLOEXEC))};
    struct stat info;
    if (!place.place || ::fstat(place.place.get(), &info) != 0) continue;
    place.directory = S_ISDIR(info.st_mode);
    if (!place.directory && !S_ISREG(info.st_mode)) continue;
    if (!watch_.measured_whole) {
      Result<kernel::TreeSize> size = measure(place);
      if (!size) continue;
      place.bytes = size.value().bytes;
      place.inodes = size.value().inodes;
      place.unreadable = size.value().unreadable;
    }
    measured_.push_back(std::move(place));
  }
  room_at_start_ = room_before_ = room_ = room();
}

void Watcher::add_disk(Sample& sample, bool quick) {
  if (!measured_.empty() && !quick) measure();
  if ((counts_memory() || measures_disk()) && !quick) look_for_unseen();
  sample.disk += growth_.first + unseen_.disk;
  sample.inodes += growth_.second;
  if (!scratch_ || watch_.disk || watch_.inodes) return;
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
  if (cpu && cpu->plan().version() == 1)
    return cpu->read_number("cpuacct.usage").value_or(0) / 1000;
  if (cpu) return cpu->read_keyed("cpu.stat", "usage_usec").value_or(0);
  if (cpu_clock_) return kernel::read_cpu_clock_us(cpu_clock_.get());
  return std::nullopt;
}

uint64_t Watcher::cpu_us() {
  if (std::optional<uint64_t> counted = counted_cpu_us()) return *counted;
  Sample sample;
  add_processes(sample);
  return sample.cpu_us;
}

bool Watcher::counts_processes() const {
  return counts_memory() || watch_.pids ||
         ((watch_.kernel_pids || all_) && !group_for(kernel::kPids)) ||
         !group_for(kernel::kCpuUsage);
}

std::vector<int> Watcher::descriptors() const {
  std::vector<int> found;
  for (const Fd* fd : {&proc_, &scratch_, &root_})
    if (*fd) found.push_back(fd->get());
  for (const Measured& place : measured_) found.push_back(place.place.get());
  return found;
}

void Watcher::learn(const Sample& sample) {
  if (!sample.complete) return;
  growth_.first = sample.measured_disk;
  owed_ = sample.walk_owed;
  room_ = room();
}

Sample Watcher::sample(bool quick) {
  Sample sample;
  add_disk(sample, quick);
  sample.complete = !quick;
  sample.walk_owed = owed_;
  sample.measured_disk = growth_.first + unseen_.disk;
  if (counts_processes()) add_processes(sample);
  add_counted_cpu(sample);
  return sample;
}

void Watcher::add_counted_cpu(Sample& sample) const {
  std::optional<uint64_t> counted = counted_cpu_us();
  if (counted)
    sample.cpu_us = group_for(kernel::kCpuUsage) ? *counted : std::max(sample.cpu_us, *counted);
}

Counters Watcher::counters() const {
  Counters counters;
  if (const kernel::Cgroup* memory = group_for(kernel::kMemory)) {
    bool v1 = memory->plan().version() == 1;
    counters.memory_peak = memory->read_number(v1 ? "memory.max_usage_in_bytes" : "memory.peak");
    counters.oom_kills =
        memory->read_keyed(v1 ? "memory.oom_control" : "memory.events", "oom_kill").value_or(0);
  }
  if (const kernel::Cgroup* pids = group_for(kernel::kPids)) {
    counters.pids_peak = pids->read_number("pids.peak");
    counters.pids_refused = pids->read_keyed("pids.events", "max").value_or(0);
  }
  return counters;
}

}  // namespace paddock::launch
