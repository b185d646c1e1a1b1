// Finds the end of a message's body in a stream of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http.h"

namespace paddock::net {

class BodyReader {
 public:
  explicit BodyReader(Body body = {});

  // Takes from the front of `bytes` what belongs to the body; returns how many. Everything taken
  // may be passed on as it is: the framing was checked (chunk sizes are plain hex up to 15 digits,
  // lines end in CR LF, extensions are short and printable, trailers are valid header lines of at
  // most 8 KiB and none of those that frame a message). An error: the framing is broken; the
  // connection cannot be used any more. When `content` is given, the body's own bytes, without the
  // framing, are added to it.
  Result<size_t> take(std::string_view bytes, std::string* content = nullptr);

  bool done() const { return done_; }  // never for `until_close`
  void at_end_of_stream();             // the sender closed: for `until_close` that is the end

 private:
  Result<size_t> take_chunked(std::string_view bytes, std::string* content);
  Result<void> take_framing(char byte);  // of chunks

  enum class State : uint8_t {
    size,
    extension,
    size_end,
    data,
    data_cr,
    data_lf,
    trailer,
    trailer_end
  };
  Body body_;
  bool done_ = false;
  State state_ = State::size;
  uint64_t left_ = 0;  // bytes of the body, or of this chunk
  int digits_ = 0;     // of the chunk's size
  std::string line_;   // the trailer line or extension in progress
  size_t trailers_ = 0;
};

// One chunk of a chunked body; of no content: the last one, with the end of the body.
std::string make_chunk(std::string_view content);

}  // namespace paddock::net
