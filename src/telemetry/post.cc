#include "telemetry/post.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "io/stream.h"
#include "net/address.h"
#include "net/http.h"
#include "net/http_body.h"
#include "net/trust_store.h"

namespace paddock::telemetry {

namespace {

using io::Milliseconds;
using io::Task;

constexpr size_t kLargestCertificates = 4 << 20, kMostAddresses = 8;
constexpr Milliseconds kLongestRetryAfter = 60'000;

Result<std::vector<net::SocketAddress>> look_up(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int failed = ::getaddrinfo(host.c_str(), to_text(port).c_str(), &hints, &found);
  if (failed)
    return Error{Code::io, cat("look up '", printable(host), "': ", ::gai_strerror(failed)), ""};
  std::vector<net::SocketAddress> addresses;
  for (addrinfo* each = found; each && addresses.size() < kMostAddresses; each = each->ai_next) {
    net::SocketAddress address;
    if (each->ai_addrlen > sizeof address.storage) continue;
    std::copy_n(reinterpret_cast<const char*>(each->ai_addr), each->ai_addrlen,
                reinterpret_cast<char*>(&address.storage));
    address.size = each->ai_addrlen;
    addresses.push_back(address);
  }
  ::freeaddrinfo(found);
  return addresses;
}

std::string head_of(const Endpoint& endpoint, size_t length) {
  std::string head = cat("POST ", endpoint.path, " HTTP/1.1\r\nHost: ", endpoint.authority,
                         "\r\nUser-Agent: paddock/", PADDOCK_VERSION,
                         "\r\nContent-Type: application/json\r\nContent-Length: ", length,
                         "\r\nConnection: close\r\n");
  for (const auto& [name, value] : endpoint.headers) head += cat(name, ": ", value, "\r\n");
  return head + "\r\n";
}

Milliseconds retry_after(const net::ResponseHead& head) {
  const net::Header* header = net::find_header(head.headers, "Retry-After");
  if (!header || header->value.empty() || header->value.size() > 6 ||
      header->value.find_first_not_of("0123456789") != std::string::npos)
    return 0;
  return std::min<Milliseconds>(kLongestRetryAfter, std::stoll(header->value) * 1000);
}

Task<Result<std::string>> read_body(io::Stream& stream, net::Body kind, size_t most,
                                    Milliseconds deadline) {
  net::BodyReader reader(kind);
  std::string content;
  while (true) {
    Result<size_t> taken = reader.take(stream.ahead, &content);
    if (!taken) co_return taken.error();
    stream.ahead.erase(0, taken.value());
    if (content.size() > most)
      co_return Error{Code::exhausted, cat("its answer is longer than ", most, " bytes"), ""};
    if (reader.done()) co_return std::move(content);
    io::Stream::More more = co_await stream.read(deadline, 64 << 10);
    if (more == io::Stream::More::end) {
      reader.at_end_of_stream();
      if (reader.done()) co_return std::move(content);
    }
    if (more != io::Stream::More::yes) co_return Error{Code::io, "its answer broke off", ""};
  }
}

}  // namespace

Result<std::unique_ptr<Poster>> Poster::create(io::Loop& loop, const Endpoint& endpoint) {
  std::unique_ptr<Poster> poster(new Poster(loop, endpoint));
  if (endpoint.tls) {
    std::string trust = endpoint.certificate.empty()
                            ? TRY(net::read_system_bundle())
                            : TRY(read_file(endpoint.certificate, kLargestCertificates));
    poster->tls_ = TRY(net::TlsClient::create(trust));
  }
  if (!net::parse_address(endpoint.host)) poster->resolver_ = TRY(io::Worker::create(loop, 1));
  return poster;
}

namespace {

struct InUse {
  int& place;
  InUse(int& in, int socket) : place(in) { place = socket; }
  InUse(const InUse&) = delete;
  ~InUse() { place = -1; }
};

}  // namespace

Task<Result<Fd>> Poster::connect(Milliseconds deadline) {
  Result<std::vector<net::SocketAddress>> addresses = std::vector<net::SocketAddress>();
  if (std::optional<net::Address> literal = net::parse_address(endpoint_.host)) {
    addresses.value().push_back(net::to_socket_address({*literal, endpoint_.port}));
  } else {
    std::function<void()> work = [this, &addresses] {
      addresses = look_up(endpoint_.host, endpoint_.port);
    };
    co_await resolver_->run(work);
  }
  if (!addresses) co_return addresses.error();
  Error last{Code::io, cat("connect to ", endpoint_.authority, ": it has no address"), ""};
  for (const net::SocketAddress& address : addresses.value()) {
    Fd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) {
      last = errno_error(errno, "make a socket");
      continue;
    }
    if (stopped_) break;
    io::Socket socket(loop_, std::move(fd));
    InUse in_use(socket_, socket.get());
    int failed = ::connect(socket.get(), address.get(), address.size) == 0 ? 0 : errno;
    if (failed == EINPROGRESS) {
      socket.not_writable();
      bool in_time = co_await socket.writable(deadline);
      socklen_t size = sizeof failed;
      if (!in_time)
        failed = ETIMEDOUT;
      else if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failed, &size) != 0)
        failed = errno;
    }
    if (failed) {
      last = errno_error(failed, cat("connect to ", endpoint_.authority));
      continue;
    }
    Fd connected(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 3));
    if (connected) co_return std::move(connected);
    last = errno_error(errno, "keep a connection");
  }
  co_return last;
}

