// What the processes of a sandbox hold, read from /proc. They are hostile: a process can name
// itself like a line of its status, end its first thread, or forbid to be looked into. So text is
// parsed line by line, a missing leader is read through another thread, and what cannot be read is
// reported as unknown, never as zero.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paddock::launch {

// A file of /proc. A process that ended meanwhile is `gone`, and holds nothing any more.
struct ProcText {
  enum class State : uint8_t { whole, gone, unreadable } state = State::unreadable;
  std::string text;

  bool whole() const { return state == State::whole; }
  bool gone() const { return state == State::gone; }
};
ProcText read_proc(int folder, const std::string& path);

// The names in a directory that are numbers. Nothing if it cannot be read to its end; a directory
// that is gone is empty.
std::optional<std::vector<std::string>> numbers_in(int folder, const std::string& path);

// The number after `key`, which must begin a line ("VmPTE:"). The first such line counts.
std::optional<uint64_t> number_after(std::string_view text, std::string_view key);

// Fields of /proc/PID/stat, numbered as in proc(5); 0 when there are not as many.
uint64_t stat_field(const std::string& stat, int number);

struct ProcessMemory {
  uint64_t own = 0;     // anonymous pages, in memory or swapped out, and huge pages
  uint64_t shared = 0;  // mapped pages of shared memory and tmpfs
  uint64_t tables = 0;  // page tables
};

// Nothing if it cannot be known. A process that is gone has none. `proc` is a /proc, `pid` a
// process in it.
std::optional<ProcessMemory> resident_memory(int proc, const std::string& pid);

// The same, where a page that n processes share counts as an n-th of one; only `own` and `shared`.
std::optional<ProcessMemory> proportional_memory(int proc, const std::string& pid);

using FileId = std::pair<dev_t, ino_t>;

// What descriptors and mappings keep alive although no directory shows it.
struct Holdings {
  // Files that were deleted or never had a name → bytes of blocks.
  std::map<FileId, uint64_t> nameless;
  // Those that are mapped, and no descriptor shows their size → bytes of mappings.
  std::map<FileId, uint64_t> mapped;
  // Descriptors that lie unread in UNIX sockets: nobody can look at them.
  uint64_t in_flight = 0;
  uint64_t unreadable = 0;  // processes that cannot be looked into
};

// Looks through the descriptors and mappings of `pids`. Threads share their descriptors: the
// filters see to that. `breathe` is called every thousand descriptors or so.
Holdings find_holdings(int proc, const std::vector<std::string>& pids,
                       const std::function<void()>& breathe);

}  // namespace paddock::launch
