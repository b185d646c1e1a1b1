// HTTP heads and bodies: what is understood reads back as the same, and nothing depends on how the
// bytes arrive.
#include <cstdlib>

#include "net/http_body.h"

using namespace paddock;
using namespace paddock::net;

namespace {

void check(bool held) {
  if (!held) std::abort();
}

bool same(const std::vector<Header>& a, const std::vector<Header>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].value != b[i].value) return false;
  }
  return true;
}

bool same(const Body& a, const Body& b) { return a.kind == b.kind && a.length == b.length; }

void check_request(std::string_view head) {
  Result<RequestHead> parsed = parse_request(head);
  if (!parsed) return;
  const RequestHead& first = parsed.value();
  std::string bytes = to_bytes(first);
  check(head_size(bytes) && head_size(bytes).value() == bytes.size());
  check(looks_like_http(bytes) == Looks::http);
  Result<RequestHead> read_back = parse_request(bytes);
  check(bool(read_back));
  const RequestHead& second = read_back.value();
  check(first.method == second.method && first.target == second.target &&
        first.version == second.version);
  check(same(first.headers, second.headers) && same(first.body, second.body));
  check(first.keep_alive == second.keep_alive && first.form == second.form &&
        first.upgrade == second.upgrade);
  check(first.authority == second.authority && first.path == second.path &&
        first.host == second.host);
}

void check_response(std::string_view head) {
  for (std::string_view method : {"GET", "HEAD"}) {
    Result<ResponseHead> parsed = parse_response(head, method);
    if (!parsed) continue;
    Result<ResponseHead> again = parse_response(to_bytes(parsed.value()), method);
    check(bool(again));
    const ResponseHead &first = parsed.value(), &second = again.value();
    check(first.status == second.status && first.reason == second.reason &&
          first.version == second.version);
    check(same(first.headers, second.headers) && same(first.body, second.body) &&
          first.keep_alive == second.keep_alive);
    check(method != "HEAD" || first.body.kind == Body::Kind::none);
  }
}

// Once decided, it stays so.
void check_prefixes(std::string_view bytes) {
  size_t size = 0;
  bool failed = false;
  Looks looks = Looks::more;
  for (size_t end = 0; end <= bytes.size(); end += 1 + bytes.size() / 256) {
    Result<size_t> now = head_size(bytes.substr(0, end));
    if (size != 0) check(now && now.value() == size);
    if (failed) check(!now);
    failed = !now;
    if (now) size = now.value();
    check(size <= end);
    Looks seen = looks_like_http(bytes.substr(0, end));
    if (looks != Looks::more) check(seen == looks);
    looks = seen;
  }
}

struct Taken {
  bool ok = true, done = false;
  size_t bytes = 0;
  std::string content;
};

// In pieces whose sizes come from the input itself; all at once for a `seed` of 0.
Taken take(Body body, std::string_view bytes, uint32_t seed) {
  BodyReader reader(body);
  Taken taken;
  while (taken.bytes < bytes.size() && !reader.done()) {
    seed = seed * 1664525;
    size_t step = seed == 0 ? bytes.size() : 1 + (seed >> 24) % 23;
    Result<size_t> count = reader.take(bytes.substr(taken.bytes, step), &taken.content);
    if (!count) return {.ok = false};
    taken.bytes += count.value();
  }
  taken.done = reader.done();
  return taken;
}

void check_body(Body body, std::string_view bytes, uint32_t seed) {
  Taken whole = take(body, bytes, 0), pieces = take(body, bytes, seed | 1);
  check(whole.ok == pieces.ok && whole.done == pieces.done && whole.bytes == pieces.bytes &&
        whole.content == pieces.content);
  if (body.kind != Body::Kind::chunked || !whole.done) return;
  // What was understood can be framed anew, and ends where it should.
  std::string again =
      whole.content.empty() ? make_chunk("") : make_chunk(whole.content) + make_chunk("");
  Taken reframed = take(body, again + "next", seed | 1);
  check(reframed.done && reframed.bytes == again.size() && reframed.content == whole.content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  uint32_t seed = size == 0 ? 0 : data[size - 1];
  check_prefixes(bytes);
  check_request(bytes);
  check_response(bytes);
  for (Body::Kind kind :
       {Body::Kind::none, Body::Kind::length, Body::Kind::chunked, Body::Kind::until_close})
    check_body({kind, seed}, bytes, seed);

  // A message after the other, the way a connection carries them.
  while (true) {
    Result<size_t> head = head_size(bytes);
    if (!head || head.value() == 0) return 0;
    check_request(bytes.substr(0, head.value()));
    check_response(bytes.substr(0, head.value()));
    Result<RequestHead> request = parse_request(bytes.substr(0, head.value()));
    if (!request) return 0;
    bytes.remove_prefix(head.value());
    check_body(request.value().body, bytes, seed);
    Taken body = take(request.value().body, bytes, 0);
    if (!body.ok || !body.done) return 0;
    bytes.remove_prefix(body.bytes);
  }
}
