// egress_load: both ends of the connections that egress.py measures, one thread each. The client is
// the same program wherever it runs: it knows nothing of a sandbox, and of a proxy only when it is
// given the port of one.
//
//   egress_load serve                              prints the ports of sink, source, echo and byte;
//   serves until it is ended egress_load upload|download PORT MB [PROXY]    prints bytes per second
//   egress_load connect PORT COUNT [PROXY]         prints connections per second
//   egress_load ping PORT COUNT [PROXY]            prints the round trip in nanoseconds: p50 p99
//   egress_load idle PORT COUNT [PROXY]            opens COUNT connections, prints "ready", keeps
//   them until stdin ends
//
// All on 127.0.0.1. No first byte is a letter: what guesses a protocol is quick to see that this is
// none it knows.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr size_t kBlock = 256 << 10, kPing = 64;
constexpr int kAtOnce = 16;  // connections being made at the same time
char block[kBlock];

[[noreturn]] void fail(const char* what) {
  std::perror((std::string("egress_load: ") + what).c_str());
  std::exit(1);
}

int64_t now_ns() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void set_no_delay(int socket) {
  int on = 1;
  if (::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail("TCP_NODELAY");
}

void watch(int epoll, int socket, uint32_t events, uint64_t data) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) != 0) fail("epoll_ctl");
}

// ---- the server ---

enum Service { sink, source, echo, byte, kServices };

struct Served {
  Service service;
  bool listens = false;
  uint64_t received = 0, expected = UINT64_MAX;  // of the sink
};

class Server {
 public:
  Server() {
    for (int service = 0; service < kServices; ++service) {
      int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      sockaddr_in address = loopback(0);
      socklen_t size = sizeof address;
      if (::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
          ::listen(socket, 4096) != 0)
        fail("listen");
      if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        fail("getsockname");
      add(socket, {static_cast<Service>(service), true}, EPOLLIN);
      std::printf("%d ", ntohs(address.sin_port));
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  [[noreturn]] void run() {
    while (true) {
      std::array<epoll_event, 256> events;
      int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        int socket = static_cast<int>(events[static_cast<size_t>(i)].data.u64);
        Served& served = served_[static_cast<size_t>(socket)];
        if (served.listens)
          accept_all(socket, served.service);
        else if (!serve(socket, served))
          ::close(socket);
      }
    }
  }

 private:
  void add(int socket, Served served, uint32_t events) {
    if (served_.size() <= static_cast<size_t>(socket))
      served_.resize(static_cast<size_t>(socket) + 64);
    served_[static_cast<size_t>(socket)] = served;
    watch(epoll_, socket, events, static_cast<uint64_t>(socket));
  }

  void accept_all(int listener, Service service) {
    while (true) {
      int socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (socket < 0) return;
      if (service == byte) {
        (void)!::send(socket, "0", 1, MSG_NOSIGNAL);  // who asked may be gone already
        ::close(socket);
        continue;
      }
      set_no_delay(socket);
      add(socket, {service}, service == source ? EPOLLOUT : EPOLLIN);
    }
  }

  // False when the connection is over.
  static bool serve(int socket, Served& served) {
    if (served.service == source)
      return ::send(socket, block, kBlock, MSG_NOSIGNAL) > 0 || errno == EAGAIN;
    ssize_t count = ::recv(socket, block, kBlock, 0);
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    if (served.service == echo)
      return ::send(socket, block, static_cast<size_t>(count), MSG_NOSIGNAL) == count;
    return swallow(socket, served, static_cast<size_t>(count));
  }

  // The first block says how many bytes there will be; their last is answered with one. (Not every
  // proxy can pass on that one direction has ended.)
  static bool swallow(int socket, Served& served, size_t count) {
    if (served.received == 0) std::memcpy(&served.expected, block, sizeof served.expected);
    served.received += count;
    return served.received < served.expected || ::send(socket, "0", 1, MSG_NOSIGNAL) == 1;
  }

  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<Served> served_;  // by descriptor
};

// ---- the client ---

struct Route {
  int port = 0, proxy = 0;  // proxy 0: none

