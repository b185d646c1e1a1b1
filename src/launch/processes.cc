#include "launch/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "linux/tree.h"

namespace paddock::launch {

namespace {

constexpr size_t kLongestText = 64 << 20;
constexpr size_t kBreath = 1000;  // descriptors between two breaths

// Processes end at any time. Which of the two errors comes depends on the moment.
bool means_gone(int number) { return number == ENOENT || number == ESRCH; }

// Text of which only a part could be read counts as unreadable.
ProcText read_text(int fd) {
  ProcText found;
  char buffer[16384];
  while (true) {
    ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return {means_gone(errno) ? ProcText::State::gone : ProcText::State::unreadable, ""};
    if (count == 0) break;
    found.text.append(buffer, static_cast<size_t>(count));
    if (found.text.size() > kLongestText) return {};
  }
  found.state = ProcText::State::whole;
  return found;
}

std::optional<ProcessMemory> parse_resident(std::string_view status) {
  std::optional<uint64_t> own = number_after(status, "RssAnon:"),
                          shared = number_after(status, "RssShmem:");
  if (!own || !shared) return std::nullopt;
  uint64_t swapped = number_after(status, "VmSwap:").value_or(0),
           huge = number_after(status, "HugetlbPages:").value_or(0);
  return ProcessMemory{(*own + swapped + huge) << 10, *shared << 10,
                       number_after(status, "VmPTE:").value_or(0) << 10};
}

// Reads a file that every thread of a process has. If the leader has ended, another thread's is
// read. `has` says whether there is something in the text. The result is whole and empty if no
// thread has anything.
template <class Has>
ProcText read_of_any_thread(int proc, const std::string& pid, const char* file, Has has) {
  ProcText leader = read_proc(proc, cat(pid, "/", file));
  if (leader.state == ProcText::State::unreadable || (leader.whole() && has(leader.text)))
    return leader;
  std::optional<std::vector<std::string>> threads = numbers_in(proc, pid + "/task");
  if (!threads) return {};
  for (const std::string& thread : *threads) {
    if (thread == pid) continue;
    ProcText other = read_proc(proc, cat(pid, "/task/", thread, "/", file));
    if (other.state == ProcText::State::unreadable) return other;
    if (other.whole() && has(other.text)) return other;
  }
  return {leader.state, ""};
}

// The descriptors of a process, through whichever thread still has them.
struct Descriptors {
  bool readable = true;
  std::string folder;  // of the process or thread
  std::vector<std::string> numbers;
};

Descriptors descriptors_of(int proc, const std::string& pid) {
  Descriptors found{true, pid, {}};
  std::optional<std::vector<std::string>> numbers = numbers_in(proc, pid + "/fd");
  if (!numbers) return {false, pid, {}};
  found.numbers = std::move(*numbers);
  if (!found.numbers.empty()) return found;
  std::optional<std::vector<std::string>> threads = numbers_in(proc, pid + "/task");
  if (!threads) return {false, pid, {}};
  for (const std::string& thread : *threads) {
    if (thread == pid) continue;
    found.folder = cat(pid, "/task/", thread);
    numbers = numbers_in(proc, found.folder + "/fd");
    if (!numbers) return {false, pid, {}};
    found.numbers = std::move(*numbers);
    if (!found.numbers.empty()) return found;
  }
  return found;
}

// One look through all processes. Sockets and files that several processes share are counted once.
class Search {
 public:
  Search(int proc, const std::function<void()>& breathe) : proc_(proc), breathe_(breathe) {}

  Holdings look_at(const std::vector<std::string>& pids) {
    for (const std::string& pid : pids)
      if (!look_at_descriptors(pid) || !look_at_mappings(pid)) ++found_.unreadable;
    for (const auto& [file, bytes] : found_.nameless) found_.mapped.erase(file);
    return std::move(found_);
  }

