// Forms: what they say does not depend on how the bytes arrive, and what is kept stays small.
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "net/multipart.h"

using namespace paddock;
using namespace paddock::net;

namespace {

std::string read(std::string_view bytes, uint32_t seed) {
  MultipartReader reader =
      std::move(MultipartReader::create("multipart/form-data; boundary=\"b\"")).value();
  std::string said;
  for (size_t at = 0; at < bytes.size();) {
    seed = seed * 1664525;
    size_t step = seed == 0 ? bytes.size() : 1 + (seed >> 24) % 23;
    reader.add(bytes.substr(at, step));
    at += step;
    while (true) {
      Result<MultipartReader::Event> event = reader.next();
      if (!event) return said + "!";
      using Kind = MultipartReader::Event::Kind;
      if (event.value().kind == Kind::more || event.value().kind == Kind::end) break;
      if (event.value().kind == Kind::part)
        said +=
            cat("[", event.value().part.name, "|", event.value().part.filename.value_or("-"), "]");
      if (event.value().kind == Kind::data && event.value().data.empty()) std::abort();
      said += event.value().data;
      if (event.value().kind == Kind::part_end) said += ";";
    }
  }
  return said + (reader.ended() ? "." : "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)header_parameter(bytes, "name");
  (void)MultipartReader::create(bytes);
  std::string whole = read(bytes, 0), pieces = read(bytes, size == 0 ? 1 : data[0] | 1);
  // Where it breaks off may differ by what came with the byte that broke it; what was understood
  // before does not.
  bool broken = !whole.empty() && whole.back() == '!';
  if (!broken && whole != pieces) std::abort();
  return 0;
}
