// A guest that says anything: the server's client of it takes it or ends the connection, and every
// channel hears its end.
#include <sys/socket.h>

#include <cstdlib>

#include "guest/client.h"

using namespace paddock;

namespace {

io::Task<void> listen_to(std::shared_ptr<guest::Channel> channel, int& open) {
  while (true) {
    guest::Channel::Item item = co_await channel->next();
    if (item.kind == guest::Channel::Item::Kind::end ||
        item.kind == guest::Channel::Item::Kind::failed)
      break;
  }
  --open;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static io::Loop* loop = io::Loop::create().value();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return 0;
  Fd other(ends[1]);
  std::shared_ptr<guest::Client> client = guest::Client::create(*loop, Fd(ends[0]));
  int open = 3;
  for (int i = 0; i < 3; ++i)
    io::spawn(listen_to(client->open(Value(Value::Object{{"op", "x"}})), open));
  client->open(Value(Value::Object{{"op", "cancelled"}}));
  std::string bytes;
  guest::append_frame({guest::Frame::Type::hello, 0, 0, R"({"protocol":1})"}, bytes);
  bytes.append(reinterpret_cast<const char*>(data), size);
  (void)!::send(other.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  other.reset();
  loop->after_turn = [&] {
    if (open == 0 && client->is_gone()) loop->stop();
  };
  loop->run();
  loop->after_turn = nullptr;
  return 0;
}
