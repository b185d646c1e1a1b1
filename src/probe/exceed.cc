// Each function uses more of one limit than `value` and returns how much it got. A limit that ends
// the process leaves no answer, which the caller takes for a stop.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "base/value.h"
#include "probe/probe.h"

namespace paddock::probe {

namespace {

// How many times the limit is tried: far enough to be noticed, near enough to be harmless without
// one.
constexpr uint64_t kHowFar = 4;

uint64_t now_ms(clockid_t clock) {
  timespec time;
  (void)::clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000 +
         static_cast<uint64_t>(time.tv_nsec) / 1'000'000;
}

// Goes on after signals until the time is over.
void sleep_ms(uint64_t ms) {
  timespec time{static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000) * 1'000'000};
  while (::nanosleep(&time, &time) != 0 && errno == EINTR) {}
}

void linger() { sleep_ms(400); }  // a watcher that samples must get a chance to see the peak

void spin_until(uint64_t end) {
  while (now_ms(CLOCK_MONOTONIC) < end) {}
}

// Memory counts only once it is written to.
uint64_t exceed_memory(uint64_t value) {
  constexpr uint64_t kBlock = 1 << 20;
  uint64_t reached = 0;
  for (; reached < value * kHowFar; reached += kBlock) {
    void* block =
        ::mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) break;
    std::memset(block, 1, kBlock);
  }
  linger();
  return reached;
}

// The children only sleep. They are killed at the end, so that a missing limit leaves nothing
// behind.
uint64_t exceed_pids(uint64_t value) {
  std::vector<pid_t> children;
  while (children.size() < value * kHowFar) {
    pid_t child = ::fork();
    if (child < 0) break;
    if (child == 0) {
      sleep_ms(10'000);
      ::_exit(0);
    }
    children.push_back(child);
  }
  linger();
  for (pid_t child : children) (void)::kill(child, SIGKILL);
  for (pid_t child : children) (void)::waitpid(child, nullptr, 0);
  return children.size() + 1;
}

// Three descriptors are open from the beginning.
uint64_t exceed_open_files(uint64_t value) {
  std::vector<Fd> opened;
  while (opened.size() < value * kHowFar) {
    Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fd) break;
    opened.push_back(std::move(fd));
  }
  return opened.size() + 3;
}

// One file for disk and file size, removed afterwards.
std::string hog_path() { return temporary_folder() + "/paddock-probe-hog"; }

uint64_t write_file_of(uint64_t most) {
  Fd file(::open(hog_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  std::string block(64 << 10, 'x');
  uint64_t reached = 0;
  while (file && reached < most) {
    ssize_t count = ::write(file.get(), block.data(), block.size());
    if (count <= 0) break;
    reached += static_cast<uint64_t>(count);
  }
  return reached;
}

// Lingers before it removes the file: disk use may be sampled.
uint64_t exceed_disk(uint64_t value) {
  uint64_t reached = write_file_of(value * kHowFar);
  linger();
  (void)::unlink(hog_path().c_str());
  return reached;
}

uint64_t exceed_file_size(uint64_t value) {
  uint64_t reached = write_file_of(value * kHowFar);
  (void)::unlink(hog_path().c_str());
  return reached;
}

// Symbolic links take an inode and no block each.
uint64_t exceed_inodes(uint64_t value) {
  std::string folder = temporary_folder() + "/paddock-probe-links";
  if (::mkdir(folder.c_str(), 0700) != 0) return 0;
  uint64_t reached = 0;
  while (reached < value * kHowFar && ::symlink("x", cat(folder, "/", reached).c_str()) == 0)
    ++reached;
  linger();
  for (uint64_t i = 0; i < reached; ++i) (void)::unlink(cat(folder, "/", i).c_str());
  (void)::rmdir(folder.c_str());
  return reached;
}

// Written to stderr: stdout carries the answer.
uint64_t exceed_output(uint64_t value) {
  std::string block(4096, 'x');
  block.back() = '\n';
  uint64_t reached = 0;
  for (; reached < value * kHowFar; reached += block.size())
    if (!write_all(STDERR_FILENO, block)) break;
  linger();
  return reached;
}

// For wall time and idle time alike: the process sleeps and prints nothing.
uint64_t exceed_time(uint64_t value) {
  uint64_t start = now_ms(CLOCK_MONOTONIC);
  sleep_ms(value * kHowFar);
  return now_ms(CLOCK_MONOTONIC) - start;
}

// Measured by the process's own clock, so that a busy machine does not matter.
uint64_t exceed_cpu_time(uint64_t value) {
  while (now_ms(CLOCK_PROCESS_CPUTIME_ID) < value * kHowFar) {}
  return now_ms(CLOCK_PROCESS_CPUTIME_ID);
}

// Runs two processes that never wait, for a second. Returns the share that they got, in thousandths
// of a core.
uint64_t exceed_cpu(uint64_t) {
  uint64_t start = now_ms(CLOCK_MONOTONIC), end = start + 1000;
  pid_t other = ::fork();
  spin_until(end);
  if (other == 0) ::_exit(0);
  if (other > 0) (void)::waitpid(other, nullptr, 0);
  uint64_t used = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage;
    (void)::getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      used +=
          static_cast<uint64_t>(time.tv_sec) * 1000 + static_cast<uint64_t>(time.tv_usec) / 1000;
  }
  return used * 1000 / std::max<uint64_t>(1, now_ms(CLOCK_MONOTONIC) - start);
}

// How each limit is exceeded.
struct Way {
  const char* limit;
  uint64_t (*exceed)(uint64_t value);
};
constexpr Way kWays[] = {
    {"memory", exceed_memory},
    {"pids", exceed_pids},
    {"open_files", exceed_open_files},
    {"disk", exceed_disk},
    {"inodes", exceed_inodes},
    {"file_size", exceed_file_size},
    {"output", exceed_output},
    {"wall_time", exceed_time},
    {"idle_time", exceed_time},
    {"cpu_time", exceed_cpu_time},
    {"cpu", exceed_cpu},
    {"connections", exceed_connections},
    {"net_total", exceed_net_total},
};

}  // namespace

int exceed(const std::string& limit, uint64_t value) {
  for (const Way& way : kWays) {
    if (limit != way.limit) continue;
    Value line;
    line.set("reached", way.exceed(value));
    (void)write_all(STDOUT_FILENO, to_json(line) + "\n");
    return 0;
  }
  return 2;
}

}  // namespace paddock::probe
