#include "api/http/listen.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "base/units.h"
#include "net/address.h"
#include "net/http.h"
#include "store/state.h"

namespace paddock::api {

namespace {

constexpr int kBacklog = 1024;

// The directory of a path: "." and "/" too.
std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool is_loopback(const net::Address& address) {
  return address.ipv6 ? address == net::parse_address("::1") : address.bytes[0] == 127;
}

// ADDRESS:PORT, where the address is numeric, "localhost" or "*".
Result<net::Endpoint> parse_endpoint(const std::string& text) {
  size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  std::optional<int64_t> port;
  if (colon != std::string::npos) port = parse_digits(std::string_view(text).substr(colon + 1), 5);
  if (host == "localhost") host = "127.0.0.1";
  if (host == "*") host = "0.0.0.0";
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  std::optional<net::Address> address = net::parse_address(host);
  if (!address || address->ipv6 != bracketed || !port || *port > 65535)
    return Error{Code::invalid, cat("listen on '", printable(text), "': this is not ADDRESS:PORT"),
                 "for example 127.0.0.1:7350 or [::1]:7350"};
  return net::Endpoint{*address, static_cast<uint16_t>(*port)};
}

// A TCP listener. Addresses other than loopback need TLS or an explicit permission.
Result<std::unique_ptr<Listener>> listen_on(io::Loop& loop, const std::string& where,
                                            const ServerOptions& options) {
  net::Endpoint endpoint = TRY(parse_endpoint(where));
  net::SocketAddress address = net::to_socket_address(endpoint);
  bool tls = !options.certificate.empty();
  if (!is_loopback(endpoint.address) && !tls && !options.plaintext)
    return Error{
        Code::denied,
        cat("listen on ", printable(where), ": keys and data would travel in the clear"),
        "give --certificate and --key, or say --plaintext when something else protects the way"};
  Fd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_error(errno, cat("listen on ", where));
  int on = 1;
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (endpoint.address.ipv6)
    (void)::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd.get(), address.get(), address.size) != 0 || ::listen(fd.get(), kBacklog) != 0)
    return errno_error(errno, cat("listen on ", where),
                       errno == EADDRINUSE
                           ? "another server may run there; choose another port with --listen"
                           : "");
  (void)::getsockname(fd.get(), address.get(), &address.size);  // which port 0 has become
  endpoint = net::from_socket_address(address).value_or(endpoint);
  auto listener = std::make_unique<Listener>();
  listener->tls = tls;
  listener->where = cat(tls ? "https://" : "http://", net::to_string(endpoint));
  listener->socket.open(loop, std::move(fd));
  return listener;
}

// Paths of sockets are short; through the directory's descriptor they need not be.
Result<std::unique_ptr<Listener>> listen_local(io::Loop& loop, const std::string& path) {
  std::string what = cat("listen on '", printable(path), "'");
  Fd folder = TRY(open_file(folder_of(path), O_RDONLY | O_DIRECTORY));
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return errno_error(errno, what);
  if (status.st_uid != ::geteuid() || (status.st_mode & 0022) != 0)
    return Error{Code::denied, cat(what, ": others may write to its directory"),
                 "choose another with --socket PATH"};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string name = path.substr(path.rfind('/') + 1),
              reached = cat("/proc/self/fd/", folder.get(), "/", name);
  if (name.empty() || reached.size() >= sizeof address.sun_path)
    return Error{Code::invalid, cat(what, ": the name is too long"), ""};
  std::memcpy(address.sun_path, reached.c_str(), reached.size() + 1);
  auto* plain = reinterpret_cast<sockaddr*>(&address);

  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_error(errno, what);
  Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe && ::connect(probe.get(), plain, sizeof address) == 0)
    return Error{Code::conflict, cat(what, ": a server answers there already"),
                 "stop it first, or choose another path with --socket PATH"};
  struct stat old {};
  if (::fstatat(folder.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISSOCK(old.st_mode))
    (void)::unlinkat(folder.get(), name.c_str(), 0);
  mode_t before = ::umask(0177);
  int bound = ::bind(fd.get(), plain, sizeof address), number = errno;
  (void)::umask(before);
  if (bound != 0) return errno_error(number, what);
  if (::listen(fd.get(), kBacklog) != 0) return errno_error(errno, what);
  auto listener = std::make_unique<Listener>();
  listener->local = true;
  listener->where = cat("unix:", path);
  listener->socket.open(loop, std::move(fd));
  return listener;
}

}  // namespace

Result<std::string> default_socket() {
  if (const char* state = std::getenv("PADDOCK_STATE"); state && *state)
    return cat(TRY(store::state_directory()), "/server.sock");
  std::string folder = "/run/paddock";
  if (::geteuid() != 0) {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    folder = runtime && *runtime == '/' ? cat(runtime, "/paddock") : "";
  }
  if (!folder.empty() && (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST))
    return cat(folder, "/server.sock");
  return cat(TRY(store::state_directory()), "/server.sock");
}

Result<std::vector<std::unique_ptr<Listener>>> listen_all(io::Loop& loop,
                                                          const ServerOptions& options) {
  std::vector<std::unique_ptr<Listener>> listeners;
  for (const std::string& where : options.listen)
    listeners.push_back(TRY(listen_on(loop, where, options)));
  if (!options.socket.empty()) listeners.push_back(TRY(listen_local(loop, options.socket)));
  if (listeners.empty())
    return Error{Code::invalid, "start a server that listens nowhere",
                 "give --listen ADDRESS:PORT or --socket PATH"};
  return listeners;
}

}  // namespace paddock::api
