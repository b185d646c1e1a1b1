// What an MCP server sends over HTTP: its events are the same however the bytes arrive, and
// bounded; the id that is looked for in a message that is no JSON is that of the message where it
// is one; headers made of arguments hold nothing that a header cannot.
#include <algorithm>
#include <cstdlib>

#include "mcp/http_headers.h"
#include "mcp/link.h"
#include "mcp/message.h"
#include "mcp/sse.h"

using namespace paddock;
using namespace paddock::mcp;

namespace {

constexpr size_t kLargest = 1000;

void check(bool held) {
  if (!held) std::abort();
}

struct Heard {
  std::vector<std::pair<std::string, std::string>> events;
  std::string last_id;
  bool is_broken = false;
  bool operator==(const Heard&) const = default;
};

Heard hear(std::string_view bytes, size_t piece) {
  Heard heard;
  SseReader reader(kLargest);
  for (size_t at = 0; at < bytes.size() && !heard.is_broken; at += piece) {
    reader.feed(bytes.substr(at, piece));
    while (true) {
      Result<std::optional<SseEvent>> event = reader.next();
      heard.is_broken = !event;
      if (!event || !event.value()) break;
      check(event.value()->data.size() <= kLargest);
      heard.events.emplace_back(event.value()->type, event.value()->data);
    }
  }
  heard.last_id = reader.last_id;
  for (char c : heard.last_id) check(c >= ' ' && c <= '~');
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Heard whole = hear(bytes, std::max<size_t>(size, 1));
  Heard slowly = hear(bytes, 1);
  // Where a stream breaks depends on how much of it was there.
  if (!whole.is_broken && !slowly.is_broken) check(whole == slowly);

  int64_t id = id_in(bytes);
  Parsed parsed = parse_message(bytes);
  bool has_number = parsed.message && parsed.message->id.as_int() &&
                    *parsed.message->id.as_int() > 0 &&
                    *parsed.message->id.as_int() < 1'000'000'000'000;
  if (has_number && bytes.find('\\') == std::string_view::npos)
    check(id == *parsed.message->id.as_int());

  std::string text(bytes);
  std::string value = encode_header_value(text);
  check(std::all_of(value.begin(), value.end(),
                    [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); }));
  check(decode_header_value(value) == text);
  return 0;
}
