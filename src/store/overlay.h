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
  // Nothing of the lower directory shows through.
  bool opaque = false;
  // Linux 6.7: an empty file with an attribute also stands for a removed name.
  bool whiteout = false;
  // It began as a file of the lower tree, here or elsewhere.
  bool copied_up = false;
  // An attribute that our mounts never write; the entry is not to be trusted.
  std::string forged;
};

// The descriptor must be open for reading.
OverlayMarks overlay_marks(int fd);

}  // namespace paddock::store
