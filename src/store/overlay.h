// How overlayfs writes down what happened: whiteouts, opaque directories, and attributes that a
// program may forge. See the kernel's Documentation/filesystems/overlayfs.rst; with `userxattr` its
// marks are user.overlay.*.
#pragma once

#include <sys/stat.h>

#include <string>

namespace paddock::store {

// A removed name: a character device 0:0.
inline bool is_whiteout(const struct stat& info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == 0;
}

struct OverlayMarks {
  bool opaque = false;  // nothing of the lower directory shows through
  // Linux 6.7: an empty file with an attribute also stands for a removed name.
  bool whiteout = false;
  bool copied_up = false;  // it began as a file of the lower tree, here or elsewhere
  // An attribute that our mounts never write; the entry is not to be trusted.
  std::string forged;
};

// Of a file or directory that is open for reading.
OverlayMarks overlay_marks(int fd);

}  // namespace paddock::store
