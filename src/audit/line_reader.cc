#include "audit/line_reader.h"

#include <unistd.h>

#include <algorithm>

#include "audit/record.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

// In bytes, read at once.
constexpr size_t kPiece = 1 << 20;

Result<std::string> read_piece(int file, uint64_t from, size_t size) {
  std::string piece(size, '\0');
  ssize_t count;
  do count = ::pread(file, piece.data(), size, static_cast<off_t>(from));
  while (count < 0 && errno == EINTR);
  if (count < 0) return errno_error(errno, "read the audit log");
  piece.resize(static_cast<size_t>(count));
  return piece;
}

}  // namespace

// Reads the next piece of the file after what is left in the buffer.
Result<void> LineReader::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  size_t size = static_cast<size_t>(std::min<uint64_t>(kPiece, to_ - next_)), held = buffer_.size();
  buffer_.resize(held + size);
  ssize_t count;
  do count = ::pread(file_, buffer_.data() + held, size, static_cast<off_t>(next_));
  while (count < 0 && errno == EINTR);
  if (count < 0) return errno_error(errno, "read the audit log");
  buffer_.resize(held + static_cast<size_t>(count));
  next_ += static_cast<uint64_t>(count);
  if (count == 0) to_ = next_;  // shorter than it was
  return {};
}

// A line that is longer than any record is skipped to its end, and only its start is kept.
Result<std::optional<LineReader::Text>> LineReader::next() {
  size_t seen = 0;
  uint64_t skipped = 0;  // of a line that is too long
  std::string start;
  while (true) {
    std::string_view left = std::string_view(buffer_).substr(at_);
    size_t end = left.find('\n', seen);
    bool ends = end != std::string_view::npos;
    if (!ends && left.size() <= kMostRecord && next_ < to_) {
      seen = left.size();
      TRY(fill());
      continue;
    }
    size_t size = ends ? end + 1 : left.size();
    if (!ends && next_ < to_) {  // too long: forget what was read, but for its start
      if (start.empty()) start = std::string(left.substr(0, kMostRecord));
      skipped += size;
      at_ = buffer_.size();
      seen = 0;
      TRY(fill());
      continue;
    }
    if (size == 0 && skipped == 0) return std::optional<Text>();
    Text text{.text = left.substr(0, ends ? size - 1 : size),
              .offset = offset_,
              .size = skipped + size,
              .whole = ends && skipped + size <= kMostRecord};
    if (skipped > 0) {
      start_ = std::move(start);
      text.text = start_;
    }
    at_ += size;
    offset_ += text.size;
    return std::optional<Text>(text);
  }
}

// Looks at the end of the file only: no record is longer than kMostRecord.
Result<std::string> last_line(int file, uint64_t size, uint64_t* end) {
  uint64_t from = size > 2 * kMostRecord ? size - 2 * kMostRecord : 0;
  std::string piece = TRY(read_piece(file, from, static_cast<size_t>(size - from)));
  size_t last = piece.rfind('\n');
  if (last == std::string::npos) return std::string();
  size_t start = last == 0 ? std::string::npos : piece.rfind('\n', last - 1);
  *end = from + last + 1;
  return piece.substr(start == std::string::npos ? 0 : start + 1,
                      last - (start == std::string::npos ? 0 : start + 1) + 1);
}

}  // namespace paddock::audit
