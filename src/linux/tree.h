// File trees by descriptor. Everything here takes a directory descriptor and names beneath it, so a
// tree that a hostile program wrote, or is still rewriting, cannot lead the caller elsewhere.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::kernel {

// Opens `relative` beneath `root`. No symbolic link is followed, no ".." leads out; "" and "." are
// the root itself. CLOEXEC is added. A link in the way fails with Code::invalid (ELOOP), a way out
// with Code::io (EXDEV); errno keeps the number.
Result<Fd> open_beneath(int root, const std::string& relative, int flags, unsigned mode = 0);

// The same, and stays on the mount that `root` is on.
Result<Fd> open_beneath_one_mount(int root, const std::string& relative, int flags,
                                  unsigned mode = 0);

// As open_beneath, but links are followed as if `root` were "/". For reading what others packed.
Result<Fd> open_as_root(int root, const std::string& relative, int flags);

// Names in the directory, sorted, without "." and "..".
// Code::exhausted when there are more than `most`.
Result<std::vector<std::string>> list_directory(int directory, size_t most = SIZE_MAX);

// Calls `each` with some more names of a directory, as many as the buffer holds, from where the
// descriptor stands. So directories of any size need little memory. `type` is a DT_ constant, maybe
// DT_UNKNOWN. If `each` returns false it stops, and the next call goes on after that name. Returns
// false at the end.
Result<bool> read_names(int directory, std::string& buffer,
                        const std::function<bool(const char* name, unsigned char type)>& each);

struct PathParts {
  std::string parent, name;  // "a/b/c" → "a/b" and "c"; "c" → "" and "c"
};
PathParts split_path(const std::string& relative);

// Sets the mode of what an O_PATH descriptor stands for (fchmod refuses those).
Result<void> change_mode(int path_fd, unsigned mode);

// Removes `name` and all below it. Gone already is success. Never follows links, leaves mounts
// alone, makes unreadable directories of its own readable, and needs no stack for deep trees.
// Removes what it can and reports the first thing it could not.
Result<void> remove_tree(int parent, const std::string& name);

struct TreeSize {
  uint64_t bytes = 0;   // of disk blocks, a hard link counted once
  uint64_t inodes = 0;  // names: a further hard link counts too. Without the root itself
  // Directories that could not be looked into: their content is missing above.
  uint64_t unreadable = 0;

  // For quotas: files that hold nothing are not free.
  uint64_t charge() const { return bytes + inodes * kInodeCharge; }
  static constexpr uint64_t kInodeCharge = 4096;
};

// Whether what the descriptor stands for is younger than a moment: its maker may be about to lock
// it.
bool was_just_made(int fd);

// Copes with a tree that changes meanwhile: what vanished is not counted. Code::exhausted when it
// is absurdly deep.
struct MeasureOptions {
  // Directories that their owner, this user, made unreadable are opened up: nothing hides there.
  bool make_readable = false;
  uint64_t most_inodes = UINT64_MAX;  // stops there
  // Asked every thousand names or so. True ends the walk with Code::conflict.
  std::function<bool()> stop = nullptr;
};
Result<TreeSize> measure_tree(int root, const MeasureOptions& options = {});

}  // namespace paddock::kernel