void Poster::stop() {
  stopped_ = true;
  if (socket_ >= 0) (void)::shutdown(socket_, SHUT_RDWR);
}

Task<Poster::Posted> Poster::post(std::string body, Milliseconds patience, size_t most_answer) {
  Milliseconds deadline = loop_.now() + patience;
  Result<Fd> fd = co_await connect(deadline);
  if (!fd) co_return Posted{.why = fd.error().message};
  io::Stream stream(loop_, std::move(fd).value());
  InUse in_use(socket_, stream.socket.get());
  if (tls_) {
    Result<net::TlsStream> wrapped = tls_->connect(stream.socket.get(), endpoint_.host);
    if (!wrapped) co_return Posted{.why = wrapped.error().message};
    stream.tls.emplace(std::move(wrapped).value());
    bool shaken = co_await stream.shake_hands(deadline);
    if (!shaken)
      co_return Posted{.why = cat("speak TLS with ", endpoint_.authority, ": ", stream.tls->why())};
  }
  std::string bytes = head_of(endpoint_, body.size()) + body;
  (void)co_await stream.write(bytes, patience);  // who refuses early answers all the same
  size_t end = 0;
  while (true) {
    Result<size_t> size = net::head_size(stream.ahead);
    if (!size) co_return Posted{.why = size.error().message};
    end = size.value();
    if (end > 0) break;
    io::Stream::More more = co_await stream.read(deadline, 64 << 10);
    if (more == io::Stream::More::late)
      co_return Posted{.why = cat(endpoint_.authority, " did not answer in time")};
    if (more != io::Stream::More::yes)
      co_return Posted{.why = cat(endpoint_.authority, " closed the connection without an answer")};
  }
  Result<net::ResponseHead> head =
      net::parse_response(std::string_view(stream.ahead).substr(0, end), "POST");
  if (!head) co_return Posted{.why = head.error().message};
  Posted posted{.status = head.value().status, .retry_after = retry_after(head.value())};
  if (posted.status < 200 || posted.status > 299)
    posted.why = cat(endpoint_.authority, " answered ", posted.status, " ",
                     printable(head.value().reason.substr(0, 100)));
  if (most_answer > 0) {
    stream.ahead.erase(0, end);
    net::Body kind = head.value().body;
    Result<std::string> answer = co_await read_body(stream, kind, most_answer, deadline);
    if (!answer) co_return Posted{.why = cat(endpoint_.authority, ": ", answer.error().message)};
    posted.answer = std::move(answer).value();
  }
  co_return posted;
}

}  // namespace paddock::telemetry
