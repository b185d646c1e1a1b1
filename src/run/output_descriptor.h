// One of our own output descriptors, written to without ever blocking: a reader that does not read
// must not keep us from handling signals, limits and the keeper.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"

namespace paddock::runs {

class OutputDescriptor {
 public:
  explicit OutputDescriptor(int fd);

  // Takes the bytes, and writes what there is room for.
  void add(std::string_view bytes);
  // Writes what there is room for. True when something went out.
  bool write();

  int fd() const { return own_ ? own_.get() : fd_; }  // to wait for room
  // Nothing more should be added before the pending bytes are written.
  bool is_full() const { return !pending_.empty(); }
  bool is_closed() const { return closed_; }  // nobody reads any more
  void drop() { pending_.clear(); }

 private:
  // Regular files never block; sockets take MSG_DONTWAIT; the rest is polled if it cannot be opened
  // again.
  enum class Kind : uint8_t { file, socket, polled } kind_ = Kind::file;
  ssize_t write_some() const;

  int fd_;
  // The same pipe or terminal, opened again with O_NONBLOCK. The flag belongs to the open file,
  // which other processes share with our descriptor.
  Fd own_;
  std::string pending_;
  bool closed_ = false;
};

}  // namespace paddock::runs
