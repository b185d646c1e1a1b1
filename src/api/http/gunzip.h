// Bodies that come compressed (Content-Encoding: gzip), decoded as they stream by. The only file
// that knows zlib.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::api {

class Gunzip {
 public:
  Gunzip();
  ~Gunzip();
  // Decodes more of the body into pieces of at most `most` bytes: call again with nothing until it
  // gives an empty piece. So a small body that grows a thousandfold takes no more memory than any
  // other.
  Result<std::string> take(std::string_view bytes, size_t most = 64 << 10);
  bool ended() const;  // the whole stream was there

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paddock::api
