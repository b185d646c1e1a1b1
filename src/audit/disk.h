// Every change that the log makes to the disk goes through here, so that tests can lose, tear and
// fail each of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace paddock::audit {

class Disk {
 public:
  virtual ~Disk() = default;
  // As pwrite(2).
  virtual ssize_t write_at(int file, std::string_view bytes, uint64_t at);
  // As ftruncate(2).
  virtual int cut(int file, uint64_t size);
  // As fdatasync(2).
  virtual int sync(int file);
  // 0600, must not exist: as openat(2).
  virtual int create(int directory, const char* name);
  // As unlinkat(2).
  virtual int remove(int directory, const char* name);
  // As renameat2(2), replacing nothing.
  virtual int make_visible(int directory, const char* from, const char* to);
  // Another one after the machine was down: what was not synced may be lost then, and only then.
  virtual std::string boot_id();

  static Disk& real();
};

}  // namespace paddock::audit
