// multipart/form-data (RFC 7578) as it streams by: nothing of a part's content is kept longer than
// it takes to see that no boundary begins in it.
//
//   MultipartReader reader = TRY(MultipartReader::create(content_type));
//   reader.add(bytes);
//   MultipartReader::Event event = TRY(reader.next());
//
// After an event of Kind::more, add() what comes next.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace paddock::net {

class MultipartReader {
 public:
  struct Part {
    std::string name;
    // As the client wrote it, whole, with its slashes; %22 stays %22.
    std::optional<std::string> filename;
    std::vector<Header> headers;
  };
  struct Event {
    enum class Kind : uint8_t { more, part, data, part_end, end } kind = Kind::more;
    Part part;         // part: a new one begins
    std::string data;  // data: some of its content, at least a byte
  };

  // From the Content-Type header. Refused: another type, no boundary, one that is not a boundary by
  // RFC 2046.
  static Result<MultipartReader> create(std::string_view content_type);

  void add(std::string_view bytes) { bytes_.append(bytes); }
  // What comes next in what was added; `more` when that does not say yet. After `end` there is
  // nothing but `end`, and what follows is ignored. An error (a part without a name, a head that is
  // too long, …) is final.
  Result<Event> next();
  bool ended() const { return state_ == State::end; }

 private:
  enum class State : uint8_t { preamble, delimiter, head, content, end };

  Result<Event> next_delimiter();
  Result<Event> next_head();
  Event next_content();
  void drop(size_t count) { start_ += count; }

  std::string delimiter_;       // CR LF, two dashes, the boundary
  std::string bytes_ = "\r\n";  // the first boundary may stand at the very beginning
  size_t start_ = 0;            // of what is not used yet
  size_t preamble_ = 0, parts_ = 0;
  State state_ = State::preamble;
};

// The value of a parameter in a header such as `form-data; name="a"; filename="b.txt"`; quoted or
// not. In quotes a backslash stands before a quote or another backslash.
std::optional<std::string> header_parameter(std::string_view value, std::string_view name);

}  // namespace paddock::net
