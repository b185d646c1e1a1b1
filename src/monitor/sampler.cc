#include "monitor/sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace paddock::monitor {

namespace {

using File = Sampler::File;

// After so many reads without CPU use, memory and processes are looked at all the same.
constexpr int kMostStill = 10;
constexpr size_t kLargest = 16 << 10;  // of a file: memory.stat has about 4 KB

uint64_t number_at(std::string_view text) {
  uint64_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Calls `take(line)` for each line.
template <class Take>
void each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The number after `key` in lines of "key number".
std::optional<uint64_t> keyed(std::string_view text, std::string_view key) {
  std::optional<uint64_t> found;
  each_line(text, [&](std::string_view line) {
    if (!found && line.size() > key.size() && line.substr(0, key.size()) == key &&
        line[key.size()] == ' ')
      found = number_at(line.substr(key.size() + 1));
  });
  return found;
}

// The content of one file, on the stack: a sample must not allocate for each of a dozen files.
class Text {
 public:
  // Reads a whole file, which stays open if `keep` is set. There is no text if there is no such
  // file, or if its group is gone.
  Text(File& file, bool keep) {
    if (file.path.empty()) return;
    if (!file.fd) file.fd = Fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    ssize_t count = file.fd ? ::pread(file.fd.get(), bytes_, sizeof bytes_, 0) : -1;
    if (!keep || count < 0) file.fd.reset();
    if (count >= 0) size_ = static_cast<size_t>(count);
    there_ = count >= 0;
  }
  explicit operator bool() const { return there_; }
  std::string_view view() const { return {bytes_, size_}; }

 private:
  char bytes_[kLargest];
  size_t size_ = 0;
  bool there_ = false;
};

// "8:0 Read 4096" of version 1, "8:0 rbytes=4096 wbytes=0 …" of version 2, summed over all disks.
void add_disks(std::string_view text, bool v1, Reading& reading) {
  reading.read_bytes = reading.written_bytes = 0;
  auto behind = [](std::string_view line, std::string_view key) {
    size_t at = line.find(key);
    return at == std::string_view::npos ? 0 : number_at(line.substr(at + key.size()));
  };
  each_line(text, [&](std::string_view line) {
    reading.read_bytes += behind(line, v1 ? " Read " : " rbytes=");
    reading.written_bytes += behind(line, v1 ? " Write " : " wbytes=");
  });
}

// The share of the last ten seconds in which some task waited: "some avg10=1.50 avg60=…".
double some_avg10(std::string_view text) {
  constexpr std::string_view kKey = "some avg10=";
  size_t at = text.find(kKey);
  double percent = -1;
  if (at != std::string_view::npos)
    (void)std::from_chars(text.data() + at + kKey.size(), text.data() + text.size(), percent);
  return percent;
}

void read_pressure(File& file, bool keep, double& percent) {
  if (Text text(file, keep); text) percent = some_avg10(text.view());
}

void read_one(File& file, bool keep, uint64_t& number) {
  if (Text text(file, keep); text) number = number_at(text.view());
}

}  // namespace

// Looks at version 1 first: on a hybrid host only the pressure is then taken from the version 2
// group.
void Sampler::find() {
  found_ = true;
  auto is_v1 = [](const std::string& directory) {
    return ::access((directory + "/cgroup.controllers").c_str(), F_OK) != 0;
  };
  for (bool v1 : {true, false})
    for (const std::string& directory : directories_)
      if (is_v1(directory) == v1) look_in(directory, v1);
  if (throttle_.path == cpu_.path) throttle_.path.clear();  // version 2 has both in one file
}

// The first directory that has a file is used for it.
void Sampler::look_in(const std::string& directory, bool v1) {
  auto use = [&](File& file, const char* name) {
    if (!file.path.empty()) return;
    std::string path = cat(directory, "/", name);
    if (::access(path.c_str(), R_OK) == 0) file = {std::move(path), Fd(), v1};
  };
  use(cpu_, v1 ? "cpuacct.usage" : "cpu.stat");
  use(memory_, v1 ? "memory.usage_in_bytes" : "memory.current");
  use(pids_, "pids.current");
  use(memory_stat_, "memory.stat");
  use(memory_peak_, v1 ? "memory.max_usage_in_bytes" : "memory.peak");
  use(oom_, v1 ? "memory.oom_control" : "memory.events");
  use(throttle_, "cpu.stat");
  if (v1) {
    use(memory_kernel_, "memory.kmem.usage_in_bytes");
    use(memory_sockets_, "memory.kmem.tcp.usage_in_bytes");
    use(io_, "blkio.throttle.io_service_bytes_recursive");
    return;
  }
  use(io_, "io.stat");
  use(pressure_cpu_, "cpu.pressure");
  use(pressure_memory_, "memory.pressure");
  use(pressure_io_, "io.pressure");
}

// Files of the expensive part stay open if it was read the last time as well.
bool Sampler::read(Reading& reading, bool deep) {
  if (!found_) find();
  reading.deep = deep;
  often_ = deep && was_deep_;
  was_deep_ = deep;
  if (deep) read_deep(reading);
  return read_cheap(reading);
}

// One small file tells whether anything ran, and only then the others are read.
bool Sampler::read_cheap(Reading& reading) {
  Text cpu(cpu_, true);
  if (!cpu) return false;
  uint64_t used = cpu_.v1 ? number_at(cpu.view()) : keyed(cpu.view(), "usage_usec").value_or(0);
  reading.cpu_us = cpu_.v1 ? used / 1000 : used;
  if (!cpu_.v1 && throttle_.path.empty()) {
    reading.throttled = keyed(cpu.view(), "nr_throttled").value_or(0);
    reading.throttled_us = keyed(cpu.view(), "throttled_usec").value_or(0);
  }
  // If nothing ran, nothing was allocated. (What the kernel takes back is noticed a little later.)
  if (std::exchange(seen_cpu_, used) == used && used != 0 && still_ > 0 && still_ < kMostStill) {
    ++still_;
    return true;
  }
  Text memory(memory_, true), pids(pids_, true);
  if (memory) reading.memory = number_at(memory.view());
  reading.memory_peak = std::max(reading.memory_peak, reading.memory);
  if (pids) {
    uint64_t all = number_at(pids.view());
    reading.pids = all - std::min(all, own_);
  }
  bool whole = memory && pids;
  still_ = whole ? 1 : 0;
  return whole;
}

// Names and units differ between the versions; a file that is missing leaves its number as it was.
void Sampler::read_deep(Reading& reading) {
  if (Text stat(memory_stat_, often_); stat) {
    bool v1 = memory_stat_.v1;
    reading.memory_anon = keyed(stat.view(), v1 ? "rss" : "anon").value_or(0);
    reading.memory_file = keyed(stat.view(), v1 ? "cache" : "file").value_or(0);
    reading.memory_shmem = keyed(stat.view(), "shmem").value_or(0);
    if (!v1) {
      std::optional<uint64_t> kernel = keyed(stat.view(), "kernel");  // Linux 5.18
      reading.memory_kernel = kernel ? *kernel
                                     : keyed(stat.view(), "slab").value_or(0) +
                                           keyed(stat.view(), "kernel_stack").value_or(0);
      reading.memory_sockets = keyed(stat.view(), "sock").value_or(0);
    }
  }
  read_one(memory_kernel_, often_, reading.memory_kernel);
  read_one(memory_sockets_, often_, reading.memory_sockets);
  read_one(memory_peak_, often_, reading.memory_peak);
  if (Text oom(oom_, often_); oom) reading.oom_kills = keyed(oom.view(), "oom_kill").value_or(0);
  if (Text throttle(throttle_, often_); throttle) {
    reading.throttled = keyed(throttle.view(), "nr_throttled").value_or(0);
    reading.throttled_us =
        keyed(throttle.view(), throttle_.v1 ? "throttled_time" : "throttled_usec").value_or(0) /
        (throttle_.v1 ? 1000 : 1);
  }
  if (Text io(io_, often_); io) add_disks(io.view(), io_.v1, reading);
  read_pressure(pressure_cpu_, often_, reading.pressure_cpu);
  read_pressure(pressure_memory_, often_, reading.pressure_memory);
  read_pressure(pressure_io_, often_, reading.pressure_io);
}

}  // namespace paddock::monitor
