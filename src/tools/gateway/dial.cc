#include "tools/gateway/dial.h"

#include "base/text.h"
#include "io/bell.h"

namespace paddock::tools {

namespace {

// How long the report of a process that ended may take.
constexpr io::Milliseconds kLastWords = 2'000;

// How the process ended, shared between the callback and the one who waits.
struct Ending {
  explicit Ending(io::Loop& loop) : bell(loop) {}
  io::Bell bell;
  bool ended = false;
  // False while a failure only means that the server is tried in another way.
  bool counts = false;
  std::string why;
};

// Paddock's own HTTP client speaks with the server; there is no process to watch.
io::Task<Result<Dialled>> dial_url(io::Loop& loop, DialOptions options) {
  mcp::HttpTarget target{.url = options.server.url,
                         .headers = options.headers,
                         .private_addresses = options.server.private_addresses};
  Dialled dialled;
  CO_TRY(dialled.link,
         co_await mcp::connect_http(loop, std::move(target), std::move(options.client)));
  co_return dialled;
}

// Starts the server in its sandbox and greets it over its standard streams.
io::Task<Result<Dialled>> dial_command(io::Loop& loop, DialOptions options,
                                       std::shared_ptr<Ending> ending) {
  SandboxedOptions sandboxed{.argv = options.server.command,
                             .policy = *options.server.sandbox,
                             .secrets = options.secrets,
                             .agent = "mcp server " + options.server.name};
  Dialled dialled;
  CO_TRY(dialled.process, Sandboxed::start(loop, std::move(sandboxed)));
  dialled.process->on_line = [on_line = options.on_line](const std::string& line) {
    on_line(line);
  };
  dialled.process->on_end = [on_end = options.on_end, ending](const Sandboxed::End& end) {
    ending->ended = true;
    ending->why = end.why;
    ending->bell.ring();
    if (ending->counts) on_end(end.why);
  };
  Fd input = std::move(dialled.process->input), output = std::move(dialled.process->output);
  Result<std::shared_ptr<mcp::ServerLink>> link = co_await mcp::connect_stdio(
      loop, std::move(input), std::move(output), std::move(options.client));
  if (!link) {
    // Its stream ends a moment before it is known how it ended, which is what people want to hear.
    io::Milliseconds until = loop.now() + kLastWords;
    while (!ending->ended) {
      bool in_time = co_await ending->bell.wait(until);
      if (!in_time) break;
    }
    dialled.process->stop();
    Error error = link.error();
    if (ending->ended) error.message = cat(ending->why, ": ", error.message);
    co_return error;
  }
  dialled.link = std::move(link.value());
  co_return dialled;
}

}  // namespace

// Tries the modern era first, unless the policy or an earlier start says which one. A server that
// ends on being asked is started a second time as a legacy one.
io::Task<Result<Dialled>> dial_server(io::Loop& loop, DialOptions options) {
  if (!options.server.url.empty()) {
    Result<Dialled> dialled = co_await dial_url(loop, std::move(options));
    co_return dialled;
  }
  if (!options.server.sandbox)
    co_return Error{
        Code::internal,
        cat("start the server '", options.server.name, "': it has no policy for its sandbox"), ""};
  auto ending = std::make_shared<Ending>(loop);
  ending->counts = options.client.era.has_value();
  DialOptions again = options;
  Result<Dialled> dialled = co_await dial_command(loop, std::move(options), ending);
  ending->counts = true;
  if (dialled || !ending->ended || again.client.era) co_return dialled;
  // Some servers of the old era end when they are asked which era they are of.
  again.client.era = mcp::Era::legacy;
  ending = std::make_shared<Ending>(loop);
  ending->counts = true;
  Result<Dialled> second = co_await dial_command(loop, std::move(again), ending);
  co_return second;
}

}  // namespace paddock::tools
