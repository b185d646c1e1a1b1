// One of our own output descriptors, written to without ever waiting: who does not read us must not
// make us deaf to signals, limits and the keeper.
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
  // Nothing more should be taken before that is out.
  bool is_full() const { return !pending_.empty(); }
  bool is_closed() const { return closed_; }  // nobody reads any more
  void drop() { pending_.clear(); }

 private:
  enum class Kind : uint8_t { file, socket, polled } kind_ = Kind::file;
  ssize_t write_some() const;

  int fd_;
  // The same pipe or terminal with a flag of its own: others share our descriptor, and must not
  // find it non-blocking.
  Fd own_;
  std::string pending_;
  bool closed_ = false;
};

}  // namespace paddock::runs
