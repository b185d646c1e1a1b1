// What another kernel's container sends to the carrier outside: however it is cut, the carrier
// passes on no more than was sent, and comes to its end with the stream.
#include "launch/carrier.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "launch/channel.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace paddock;
  using launch::Carrier;
  (void)::signal(SIGPIPE, SIG_IGN);  // as in the processes that carry
  auto [inside, outside] = std::move(launch::make_channel().value());
  Pipe out = std::move(make_pipe().value());
  auto [guard, keeper] = std::move(launch::make_channel().value());
  Carrier carrier(std::move(outside));
  carrier.carry(Carrier::kOut, Fd(), std::move(out.write));
  carrier.carry_guard(std::move(guard));
  size_t piece = size ? data[0] + 1U : 1;
  for (size_t at = 1; at < size; at += piece) {
    std::string_view bytes(reinterpret_cast<const char*>(data + at), std::min(piece, size - at));
    if (!write_all(inside.get(), bytes)) break;
    if (!carrier.turn()) break;
  }
  inside.reset();
  keeper.reset();
  size_t passed = 0;
  for (int turns = 0; carrier.turn(); ++turns) {
    if (turns > 100'000) std::abort();
    (void)::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
    char buffer[65536];
    for (ssize_t count; (count = ::read(out.read.get(), buffer, sizeof buffer)) > 0;)
      passed += static_cast<size_t>(count);
  }
  if (passed > size) std::abort();
  return 0;
}
