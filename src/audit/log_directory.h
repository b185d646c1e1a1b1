// The log's directory: who may own it, its key, its lock, its segments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "audit/disk.h"
#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::audit {

// Made when missing. Refuses a link, another's directory, and one that others can look into.
Result<Fd> open_log_directory(const std::string& path);

// flock(2) on the directory itself; let go of with the object. Whoever holds it does so for
// microseconds, so that waiting for longer than ten seconds is an error.
class Lock {
 public:
  static Result<Lock> take(int directory, bool shared = false);
  Lock(Lock&& other) noexcept : directory_(std::exchange(other.directory_, -1)) {}
  Lock& operator=(Lock&& other) noexcept {
    release();
    directory_ = std::exchange(other.directory_, -1);
    return *this;
  }
  ~Lock() { release(); }
  void release();

 private:
  explicit Lock(int directory) : directory_(directory) {}
  int directory_;
};

inline constexpr size_t kSeedSize = 32;
// The seed of the Ed25519 key, 32 bytes. Code::not_found when there is none.
Result<std::string> read_seed(int directory);
std::string mac_key_of(std::string_view seed);  // of `head`

// A file that is there whole or not at all, also when this is interrupted.
Result<Fd> make_file(Disk& disk, int directory, const std::string& name, std::string_view content);

std::string segment_name(uint64_t number);                     // "00000001.jsonl"
Result<std::vector<uint64_t>> segment_numbers(int directory);  // in order
// Regular files only, no links.
Result<Fd> open_in(int directory, const std::string& name, int flags);

}  // namespace paddock::audit
