// Frames from either side: however the bytes are cut, the same frames come out, and they encode to
// what was read.
#include <cstdlib>

#include "guest/frame.h"

using paddock::Result;
using paddock::guest::Frame;
using paddock::guest::FrameReader;

namespace {

// All frames up to the first error or the end, encoded again.
std::string frames_of(std::string_view bytes, size_t piece) {
  FrameReader reader;
  std::string again;
  while (true) {
    Result<std::optional<Frame>> frame = reader.next();
    if (!frame) return again + "!";
    if (frame.value()) {
      paddock::guest::append_frame(*frame.value(), again);
    } else if (bytes.empty()) {
      return again;
    } else {
      reader.add(bytes.substr(0, piece));
      bytes.remove_prefix(std::min(piece, bytes.size()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  std::string whole = frames_of(bytes, bytes.size() + 1);
  if (frames_of(bytes, data[0] % 31 + 1U) != whole) std::abort();
  if (!whole.empty() && whole.back() == '!') whole.pop_back();
  if (bytes.substr(0, whole.size()) != whole) std::abort();
  return 0;
}
