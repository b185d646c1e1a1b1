// paddock mcp: Paddock's tools, and those of the servers behind its gateway, for MCP clients.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/http/data_plane.h"
#include "api/http/listen.h"
#include "api/native/mcp.h"
#include "base/digest.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/mcp_pins.h"
#include "cli/mcp_tools.h"
#include "cli/options.h"
#include "mcp/fixture.h"
#include "mcp/stdio_server.h"

namespace paddock::cli {

namespace {

using io::Task;

// How long requests that are under way may take at the end.
constexpr io::Milliseconds kDrainTime = 2'000;

struct Flags {
  std::string listen, token_file, certificate, key;
  std::vector<std::string> origins;
  bool no_auth = false, plaintext = false, json = false, fixture = false;
  McpToolsOptions tools;
};

// Everything that lives as long as the server. Members are destroyed in reverse, so that what uses
// something comes after it.
struct Session {
  io::Loop& loop;
  Flags flags;
  std::shared_ptr<const mcp::Principal> principal;
  // The second is set if the token was made here and must be shown.
  std::string token, shown_token;
  // The client's streams.
  Fd input, output;
  io::Socket signals;
  std::shared_ptr<mcp::Stopper> stopper;
  std::unique_ptr<McpTools> tools;
  std::unique_ptr<mcp::Service> fixture;
  std::unique_ptr<api::McpFront> front;
  std::unique_ptr<api::Server> server;
  Result<void> result{};
};

// The first signal stops the server in order; later ones change nothing.
Task<void> watch_signals(Session& session) {
  while (true) {
    char info[128];
    ssize_t got = ::read(session.signals.get(), info, sizeof info);
    if (got > 0) session.stopper->stop();
    session.signals.not_readable();
    (void)co_await session.signals.readable();
  }
}

// ---- over HTTP

// Either header is accepted, since clients differ in which one they can send.
std::string token_shown(const api::Exchange& exchange) {
  std::string authorization = exchange.header("Authorization");
  constexpr std::string_view kBearer = "bearer ";
  if (same_ignoring_case(std::string_view(authorization).substr(0, kBearer.size()), kBearer))
    return authorization.substr(kBearer.size());
  return exchange.header("X-API-Key");
}

// There is one path, and a token for it unless the operator said otherwise.
Task<void> answer(Session& session, api::Exchange& exchange) {
  if (exchange.head().method == "OPTIONS") {
    api::Reply preflight = api::preflight_reply(exchange);
    (void)co_await exchange.answer(std::move(preflight));
    co_return;
  }
  bool is_known = session.token.empty() ||
                  same_secret(sha256_bytes(token_shown(exchange)), sha256_bytes(session.token));
  if (exchange.path() != "/mcp" || !is_known) {
    api::Reply refused =
        is_known ? api::refusal(404, "there is nothing here but /mcp")
                 : api::refusal(401, "a token is needed: send it as Authorization: Bearer")
                       .with("WWW-Authenticate", "Bearer");
    (void)co_await exchange.answer(std::move(refused));
    co_return;
  }
  exchange.admit(exchange.peer().address);
  co_await session.front->answer(exchange, session.principal);
}

// The token that clients must show: from a file, from the environment, or made here and printed.
Result<void> read_token(Session& session) {
  const char* given = ::getenv("PADDOCK_MCP_TOKEN");
  if (session.flags.no_auth) return {};
  if (!session.flags.token_file.empty())
    session.token = TRY(read_file(session.flags.token_file, 4096));
  else if (given)
    session.token = given;
  while (!session.token.empty() && (session.token.back() == '\n' || session.token.back() == '\r'))
    session.token.pop_back();
  bool is_given = !session.flags.token_file.empty() || given;
  if (is_given && session.token.size() < 16)
    return Error{Code::invalid, "the token has less than 16 characters",
                 "make one with: openssl rand -hex 32"};
  if (!is_given) session.token = session.shown_token = to_hex(TRY(random_bytes(32)));
  return {};
}

// Listens, and says where. Without a token only loopback is served.
Result<void> listen(Session& session, mcp::Service& service) {
  const Flags& flags = session.flags;
  api::ServerOptions options;
  options.listen = {flags.listen};
  options.plaintext = flags.plaintext;
  options.certificate = flags.certificate;
  options.key = flags.key;
  options.instead = [&session](api::Exchange& exchange) { return answer(session, exchange); };
  std::vector<std::unique_ptr<api::Listener>> listeners =
      TRY(api::listen_all(session.loop, options));
  session.server = TRY(api::Server::create(session.loop, options, std::move(listeners)));
  std::string place = session.server->addresses().front();
  bool is_local =
      place.find("://127.") != std::string::npos || place.find("://[::1]") != std::string::npos;
  if (flags.no_auth && !is_local)
    return Error{Code::invalid, "--no-auth: only on loopback",
                 "leave it out, and give the token to the clients"};
  mcp::HostRules rules{.loopback_only = is_local, .hosts = {}, .origins = flags.origins};
  session.front = TRY(api::McpFront::create(session.loop, service, std::move(rules)));
  session.server->start();
  std::string url = cat(place, "/mcp");
  if (flags.json) {
    Value ready =
        Value::Object{{"ready", true}, {"url", url}, {"pid", static_cast<int64_t>(::getpid())}};
    if (!session.shown_token.empty()) ready.set("token", session.shown_token);
    print(to_json(ready) + "\n");
  } else {
    print(cat("MCP at ", url, "\n",
              session.shown_token.empty()
                  ? ""
                  : cat("  Authorization: Bearer ", session.shown_token, "\n")));
  }
  return {};
}

// ---- from start to end

// Serves until the client goes or a signal comes, and then ends everything in order.
Task<void> serve(Session& session) {
  mcp::Service& service = session.fixture ? *session.fixture : session.tools->service();
  if (session.flags.listen.empty()) {
    Result<std::unique_ptr<mcp::Server>> server = mcp::Server::create(session.loop, service);
    if (!server) session.result = server.error();
    mcp::StdioOptions options{.input = std::move(session.input),
                              .output = std::move(session.output),
                              .principal = session.principal,
                              .stopper = session.stopper};
    if (server) co_await mcp::serve_stdio(*server.value(), std::move(options));
    if (session.tools) co_await session.tools->close();
  } else {
    session.result = listen(session, service);
    while (session.result && !session.stopper->stopped) (void)co_await session.stopper->bell.wait();
    if (session.front) session.front->close();
    if (session.server) co_await session.server->drain(kDrainTime);
    if (session.tools) co_await session.tools->close();
  }
  session.loop.stop();
}

// Whatever else might write to stdout, now or in a library, does not reach the client.
Result<void> take_streams(Session& session) {
  session.input = Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  session.output = Fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!session.input || !session.output) return errno_error(errno, "take stdin and stdout");
  Fd null = TRY(open_file("/dev/null", O_RDWR));
  if (::dup2(null.get(), STDIN_FILENO) < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return errno_error(errno, "take stdin and stdout");
  return {};
}

// What is served: the tools of the policies, or a fixture for conformance tests.
Result<void> run(Flags flags) {
  Fd signals = TRY(catch_signals({SIGTERM, SIGINT, SIGHUP}));
  (void)::signal(SIGPIPE, SIG_IGN);
  io::Loop& loop = *TRY(io::Loop::create());
  Session session{loop, std::move(flags)};
  bool is_stdio = session.flags.listen.empty();
  if (is_stdio)
    TRY(take_streams(session));
  else
    TRY(read_token(session));
  session.stopper = std::make_shared<mcp::Stopper>(loop);
  session.signals.open(loop, std::move(signals));
  std::string who = is_stdio ? "stdio" : session.token.empty() ? "anybody" : "token";
  if (session.flags.fixture) {
    auto principal = std::make_shared<mcp::Principal>();
    principal->id = who;
    session.principal = principal;
    session.fixture = mcp::make_fixture(loop);
  } else {
    session.tools = TRY(McpTools::open(loop, session.flags.tools));
    session.principal = session.tools->principal(who);
  }
  io::spawn(watch_signals(session));
  io::spawn(serve(session));
  loop.run();
  return std::move(session.result);
}

}  // namespace

// `paddock mcp VERB` is another command; without a verb it serves. Flags without a description are
// for Paddock's own programs.
int mcp_main(int argc, char** argv) {
  if (const Verb* verb = argc > 1 ? find_verb(mcp_verbs(), argv[1]) : nullptr)
    return verb->main(argc - 1, argv + 1);
  Flags flags;
  Options options("mcp",
                  "Serves Paddock's tools, and those of the MCP servers in the policy, to an MCP "
                  "client: on stdin and stdout, or over HTTP.\n"
                  "Of the servers behind it: paddock mcp servers|pins|accept|forget --help");
  options.list("--policy", "FILE|PRESET", &flags.tools.policies,
               "what holds for tools, servers and sandboxes; several are intersected");
  options.text("--workspace", "DIR[:ro|rw]", &flags.tools.workspace,
               "every sandbox sees this directory as /workspace");
  options.list("--allow-net", "HOST[:PORT]", &flags.tools.allow_net,
               "what sandboxes may reach at most (default: what --policy allows, else nothing)");
  options.text("--agent", "NAME", &flags.tools.agent, "who calls, for the records");
  options.text("--listen", "ADDRESS:PORT", &flags.listen,
               "Streamable HTTP there instead of stdin and stdout");
  options.text("--token-file", "FILE", &flags.token_file,
               "the token that clients must show (default: $PADDOCK_MCP_TOKEN, else one is made "
               "and printed)");
  options.flag("--no-auth", &flags.no_auth, "no token; on loopback only");
  options.list("--allow-origin", "ORIGIN", &flags.origins,
               "pages from there may call, as https://app.example");
  options.text("--certificate", "FILE", &flags.certificate,
               "TLS with this certificate chain (PEM)");
  options.text("--key", "FILE", &flags.key, "and its key (PEM)");
  options.flag("--plaintext", &flags.plaintext,
               "listen on other addresses than loopback without TLS");
  options.flag("--json", &flags.json, "with --listen: say where on stdout as one JSON object");
  options.flag("--fixture", &flags.fixture, "");
  std::string clean_up;
  options.text("--clean-up-after", "DIRECTORY", &clean_up, "");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  if (!clean_up.empty()) return clean_up_after(clean_up) ? 0 : kFailed;
  bool is_http = !flags.listen.empty();
  bool has_http_flags = flags.no_auth || flags.plaintext || flags.json ||
                        !flags.token_file.empty() || !flags.certificate.empty() ||
                        !flags.key.empty() || !flags.origins.empty();
  if (!is_http && has_http_flags)
    return report(
        {Code::invalid, "mcp: flags about HTTP without --listen", "add --listen 127.0.0.1:PORT"},
        false);
  if (flags.no_auth && !flags.token_file.empty())
    return report({Code::invalid, "mcp: --no-auth and --token-file together", ""}, flags.json);
  bool json = flags.json;
  Result<void> served = run(std::move(flags));
  if (!served) return report(served.error(), json);
  return 0;
}

}  // namespace paddock::cli
