// paddock serve: the server for living sandboxes.
#include "api/http/serve.h"

#include <fcntl.h>
#include <unistd.h>

#include "api/http/listen.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/options.h"

namespace paddock::cli {

namespace {

struct Flags {
  std::vector<std::string> listen;
  std::string socket, policy, domain, certificate, key, ready_fd, rate, most_sandboxes, otlp;
  bool no_listen = false, no_socket = false, plaintext = false, exit_kills = false,
       with_parent = false, temporary = false, json = false, quiet = false;
};

// An empty text gives the default, and 0 is accepted although parse_count() refuses it.
Result<uint64_t> count_flag(const char* flag, const std::string& text, uint64_t otherwise) {
  if (text.empty()) return otherwise;
  Result<uint64_t> count = text == "0" ? Result<uint64_t>(0) : parse_count(text);
  if (!count) return Error{Code::invalid, cat(flag, ": ", count.error().message), ""};
  return count;
}

// The flags as the server takes them, checked.
Result<api::ServeOptions> options_of(const Flags& flags) {
  api::ServeOptions options;
  api::ServerOptions& server = options.server;
  server.listen = flags.listen;
  if (flags.no_listen && !flags.listen.empty())
    return Error{Code::invalid, "--listen and --no-listen together", ""};
  if (flags.listen.empty() && !flags.no_listen)
    server.listen = {cat("127.0.0.1:", api::kDefaultPort), cat("[::1]:", api::kDefaultPort)};
  if (flags.certificate.empty() != flags.key.empty())
    return Error{Code::invalid, "--certificate and --key belong together", ""};
  server.certificate = flags.certificate;
  server.key = flags.key;
  server.plaintext = flags.plaintext;
  server.domain = flags.domain;
  if (!flags.no_socket)
    server.socket = flags.socket.empty() ? TRY(api::default_socket()) : flags.socket;
  server.requests_per_second = TRY(count_flag("--rate", flags.rate, server.requests_per_second));
  options.most_sandboxes = TRY(count_flag("--max-sandboxes", flags.most_sandboxes, 0));
  options.policy = flags.policy;
  options.otlp = flags.otlp;
  options.exit_kills = flags.exit_kills;
  options.with_parent = flags.with_parent;
  options.temporary = flags.temporary;
  return options;
}

// Standard streams are refused, and what is not open is found now.
Result<Fd> ready_descriptor(const std::string& text) {
  if (text.empty()) return Fd();
  uint64_t number = TRY(parse_count(text));
  if (number < 3 || number > 1'000'000 ||
      ::fcntl(static_cast<int>(number), F_SETFD, FD_CLOEXEC) != 0)
    return Error{Code::invalid, cat("--ready-fd: ", text, " is not an open descriptor"), ""};
  return Fd(static_cast<int>(number));
}

// The first address over TCP; empty if there is only the socket.
std::string url_of(const api::Server& server) {
  for (const std::string& place : server.addresses())
    if (starts_with(place, "http")) return place;
  return "";
}

// One line, so that the caller can read up to the newline.
std::string as_json(const api::Server& server) {
  Value value;
  value.set("ready", true);
  value.set("url", url_of(server));
  value.set("socket", server.options().socket);
  value.set("listening", text_list(server.addresses()));
  value.set("pid", static_cast<int64_t>(::getpid()));
  return to_json(value) + "\n";
}

// Where the server is, and what to do next.
std::string greeting(const api::Server& server) {
  Colours colour = colours();
  std::string url = url_of(server);
  std::string text = cat(colour.bold, "Paddock is serving.", colour.off, "\n\n");
  for (const std::string& place : server.addresses())
    text += cat("  ", starts_with(place, "unix:") ? "socket   " : "address  ", place, "\n");
  if (!url.empty()) text += cat("  previews PORT-ID.", server.domain(), "\n");
  text += cat("\n  make a key      paddock key create\n  a sandbox       paddock create\n");
  if (!url.empty()) {
    text +=
        cat("  the API         ", url, "/openapi.json\n\nFor programs that use the E2B SDK:\n\n");
    text += cat("  export E2B_API_URL=", url, "\n  export E2B_SANDBOX_URL=", url,
                "\n  export E2B_API_KEY=…        # from: paddock key create\n");
  }
  return text + "\n";
}

}  // namespace

// "ready" is written when connections are accepted, not before.
int serve_main(int argc, char** argv) {
  Flags flags;
  Options options(
      "serve",
      "Serves living sandboxes over HTTP: the native API, and the one that the E2B SDK speaks.");
  options.list(
      "--listen", "ADDRESS:PORT", &flags.listen,
      cat("where (default: 127.0.0.1:", api::kDefaultPort, " and [::1]:", api::kDefaultPort, ")"));
  options.flag("--no-listen", &flags.no_listen, "the UNIX socket only");
  options.text("--socket", "PATH", &flags.socket,
               "the UNIX socket (default: in /run/paddock, or the user's runtime directory)");
  options.flag("--no-socket", &flags.no_socket, "no UNIX socket");
  options.text("--policy", "FILE|PRESET", &flags.policy,
               "what every sandbox is held to (default: server)");
  options.text(
      "--domain", "NAME[:PORT]", &flags.domain,
      "ports of sandboxes are previewed at PORT-ID.NAME (default: localhost and the port)");
  options.text("--certificate", "FILE", &flags.certificate,
               "TLS with this certificate chain (PEM)");
  options.text("--key", "FILE", &flags.key, "and its key (PEM)");
  options.flag("--plaintext", &flags.plaintext, "serve other addresses than loopback without TLS");
  options.text("--rate", "N", &flags.rate,
               "requests per second and key (default: 500; 0: no limit)");
  options.text("--max-sandboxes", "N", &flags.most_sandboxes, "sandboxes at once, of all tenants");
  options.text("--otlp", "URL", &flags.otlp,
               "send traces there: OTLP over HTTP, as http://127.0.0.1:4318");
  options.flag("--exit-kills", &flags.exit_kills, "its sandboxes end with it (else they live on)");
  options.flag("--with-parent", &flags.with_parent, "ends when its stdin, a pipe, does");
  options.flag("--temporary", &flags.temporary,
               "with --exit-kills: removes $PADDOCK_STATE at its end");
  options.text("--ready-fd", "N", &flags.ready_fd,
               "write \"ready\" to this descriptor once it accepts");
  options.flag("--json", &flags.json, "say so on stdout as one JSON object");
  options.flag("--quiet", &flags.quiet, "say nothing at the start");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;

  if (flags.temporary && (!flags.exit_kills || !::getenv("PADDOCK_STATE")))
    return report(
        {Code::invalid,
         "serve: --temporary needs --exit-kills and a state directory of its own in $PADDOCK_STATE",
         ""},
        flags.json);
  Result<Fd> ready = ready_descriptor(flags.ready_fd);
  if (!ready) return report(ready.error(), flags.json);
  Result<api::ServeOptions> serve_options = options_of(flags);
  if (!serve_options) return report(serve_options.error(), flags.json);
  auto descriptor = std::make_shared<Fd>(std::move(ready.value()));
  serve_options.value().ready = [flags, descriptor](const api::Server& server) {
    if (!flags.quiet) print(flags.json ? as_json(server) : greeting(server));
    if (*descriptor) (void)write_all(descriptor->get(), "ready\n");
    descriptor->reset();
  };
  Result<void> served = api::serve(std::move(serve_options.value()));
  if (!served) return report(served.error(), flags.json);
  return 0;
}

}  // namespace paddock::cli
