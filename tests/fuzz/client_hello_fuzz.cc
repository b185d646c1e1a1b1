// A ClientHello means the same however it arrives: no part of it is understood before the end, nor
// otherwise.
#include <cstdlib>

#include "net/client_hello.h"

using namespace paddock::net;

namespace {

void check(bool held) {
  if (!held) std::abort();
}

bool same(const ClientHello& a, const ClientHello& b) {
  return a.server_name == b.server_name && a.encrypted == b.encrypted && a.alpn == b.alpn;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ClientHello whole;
  Parse result = parse_client_hello(bytes, whole);
  if (result != Parse::done) check(same(whole, ClientHello{}));
  if (result != Parse::wrong) check(looks_like_tls(bytes));
  check(whole.server_name.find('\0') == std::string::npos);

  // Once decided, it stays so. Every prefix of a small one, some of a large one.
  Parse before = Parse::more;
  ClientHello first;
  for (size_t end = 0; end <= size; end += 1 + size / 256) {
    ClientHello part;
    Parse now = parse_client_hello(bytes.substr(0, end), part);
    if (before != Parse::more) check(now == before && same(part, first));
    if (before == Parse::more) first = part;
    before = now;
  }
  if (before != Parse::more) check(result == before && same(whole, first));
  return 0;
}
