#include "living/keeper_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "base/text.h"
#include "launch/living.h"

namespace paddock::living {

using launch::Received;
using launch::Record;

namespace {

Error gone() { return Error{Code::io, "the sandbox's keeper is gone", ""}; }

}  // namespace

std::shared_ptr<KeeperLink> KeeperLink::create(io::Loop& loop, Fd socket) {
  (void)::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  std::shared_ptr<KeeperLink> link(new KeeperLink(loop, std::move(socket)));
  io::spawn(listen(link));
  return link;
}

// Connects through a descriptor of the directory, as the path in a socket address is short.
Result<Fd> KeeperLink::connect(const std::string& directory) {
  Fd folder = TRY(open_file(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error(errno, "open a socket to the keeper");
  sockaddr_un address{.sun_family = AF_UNIX};
  std::strncpy(address.sun_path,
               cat("/proc/self/fd/", folder.get(), "/", launch::kKeeperSocket).c_str(),
               sizeof address.sun_path - 1);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return socket;
  if (errno == ENOENT || errno == ECONNREFUSED)
    return Error{Code::not_found, "no keeper listens for the sandbox", ""};
  return errno_error(errno, "connect to the keeper");
}

pid_t KeeperLink::keeper_behind(const Fd& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  bool told = ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  return told && peer.pid > 0 ? peer.pid : -1;
}

// Reads until the keeper is gone or let go of. Holds the link alive meanwhile.
io::Task<void> KeeperLink::listen(std::shared_ptr<KeeperLink> link) {
  while (!link->let_go_) {
    Result<std::optional<Received>> received = link->reader_.read(link->socket_.get());
    if (received && !received.value()) {
      link->socket_.not_readable();
      (void)co_await link->socket_.readable();
      continue;
    }
    if (!received || received.value()->closed) break;
    link->take(std::move(*received.value()));
  }
  link->end();
}

// Answers come in the order of the questions. The last words of a keeper are no answer.
void KeeperLink::take(Received received) {
  Record::Kind kind = received.record.kind;
  bool is_last = kind == Record::Kind::ended || kind == Record::Kind::replaced;
  bool is_answer = !awaited_.empty() && !is_last;
  if (is_last || (kind == Record::Kind::failed && !is_answer)) last_ = received.record;
  if (!is_answer) return;
  std::shared_ptr<Answer> answer = awaited_.front();
  awaited_.pop_front();
  if (kind == Record::Kind::failed)
    answer->received.emplace(launch::to_error(received.record));
  else
    answer->received.emplace(std::move(received));
  answer->bell.ring();
}

// Everyone who still waits gets the keeper's last error, or that it is gone.
void KeeperLink::end() {
  over_ = true;
  for (const std::shared_ptr<Answer>& answer : std::exchange(awaited_, {})) {
    answer->received.emplace(last_ && last_->kind == Record::Kind::failed ? launch::to_error(*last_)
                                                                          : gone());
    answer->bell.ring();
  }
  over_bell_.ring();
}

// The answer is registered before the question is sent, so that none can be missed.
io::Task<Result<Received>> KeeperLink::ask(Record question, io::Milliseconds patience) {
  if (over_) co_return gone();
  auto answer = std::make_shared<Answer>(loop_);
  awaited_.push_back(answer);
  tell(question);
  Result<Received> received = co_await await(answer, patience);
  co_return received;
}

io::Task<Result<Received>> KeeperLink::hear(io::Milliseconds patience) {
  if (over_) co_return gone();
  auto answer = std::make_shared<Answer>(loop_);
  awaited_.push_back(answer);
  Result<Received> received = co_await await(answer, patience);
  co_return received;
}

io::Task<Result<Received>> KeeperLink::await(std::shared_ptr<Answer> answer,
                                             io::Milliseconds patience) {
  std::shared_ptr<KeeperLink> self = shared_from_this();
  io::Milliseconds deadline = loop_.now() + patience;
  while (!answer->received) {
    bool in_time = co_await answer->bell.wait(deadline);
    if (!in_time && !answer->received)
      co_return Error{Code::io, "the sandbox's keeper does not answer", ""};
  }
  co_return std::move(*answer->received);
}

void KeeperLink::tell(const Record& record) {
  // listen() notices the shutdown and ends the link.
  if (!over_ && !launch::send_record(socket_.get(), record))
    (void)::shutdown(socket_.get(), SHUT_RDWR);
}

io::Task<bool> KeeperLink::wait_for_end(io::Milliseconds deadline) {
  std::shared_ptr<KeeperLink> self = shared_from_this();
  while (!over_) {
    bool in_time = co_await over_bell_.wait(deadline);
    if (!in_time) break;
  }
  co_return over_;
}

void KeeperLink::let_go() {
  let_go_ = true;
  if (socket_) (void)::shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace paddock::living
