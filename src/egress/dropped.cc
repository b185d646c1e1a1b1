#include "egress/dropped.h"

#include <sys/socket.h>

#include "net/nflog.h"

namespace paddock::egress {

// One entry for each packet that the kernel reports; it leaves some out when there are many.
Task<void> log_dropped(Gate& gate, Socket& socket) {
  while (true) {
    char message[4096];
    ssize_t count = ::recv(socket.get(), message, sizeof message, 0);
    if (count < 0 && errno == EAGAIN) {
      socket.not_readable();
      (void)co_await socket.readable();
      continue;
    }
    if (count < 0 && errno == ENOBUFS) continue;  // some were missed; the next will come
    if (count <= 0) co_return;
    std::optional<net::DroppedPacket> dropped =
        net::parse_dropped(std::string_view(message, static_cast<size_t>(count)));
    if (!dropped) continue;
    Target target = gate.target_at(dropped->to);
    gate.log.add(
        {.name = target.host_text(),
         .port = target.port,
         .protocol = dropped->protocol,
         .started = gate.loop.now(),
         .verdict = {
             .allowed = false, .rule = "network", .why = "only TCP and DNS leave a sandbox"}});
  }
}

}  // namespace paddock::egress
