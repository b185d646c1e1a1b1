// A server that says anything: the guest's end of the stream takes it or closes, and every call
// comes to its end.
#include <sys/socket.h>

#include <cstdlib>

#include "guest/link.h"
#include "guest/sudo.h"
#include "guest/users.h"

using namespace paddock;

namespace {

int calls = 0;

// An operation that sends back what it gets.
io::Task<Result<Value>> echo(std::shared_ptr<guest::Call> call) {
  while (true) {
    std::optional<std::string> bytes = co_await call->input();
    if (!bytes) break;
    bool sent = co_await call->send(*bytes, guest::kOutput);
    if (!sent) break;
  }
  --calls;
  co_return call->request;
}

io::Task<Result<Value>> serve(std::shared_ptr<guest::Call> call) {
  ++calls;
  return echo(std::move(call));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view given(reinterpret_cast<const char*>(data), size);
  // The other things inside that a workload writes and the guest reads.
  Result<guest::SudoRequest> request = guest::decode_sudo(given);
  if (request &&
      guest::decode_sudo(guest::encode(request.value())).value().argv != request.value().argv)
    std::abort();
  guest::Users users{std::string(given), std::string(given.substr(size / 2))};
  (void)users.find("user");
  (void)users.name_of(1000);

  static io::Loop* loop = io::Loop::create().value();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return 0;
  Fd other(ends[1]);
  std::weak_ptr<guest::Link> weak;
  {
    std::shared_ptr<guest::Link> link =
        guest::Link::create(*loop, Fd(ends[0]), Value(Value::Object{{"protocol", 1}}), serve);
    weak = link;
  }
  std::string bytes;
  guest::append_frame({guest::Frame::Type::hello, 0, 0, R"({"protocol":1})"}, bytes);
  bytes += given;
  (void)!::send(other.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  other.reset();
  loop->after_turn = [&] {
    if (weak.expired()) loop->stop();
  };
  loop->run();
  loop->after_turn = nullptr;
  if (calls != 0) std::abort();
  return 0;
}
