#include "net/http_body.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"

namespace paddock::net {

namespace {

// Fifteen hex digits always fit 64 bits.
constexpr int kMostDigits = 15;
constexpr size_t kLongestExtension = 256, kMostTrailers = 8 << 10;

Error refuse(std::string_view why) { return Error{Code::invalid, cat("read HTTP body: ", why)}; }

// The value of a hex digit, or -1.
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A trailer that a reader might merge into the headers must not change what they said about the
// message.
Result<void> check_trailer(std::string_view line) {
  Header trailer = TRY(parse_header_line(line));
  for (std::string_view name : {"Host", "Content-Length", "Transfer-Encoding"}) {
    if (same_ignoring_case(trailer.name, name)) return refuse(cat("a trailer named ", name));
  }
  return {};
}

}  // namespace

BodyReader::BodyReader(Body body) : body_(body) {
  if (body_.kind == Body::Kind::length) left_ = body_.length;
  done_ = body_.kind == Body::Kind::none || (body_.kind == Body::Kind::length && left_ == 0);
}

Result<size_t> BodyReader::take(std::string_view bytes, std::string* content) {
  if (done_) return 0;
  if (body_.kind == Body::Kind::chunked) return take_chunked(bytes, content);

  size_t taken = bytes.size();
  if (body_.kind == Body::Kind::length) {
    taken = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size()));
    left_ -= taken;
    done_ = left_ == 0;
  }
  if (content) *content += bytes.substr(0, taken);
  return taken;
}

void BodyReader::at_end_of_stream() {
  if (body_.kind == Body::Kind::until_close) done_ = true;
}

// Runs of content are taken at once, framing byte by byte: pieces of it may come at any time.
Result<size_t> BodyReader::take_chunked(std::string_view bytes, std::string* content) {
  size_t taken = 0;
  while (taken < bytes.size() && !done_) {
    if (state_ == State::data) {
      size_t size = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size() - taken));
      if (content) *content += bytes.substr(taken, size);
      taken += size;
      left_ -= size;
      if (left_ == 0) state_ = State::data_cr;
      continue;
    }
    TRY(take_framing(bytes[taken]));
    ++taken;
  }
  return taken;
}

// One byte of what stands between chunks. Every deviation is an error, since two readers that
// disagree about a chunk's end disagree about everything after it.
Result<void> BodyReader::take_framing(char byte) {
  switch (state_) {
    case State::size:
      if (int value = hex_value(byte); value >= 0) {
        if (++digits_ > kMostDigits) return refuse("a chunk size of too many digits");
        left_ = left_ << 4 | static_cast<uint64_t>(value);
        return {};
      }
      if (digits_ == 0 || (byte != ';' && byte != '\r'))
        return refuse("a chunk size that is not a hexadecimal number");
      state_ = byte == ';' ? State::extension : State::size_end;
      return {};
    case State::extension:
      if (byte == '\r') {
        state_ = State::size_end;
        line_.clear();
        return {};
      }
      if (byte < ' ' || byte > '~') return refuse("a chunk extension that is not printable");
      line_ += byte;
      if (line_.size() > kLongestExtension) return refuse("a chunk extension that is too long");
      return {};
    case State::size_end:
      if (byte != '\n') return refuse("a chunk size that does not end in CR LF");
      state_ = left_ == 0 ? State::trailer : State::data;
      digits_ = 0;
      return {};
    case State::data_cr:
      if (byte != '\r') return refuse("a chunk that is longer than its size");
      state_ = State::data_lf;
      return {};
    case State::data_lf:
      if (byte != '\n') return refuse("a chunk that does not end in CR LF");
      state_ = State::size;
      return {};
    case State::trailer:
      if (++trailers_ > kMostTrailers) return refuse("trailers that are too long");
      if (byte == '\n') return refuse("a trailer that does not end in CR LF");
      if (byte == '\r') {
        state_ = State::trailer_end;
      } else {
        line_ += byte;
      }
      return {};
    case State::trailer_end:
      if (byte != '\n') return refuse("a trailer that does not end in CR LF");
      if (line_.empty()) {
        done_ = true;
        return {};
      }
      TRY(check_trailer(line_));
      line_.clear();
      state_ = State::trailer;
      return {};
    case State::data: break;  // not framing
  }
  return refuse("not at the framing of a chunk");
}

std::string make_chunk(std::string_view content) {
  if (content.empty()) return "0\r\n\r\n";
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", content.size());
  return cat(size, content, "\r\n");
}

}  // namespace paddock::net