 private:
  bool look_at_descriptors(const std::string& pid) {
    Descriptors open = descriptors_of(proc_, pid);
    if (!open.readable) return false;
    Fd folder(::openat(proc_, (open.folder + "/fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return means_gone(errno);
    for (const std::string& number : open.numbers) {
      if (++looked_ % kBreath == 0 && breathe_) breathe_();
      struct stat info;
      if (::fstatat(folder.get(), number.c_str(), &info, 0) != 0) {
        if (means_gone(errno) || errno == ENXIO) continue;
        return false;
      }
      note_file(info);
      if (S_ISSOCK(info.st_mode) && sockets_.insert(info.st_ino).second &&
          !look_at_socket(cat(open.folder, "/fdinfo/", number)))
        return false;
    }
    return true;
  }

  void note_file(const struct stat& info) {
    if (S_ISREG(info.st_mode) && info.st_nlink == 0)
      found_.nameless[{info.st_dev, info.st_ino}] = static_cast<uint64_t>(info.st_blocks) * 512;
  }

  // "scm_fds: N" stands there for UNIX sockets, since Linux 5.6.
  bool look_at_socket(const std::string& path) {
    ProcText text = read_proc(proc_, path);
    if (text.whole()) found_.in_flight += number_after(text.text, "scm_fds:").value_or(0);
    return text.whole() || text.gone();
  }

  // Looks for files that are mapped and have no name any more. Root is shown their true size;
  // others only see how much of them is mapped.
  bool look_at_mappings(const std::string& pid) {
    ProcText maps = read_of_any_thread(proc_, pid, "maps",
                                       [](const std::string& text) { return !text.empty(); });
    if (!maps.whole()) return maps.gone();
    std::map<FileId, uint64_t> mapped;
    for (size_t at = 0; at < maps.text.size();) {
      size_t end = std::min(maps.text.find('\n', at), maps.text.size());
      std::string line = maps.text.substr(at, end - at);
      at = end + 1;
      if (!ends_with(line, " (deleted)")) continue;
      unsigned long from = 0, to = 0, inode = 0;
      unsigned major_number = 0, minor_number = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %x:%x %lu", &from, &to, &major_number,
                      &minor_number, &inode) != 5 ||
          inode == 0)
        continue;
      struct stat info;
      if (::fstatat(proc_, cat(pid, "/map_files/", line.substr(0, line.find(' '))).c_str(), &info,
                    0) == 0)
        note_file(info);
      else
        mapped[{makedev(major_number, minor_number), inode}] += to - from;
    }
    for (const auto& [file, bytes] : mapped)
      found_.mapped[file] = std::max(found_.mapped[file], bytes);
    return true;
  }

  int proc_;
  const std::function<void()>& breathe_;
  Holdings found_;
  std::set<ino_t> sockets_;
  size_t looked_ = 0;
};

}  // namespace

ProcText read_proc(int folder, const std::string& path) {
  Fd file(::openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {means_gone(errno) ? ProcText::State::gone : ProcText::State::unreadable, ""};
  return read_text(file.get());
}

std::optional<std::vector<std::string>> numbers_in(int folder, const std::string& path) {
  std::vector<std::string> numbers;
  Fd opened(::openat(folder, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return means_gone(errno) ? std::optional(numbers) : std::nullopt;
  std::string buffer(32768, '\0');
  while (true) {
    Result<bool> more =
        kernel::read_names(opened.get(), buffer, [&](const char* name, unsigned char) {
          if (name[0] >= '0' && name[0] <= '9') numbers.emplace_back(name);
          return true;
        });
    if (!more) return means_gone(errno) ? std::optional(numbers) : std::nullopt;
    if (!more.value()) return numbers;
  }
}

std::optional<uint64_t> number_after(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!starts_with(line, key)) continue;
    line.remove_prefix(key.size());
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    uint64_t number = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), number).ec == std::errc())
      return number;
    return std::nullopt;
  }
  return std::nullopt;
}

// The name before the third field may hold anything, so counting starts after its last parenthesis.
uint64_t stat_field(const std::string& stat, int number) {
  size_t end = stat.rfind(") ");
  if (end == std::string::npos) return 0;
  std::string_view text = std::string_view(stat).substr(end + 2);
  for (int index = number - 3; index > 0; --index) {
    size_t space = text.find(' ');
    if (space == std::string_view::npos) return 0;
    text.remove_prefix(space + 1);
  }
  uint64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<ProcessMemory> resident_memory(int proc, const std::string& pid) {
  ProcText status = read_of_any_thread(proc, pid, "status", [](const std::string& text) {
    return number_after(text, "RssAnon:").has_value();
  });
  if (status.gone()) return ProcessMemory{};
  if (!status.whole()) return std::nullopt;
  if (status.text.empty()) return ProcessMemory{};  // no thread has memory any more
  return parse_resident(status.text);
}

std::optional<ProcessMemory> proportional_memory(int proc, const std::string& pid) {
  ProcText rollup = read_of_any_thread(proc, pid, "smaps_rollup",
                                       [](const std::string& text) { return !text.empty(); });
  if (rollup.gone()) return ProcessMemory{};
  if (!rollup.whole()) return std::nullopt;
  if (rollup.text.empty()) return ProcessMemory{};
  std::optional<uint64_t> own = number_after(rollup.text, "Pss_Anon:"),
                          shared = number_after(rollup.text, "Pss_Shmem:");
  if (!own || !shared) return std::nullopt;  // before Linux 5.9
  uint64_t huge = number_after(rollup.text, "Private_Hugetlb:").value_or(0) +
                  number_after(rollup.text, "Shared_Hugetlb:").value_or(0);
  return ProcessMemory{(*own + number_after(rollup.text, "SwapPss:").value_or(0) + huge) << 10,
                       *shared << 10, 0};
}

Holdings find_holdings(int proc, const std::vector<std::string>& pids,
                       const std::function<void()>& breathe) {
  return Search(proc, breathe).look_at(pids);
}

}  // namespace paddock::launch
