// D-Bus messages: what is understood can be written again and means the same, and no prefix of a
// message is one. And a whole conversation with a service manager that may answer anything.
#include <cstdlib>

#include "linux/dbus.h"
#include "linux/scope.h"

using namespace paddock::kernel;

namespace {

void check(bool held) {
  if (!held) std::abort();
}

void check_message(std::string_view bytes) {
  auto message = parse_dbus_message(bytes);
  if (!message) return;
  auto again = parse_dbus_message(encode(message.value()));
  check(bool(again) && again.value() == message.value());
  for (size_t size = 0; size < bytes.size() && size < 200; ++size)
    check(!parse_dbus_message(bytes.substr(0, size)));
}

// The first byte says how the rest is cut into pieces.
void check_conversation(std::string_view bytes) {
  if (bytes.empty()) return;
  size_t piece = 1 + static_cast<uint8_t>(bytes[0]);
  ScopeConversation conversation("paddock-0123456789abcdef.scope", {42}, true, 1000);
  for (size_t at = 1; at < bytes.size(); at += piece) {
    auto done = conversation.take(bytes.substr(at, piece));
    if (!done || done.value()) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_message(bytes);
  check_conversation(bytes);
  return 0;
}
