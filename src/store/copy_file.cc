#include "store/copy_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace paddock::store {

namespace {

// One stretch of data by read and write, where the kernel does not copy between these files itself.
Result<void> copy_by_hand(int from, int to, off_t start, off_t end) {
  std::vector<char> buffer(256 << 10);
  while (start < end) {
    size_t want = std::min<size_t>(buffer.size(), static_cast<size_t>(end - start));
    ssize_t got = ::pread(from, buffer.data(), want, start);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, "read");
    if (got == 0) return {};
    for (ssize_t done = 0; done < got;) {
      ssize_t written =
          ::pwrite(to, buffer.data() + done, static_cast<size_t>(got - done), start + done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno_error(errno, "write");
      done += written;
    }
    start += got;
  }
  return {};
}

// Lets the kernel copy, which shares blocks where the filesystem can.
Result<void> copy_stretch(int from, int to, off_t start, off_t end) {
  while (start < end) {
    loff_t in = start, out = start;
    ssize_t copied = ::copy_file_range(from, &in, to, &out, static_cast<size_t>(end - start), 0);
    if (copied < 0 && errno == EINTR) continue;
    // Also for ENOSPC: it says so again.
    if (copied <= 0) return copy_by_hand(from, to, start, end);
    start += copied;
  }
  return {};
}

}  // namespace

// Tries to share all blocks first. Otherwise only what holds data is copied, and holes stay holes.
Result<void> copy_content(int from, int to, uint64_t size) {
  if (size == 0) return {};
  if (::ioctl(to, FICLONE, from) == 0) return {};
  off_t end = static_cast<off_t>(size);
  if (::ftruncate(to, end) != 0) return errno_error(errno, "set a file's size");
  for (off_t at = 0; at < end;) {
    off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return {};  // a hole up to the end
    if (data < 0) return copy_stretch(from, to, at, end);
    off_t hole = ::lseek(from, data, SEEK_HOLE);
    if (hole < 0 || hole > end) hole = end;
    TRY(copy_stretch(from, to, data, hole));
    at = hole;
  }
  return {};
}

namespace {

// Marks of the overlay are extended attributes, so a copy without them would be another tree.
Result<void> copy_extended(int from, int to) {
  std::vector<char> names(64 << 10);  // XATTR_LIST_MAX
  ssize_t length = ::flistxattr(from, names.data(), names.size());
  if (length < 0 && (errno == ENOTSUP || errno == EPERM)) return {};
  if (length < 0) return errno_error(errno, "list extended attributes");
  std::vector<char> value(64 << 10);  // XATTR_SIZE_MAX
  for (const char* name = names.data(); name < names.data() + length;
       name += std::string_view(name).size() + 1) {
    ssize_t size = ::fgetxattr(from, name, value.data(), value.size());
    if (size < 0) continue;  // listed, but not for us to read: it is not the sandbox's
    if (::fsetxattr(to, name, value.data(), static_cast<size_t>(size), 0) == 0) continue;
    // Marks of the host's own security modules are the host's to give.
    if (!starts_with(name, "user.") && (errno == EPERM || errno == ENOTSUP)) continue;
    return errno_error(errno, cat("set the attribute '", printable(name), "'"));
  }
  return {};
}

}  // namespace

// The mode is set after the owner, which clears bits, and the times come last.
Result<void> copy_attributes(int from, int to, const struct stat& info) {
  struct stat made;
  if (::fstat(to, &made) != 0) return errno_error(errno, "stat a copy");
  if ((made.st_uid != info.st_uid || made.st_gid != info.st_gid) &&
      ::fchown(to, info.st_uid, info.st_gid) != 0)
    return errno_error(errno, "set the owner of a copy");
  TRY(copy_extended(from, to));
  if (::fchmod(to, info.st_mode & 07777) != 0) return errno_error(errno, "set the mode of a copy");
  timespec times[2] = {info.st_atim, info.st_mtim};
  if (::futimens(to, times) != 0) return errno_error(errno, "set the times of a copy");
  return {};
}

}  // namespace paddock::store