  int first_port() const { return proxy ? proxy : port; }
  std::string request() const {
    std::string target = "127.0.0.1:" + std::to_string(port);
    return proxy ? "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n" : "";
  }
};

void send_all(int socket, const char* bytes, size_t size) {
  while (size > 0) {
    ssize_t count = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (count <= 0) fail("send");
    bytes += count;
    size -= static_cast<size_t>(count);
  }
}

void receive_all(int socket, char* bytes, size_t size) {
  while (size > 0) {
    ssize_t count = ::recv(socket, bytes, size, 0);
    if (count <= 0) fail("the connection ended early");
    bytes += count;
    size -= static_cast<size_t>(count);
  }
}

int open_connection(const Route& route) {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(route.first_port());
  if (socket < 0 || ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    fail("connect");
  set_no_delay(socket);
  std::string request = route.request(), head;
  send_all(socket, request.data(), request.size());
  while (route.proxy && !head.ends_with("\r\n\r\n")) {
    char character;
    receive_all(socket, &character, 1);
    head += character;
  }
  if (route.proxy && head.find(" 200 ") == std::string::npos)
    fail(("the proxy says " + head).c_str());
  return socket;
}

void print_rate(uint64_t amount, int64_t duration_ns) {
  std::printf("%.0f\n", static_cast<double>(amount) * 1e9 / static_cast<double>(duration_ns));
}

void download(const Route& route, uint64_t bytes) {
  int socket = open_connection(route);
  int64_t begin = now_ns();
  for (uint64_t received = 0; received < bytes;) {
    ssize_t count = ::recv(socket, block, kBlock, 0);
    if (count <= 0) fail("the connection ended early");
    received += static_cast<uint64_t>(count);
  }
  print_rate(bytes, now_ns() - begin);
}

void upload(const Route& route, uint64_t bytes) {
  int socket = open_connection(route);
  std::memcpy(block, &bytes, sizeof bytes);
  int64_t begin = now_ns();
  for (uint64_t sent = 0; sent < bytes; sent += kBlock) send_all(socket, block, kBlock);
  receive_all(socket, block, 1);
  print_rate(bytes, now_ns() - begin);
}

class Connector {
 public:
  Connector(const Route& route, int count)
      : route_(route),
        request_(route.request()),
        left_(count),
        running_(std::min(count, kAtOnce)) {}

  void run() {
    int total = left_;
    int64_t begin = now_ns();
    for (int i = running_; i > 0; --i) start();
    while (running_ > 0) {
      std::array<epoll_event, kAtOnce> events;
      int count = ::epoll_wait(epoll_, events.data(), kAtOnce, -1);
      for (int i = 0; i < count; ++i) step(events[static_cast<size_t>(i)]);
    }
    print_rate(static_cast<uint64_t>(total), now_ns() - begin);
  }

 private:
  struct State {
    bool asked = false;
    char last = 0;
  };

  void start() {
    --left_;
    int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(route_.first_port());
    if (socket < 0 ||
        (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
         errno != EINPROGRESS))
      fail("connect");
    if (states_.size() <= static_cast<size_t>(socket))
      states_.resize(static_cast<size_t>(socket) + 64);
    states_[static_cast<size_t>(socket)] = {};
    watch(epoll_, socket, route_.proxy ? EPOLLIN | EPOLLOUT | EPOLLET : EPOLLIN | EPOLLET,
          static_cast<uint64_t>(socket));
  }

  // Asks the proxy if there is one, reads to the end, and begins with the next.
  void step(const epoll_event& event) {
    int socket = static_cast<int>(event.data.u64);
    State& state = states_[static_cast<size_t>(socket)];
    if (route_.proxy && !state.asked && event.events & EPOLLOUT) {
      send_all(socket, request_.data(), request_.size());
      state.asked = true;
    }
    ssize_t count;
    char bytes[1024];
    while ((count = ::recv(socket, bytes, sizeof bytes, 0)) > 0) state.last = bytes[count - 1];
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0 || state.last != '0') fail("a connection failed");
    ::close(socket);
    if (left_ > 0)
      start();
    else
      --running_;
  }

  Route route_;
  std::string request_;
  int left_, running_;
  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<State> states_;  // by descriptor
};

void ping_once(int socket) {
  send_all(socket, block, kPing);
  receive_all(socket, block, kPing);
}

void ping(const Route& route, int count) {
  int socket = open_connection(route);
  for (int i = 0; i < 100; ++i) ping_once(socket);  // until both ends are warm
  std::vector<int64_t> durations;
  for (int i = 0; i < count; ++i) {
    int64_t begin = now_ns();
    ping_once(socket);
    durations.push_back(now_ns() - begin);
  }
  std::sort(durations.begin(), durations.end());
  auto percentile = [&](double share) {
    return durations[static_cast<size_t>(std::ceil(share * count)) - 1];
  };
  std::printf("%lld %lld\n", static_cast<long long>(percentile(0.5)),
              static_cast<long long>(percentile(0.99)));
}

void stay_idle(const Route& route, int count) {
  for (int i = 0; i < count; ++i) ping_once(open_connection(route));
  std::printf("ready\n");
  std::fflush(stdout);
  char character;
  while (::read(STDIN_FILENO, &character, 1) > 0) continue;
}

void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  std::string work = argc > 1 ? argv[1] : "";
  raise_open_files();
  if (work == "serve") Server().run();
  if (argc < 4) {
    std::fprintf(
        stderr,
        "usage: egress_load serve | upload|download|connect|ping|idle PORT AMOUNT [PROXY]\n");
    return 2;
  }
  Route route{std::atoi(argv[2]), argc > 4 ? std::atoi(argv[4]) : 0};
  int amount = std::max(std::atoi(argv[3]), 1);
  uint64_t bytes = static_cast<uint64_t>(amount) << 20;  // whole blocks
  if (work == "upload")
    upload(route, bytes);
  else if (work == "download")
    download(route, bytes);
  else if (work == "connect")
    Connector(route, amount).run();
  else if (work == "ping")
    ping(route, amount);
  else if (work == "idle")
    stay_idle(route, amount);
  else
    return 2;
}
