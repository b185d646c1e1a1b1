#include "launch/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
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

// utime, stime, cutime and cstime of /proc/PID/stat, in microseconds. The name before them may hold anything, so
// counting starts behind its last parenthesis.
uint64_t cpu_of(const std::string& stat) {
  size_t end = stat.rfind(") ");
  if (end == std::string::npos) return 0;
  std::string_view rest = std::string_view(stat).substr(end + 2);
  uint64_t ticks = field(rest, 11) + field(rest, 12) + field(rest, 13) + field(rest, 14);
  return ticks * 1'000'000 / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
}

uint64_t threads_of(const std::string& stat) {
  size_t end = stat.rfind(") ");
  return end == std::string::npos ? 0 : field(std::string_view(stat).substr(end + 2), 17);
}

// Anonymous memory, each page counted once however many processes share it after a fork.
uint64_t proportional_memory(int folder, const std::string& pid) {
  std::string text = read_at(folder, pid + "/smaps_rollup");
  uint64_t total = 0;
  for (const char* key : {"Pss_Anon:", "Pss_Shmem:"}) {
    size_t at = text.find(key);
    if (at == std::string::npos) continue;
    total += std::strtoull(text.c_str() + at + std::strlen(key), nullptr, 10) * 1024;
  }
  return total;
}

std::vector<std::string> pids_in(int proc) {
  std::vector<std::string> pids;
  Fd folder(::openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* entries = folder ? ::fdopendir(folder.get()) : nullptr;
  if (!entries) return pids;
  (void)folder.release();
  while (dirent* entry = ::readdir(entries))
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') pids.emplace_back(entry->d_name);
  ::closedir(entries);
  return pids;
}

}  // namespace

std::vector<int> descendants(int pid) {
  std::vector<int> found, open{pid};
  while (!open.empty()) {
    int next = open.back();
    open.pop_back();
    Fd tasks(::open(cat("/proc/", next, "/task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!tasks) continue;
    for (const std::string& task : pids_in(tasks.get())) {
      for (const std::string& child : split(read_at(tasks.get(), task + "/children"), ' ')) {
        if (child.empty()) continue;
        found.push_back(std::atoi(child.c_str()));
        open.push_back(found.back());
      }
    }
  }
  return found;
}

const kernel::Cgroup* Watcher::group_for(kernel::CgroupUse use) const {
  if (!groups_) return nullptr;
  for (const kernel::Cgroup& group : *groups_)
    if (group.plan().uses & use) return &group;
  return nullptr;
}

void Watcher::add_processes(Sample& sample) const {
  Fd host_proc;
  int proc = proc_.get();
  std::vector<std::string> pids;
  if (container_) {
    pids = pids_in(proc);
  } else {
    host_proc = Fd(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    proc = host_proc.get();
    for (int pid : descendants(::getpid())) pids.push_back(std::to_string(pid));
    rusage ended{};
    (void)::getrusage(RUSAGE_CHILDREN, &ended);
    sample.cpu_us += static_cast<uint64_t>(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) * 1'000'000 +
                     static_cast<uint64_t>(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec);
  }
  uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const std::string& pid : pids) {
    std::string stat = read_at(proc, pid + "/stat");
    sample.cpu_us += cpu_of(stat);
    sample.pids += threads_of(stat);
    std::string statm = read_at(proc, pid + "/statm");
    sample.memory += (field(statm, 1) - field(statm, 2)) * page;
  }
  if (container_ && sample.pids > 0) --sample.pids;  // PID 1 is ours
  // Forked processes share pages that were counted for each: look closer before it matters.
  if (watch_.memory && sample.memory > watch_.memory / 2) {
    sample.memory = 0;
    for (const std::string& pid : pids) sample.memory += proportional_memory(proc, pid);
  }
}

void Watcher::add_disk(Sample& sample) const {
  if (!scratch_) return;
  if (watch_.disk || watch_.inodes) {  // a directory on disk: no quota to read, so count
    if (Result<kernel::TreeSize> size = kernel::measure_tree(scratch_.get())) {
      sample.disk = size.value().bytes;
      sample.inodes = size.value().inodes;
    }
    return;
  }
  struct statfs space;
  if (::fstatfs(scratch_.get(), &space) != 0) return;
  uint64_t block = static_cast<uint64_t>(space.f_bsize);
  sample.disk = (space.f_blocks - space.f_bfree) * block;
  sample.inodes = space.f_files - space.f_ffree;
  sample.disk_full = watch_.kernel_disk && space.f_bfree * block < 65536;
  sample.inodes_full = watch_.kernel_inodes && space.f_ffree == 0;
}

Sample Watcher::sample() const {
  Sample sample;
  add_disk(sample);
  const kernel::Cgroup* cpu = group_for(kernel::kCpuUsage);
  bool count_processes = watch_.memory || watch_.pids || (watch_.kernel_pids && !group_for(kernel::kPids)) || !cpu;
  if (count_processes) add_processes(sample);
  if (cpu && cpu->plan().version() == 1) sample.cpu_us = cpu->read_number("cpuacct.usage").value_or(0) / 1000;
  else if (cpu) sample.cpu_us = cpu->read_keyed("cpu.stat", "usage_usec").value_or(0);
  // Private files in a tmpfs are memory too.
  if (watch_.memory && watch_.kernel_disk) sample.memory += sample.disk;
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
