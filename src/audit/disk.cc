#include "audit/disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"

namespace paddock::audit {

ssize_t Disk::write_at(int file, std::string_view bytes, uint64_t at) {
  return ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
}
int Disk::cut(int file, uint64_t size) { return ::ftruncate(file, static_cast<off_t>(size)); }
int Disk::sync(int file) { return ::fdatasync(file); }
int Disk::create(int directory, const char* name) {
  return ::openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}
int Disk::remove(int directory, const char* name) { return ::unlinkat(directory, name, 0); }
int Disk::make_visible(int directory, const char* from, const char* to) {
  return ::renameat2(directory, from, directory, to, RENAME_NOREPLACE);
}

// Without /proc all boots look the same, so that what a crash of the machine left is reported as
// damage.
std::string Disk::boot_id() {
  Result<std::string> text = read_file("/proc/sys/kernel/random/boot_id", 64);
  return text ? text.value().substr(0, text.value().find('\n')) : "unknown";
}

Disk& Disk::real() {
  static Disk disk;
  return disk;
}

}  // namespace paddock::audit
