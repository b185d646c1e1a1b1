#include "tools/gateway/supervise.h"

#include "base/text.h"
#include "run/secrets.h"
#include "tools/call_context.h"
#include "tools/visible_text.h"

namespace paddock::tools {

namespace {

// Starts within this time count.
constexpr io::Milliseconds kOfLate = 600'000;
constexpr io::Milliseconds kFirstPause = 250, kLongestPause = 60'000;
// After so many recent starts it is started only when it is needed.
constexpr size_t kMostByItself = 8;
// A call waits that long for the next start to be allowed.
constexpr io::Milliseconds kWorthWaiting = 2'000;
// Between the end of a stream and the report of how its process ended.
constexpr io::Milliseconds kLastWords = 2'000;
constexpr io::Milliseconds kPing = 5'000;
constexpr size_t kMostLines = 20, kLongestLine = 1000;

// For messages.
std::string seconds(io::Milliseconds time) {
  return time % 1000 == 0 ? cat(time / 1000, " s") : cat(time, " ms");
}

}  // namespace

// The server's own time wins over that of all calls.
io::Milliseconds Supervised::timeout() const {
  return options_.server.call_timeout_ms > 0 ? options_.server.call_timeout_ms
                                             : options_.call_timeout_ms;
}

// Twice as long after each recent start: a server that ends at once is not started all the time.
io::Milliseconds Supervised::may_start_at() const {
  size_t of_late = 0;
  for (io::Milliseconds when : starts_) of_late += when > loop_.now() - kOfLate;
  if (of_late == 0) return 0;
  io::Milliseconds pause =
      of_late > 10 ? kLongestPause : std::min(kLongestPause, kFirstPause << (of_late - 1));
  return starts_.back() + pause;
}

// Lines come from the server, so they are cut and made visible before anybody sees them.
void Supervised::line(std::string text) {
  lines_.push_back(cut_to(visible(text), kLongestLine));
  if (lines_.size() > kMostLines) lines_.pop_front();
  say(lines_.back());
}

// The reason stays until the server runs again.
void Supervised::fail(std::string why) {
  state_ = State::failed;
  why_ = std::move(why);
  say("failed: " + why_);
}

// With the secrets resolved, and callbacks that know which start they belong to.
Result<DialOptions> Supervised::dial_options(uint64_t generation) {
  DialOptions dial{.server = options_.server};
  std::vector<redact::Secret> values;
  for (const auto& [name, source] : options_.server.secrets)
    values.push_back(
        {name, dial.secrets[name] = TRY(runs::read_secret(
                   source, cat("mcp.servers.", options_.server.name, ".secrets.", name)))});
  for (const auto& [name, source] : options_.server.headers)
    values.push_back(
        {name, dial.headers[name] = TRY(runs::read_secret(
                   source, cat("mcp.servers.", options_.server.name, ".headers.", name)))});
  options_.on_secrets(values);
  std::weak_ptr<Supervised> weak = weak_from_this();
  dial.client.version = PADDOCK_VERSION;
  dial.client.capabilities = client_capabilities(options_.server);
  dial.client.start_timeout = options_.server.start_timeout_ms;
  dial.client.upstream = options_.upstream;
  dial.client.upstream.gone = [weak, generation](const Error& why) {
    if (auto alive = weak.lock()) alive->down(generation, why.message);
  };
  dial.client.upstream.complain = [weak](const std::string& text) {
    if (auto alive = weak.lock()) alive->line(text);
  };
  dial.on_line = [weak](std::string text) {
    if (auto alive = weak.lock()) alive->line(std::move(text));
  };
  dial.on_end = [weak, generation](std::string why) {
    if (auto alive = weak.lock()) alive->process_ended(generation, std::move(why));
  };
  return dial;
}

// Looks at short intervals: the report comes from another callback.
io::Task<void> Supervised::ended(uint64_t generation, io::Milliseconds patience) {
  io::Milliseconds until = loop_.now() + patience;
  while (!ends_.count(generation) && loop_.now() < until) co_await loop_.sleep(20);
}

// Outside of the callbacks that it may be calling just now. Its input ends, which is how MCP asks a
// server to go; then it is ended.
io::Task<void> Supervised::let_go(std::unique_ptr<Sandboxed> process,
                                  std::shared_ptr<mcp::ServerLink> link, uint64_t generation) {
  std::shared_ptr<Supervised> self = shared_from_this();
  co_await loop_.yield();
  if (link) link->close();
  if (!process) co_return;
  co_await ended(generation, kLastWords);
  process->stop();
  co_await ended(generation, kLastWords);
}

// One start: dials, lets the gateway read what is offered, and only then uses the connection.
io::Task<void> Supervised::try_once() {
  std::shared_ptr<Supervised> self = shared_from_this();
  state_ = State::starting;
  auto started = std::make_shared<io::Event>(loop_);
  started_ = started;
  uint64_t generation = ++generation_;
  if (has_process_) co_await ended(generation - 1, 2 * kLastWords);
  starts_.push_back(loop_.now());
  if (starts_.size() > 32) starts_.pop_front();
  Result<DialOptions> options = dial_options(generation);
  if (!options) {
    fail(options.error().message);
    started->happen();
    co_return;
  }
  Dial call = options_.dial;
  Result<Dialled> dialled = co_await call(loop_, std::move(options.value()));
  has_process_ = dialled && dialled.value().process;
  Result<void> usable;
  if (dialled && wanted_ && generation == generation_)
    usable = co_await options_.ready(dialled.value().link);
  if (!dialled) usable = dialled.error();
  if (generation == generation_ && usable && wanted_ && !ends_.count(generation) &&
      gone_generation_ != generation) {
    link_ = dialled.value().link;
    process_ = std::move(dialled.value().process);
    state_ = State::running;
    why_.clear();
    say(generation == 1 ? "running" : "running again");
  } else {
    std::string why = usable ? "it ended at once" : usable.error().message;
    if (auto end = ends_.find(generation);
        end != ends_.end() && why.find(end->second) == std::string::npos)
      why += cat(" (", end->second, ")");
    if (!lines_.empty()) why += cat("; its last line: ", lines_.back());
    if (dialled)
      io::spawn(let_go(std::move(dialled.value().process), dialled.value().link, generation));
    if (wanted_)
      fail(std::move(why));
    else
      state_ = State::stopped;
  }
  started->happen();
}

// A server that does not come up is tried again in the background.
io::Task<void> Supervised::start() {
  std::shared_ptr<Supervised> self = shared_from_this();
  wanted_ = true;
  Result<Running> ignored = co_await running();
  if (!ignored) nudge(false);
}

// Waits for a start that is under way, so that no process is left behind.
io::Task<void> Supervised::stop() {
  std::shared_ptr<Supervised> self = shared_from_this();
  wanted_ = false;
  std::shared_ptr<io::Event> started = started_;
  if (state_ == State::starting && started) co_await *started;
  if (state_ != State::running) {
    state_ = State::stopped;
    co_return;
  }
  state_ = State::stopped;
  std::shared_ptr<mcp::ServerLink> link = std::exchange(link_, nullptr);
  co_await let_go(std::move(process_), link, generation_);
}

// A server that failed too often lately is started again only when a call needs it.
void Supervised::nudge(bool needed) {
  if (!wanted_ || state_ != State::failed || trying_again_) return;
  size_t of_late = 0;
  for (io::Milliseconds when : starts_) of_late += when > loop_.now() - kOfLate;
  if (of_late >= kMostByItself && !needed) {
    say(cat("started ", of_late, " times in ", kOfLate / 60'000,
            " minutes: it is tried again when it is needed"));
    return;
  }
  trying_again_ = true;
  io::spawn(again(generation_));
}

// Does nothing if something else has started or stopped the server meanwhile.
io::Task<void> Supervised::again(uint64_t generation) {
  std::shared_ptr<Supervised> self = shared_from_this();
  if (io::Milliseconds wait = may_start_at() - loop_.now(); wait > 0) co_await loop_.sleep(wait);
  trying_again_ = false;
  if (!wanted_ || state_ != State::failed || generation != generation_) co_return;
  co_await try_once();
  if (state_ == State::failed) nudge(false);
}

// The running connection, after a start if one is allowed soon.
io::Task<Result<Supervised::Running>> Supervised::running() {
  std::shared_ptr<Supervised> self = shared_from_this();
  std::string name = cat("the server '", options_.server.name, "' ");
  while (true) {
    if (!wanted_) co_return Error{Code::conflict, name + "is stopped", ""};
    if (state_ == State::running) co_return Running{link_, generation_};
    if (state_ == State::starting) {
      std::shared_ptr<io::Event> started = started_;
      co_await *started;
      if (state_ == State::failed)
        co_return Error{Code::io, cat(name, "does not start: ", why_), "try again later"};
      continue;
    }
    io::Milliseconds wait = may_start_at() - loop_.now();
    if (wait > kWorthWaiting)
      co_return Error{Code::io,
                      cat(name, "does not run: ", why_, "; it may be tried again in ",
                          seconds(wait / 1000 * 1000 + 1000)),
                      "try again later"};
    if (wait > 0) {
      co_await loop_.sleep(wait);
      continue;
    }
    co_await try_once();
    if (state_ == State::failed)
      co_return Error{Code::io, cat(name, "does not start: ", why_), "try again later"};
  }
}

// The report may come after the connection broke, and says more than that.
void Supervised::process_ended(uint64_t generation, std::string why) {
  ends_[generation] = cut_to(visible(why), kLongestLine);
  while (ends_.size() > 8) ends_.erase(ends_.begin());
  if (generation != generation_) return;
  // Known better now than when its stream ended.
  if (state_ == State::failed) why_ = cat("it ended: ", ends_[generation]);
  down(generation, "");
}

// The connection of this generation is gone, whoever noticed it first.
void Supervised::down(uint64_t generation, std::string why) {
  gone_generation_ = std::max(gone_generation_, generation);
  if (generation != generation_ || state_ != State::running) return;
  if (auto end = ends_.find(generation); end != ends_.end()) why = cat("it ended: ", end->second);
  io::spawn(let_go(std::move(process_), std::exchange(link_, nullptr), generation));
  fail(cut_to(visible(why), kLongestLine));
  nudge(false);
}

// Waits a moment for the report of how the process ended, which says more than the broken stream.
io::Task<Error> Supervised::ended_meanwhile(uint64_t generation, std::string method) {
  std::shared_ptr<Supervised> self = shared_from_this();
  if (has_process_) co_await ended(generation, kLastWords);
  auto end = ends_.find(generation);
  std::string why = end != ends_.end()          ? end->second
                    : generation == generation_ ? why_
                                                : "its connection broke";
  std::string text =
      cat("the server '", options_.server.name, "' ended during ", method, ": ", why);
  if (!lines_.empty() && text.find(lines_.back()) == std::string::npos)
    text += cat("; its last line: ", lines_.back());
  co_return Error{Code::io, std::move(text),
                  "what it was doing may be half done; it is started again for the next call"};
}

// After a call that took too long: a server that does not answer a ping either is started again.
io::Task<void> Supervised::check_alive(std::shared_ptr<mcp::ServerLink> link, uint64_t generation) {
  std::shared_ptr<Supervised> self = shared_from_this();
  if (checking_) co_return;
  checking_ = true;
  io::Milliseconds begun = loop_.now();
  std::string method = link->era == mcp::Era::modern ? "server/discover" : "ping";
  Value params = Value::Object{};
  auto nobody = std::make_shared<mcp::DirectContext>(method, params, nullptr);
  mcp::Answer answer = co_await link->call(method, params, nobody, kPing);
  checking_ = false;
  if (answer.problem && loop_.now() - begun >= kPing)
    down(generation, "it answers nothing any more");
}

// `allowed` is asked after the server runs, because a server that was started again may offer
// something else. A timeout is followed by a ping, to find out whether the server still answers at
// all.
io::Task<Result<mcp::Answer>> Supervised::call(Request request) {
  std::shared_ptr<Supervised> self = shared_from_this();
  Result<Running> now = co_await running();
  if (!now) co_return now.error();
  CO_TRY_VOID(request.allowed());
  std::shared_ptr<mcp::ServerLink> link = now.value().link;
  uint64_t generation = now.value().generation;
  // For a tool the desk keeps the time: it knows how much of it people took to answer.
  io::Milliseconds begun = loop_.now(), patience = request.method == "tools/call" ? 0 : timeout();
  mcp::Answer answer =
      co_await link->call(request.method, std::move(request.params), request.context, patience);
  if (!answer.problem) co_return answer;
  if (generation != generation_ || state_ != State::running) {
    Error ended = co_await ended_meanwhile(generation, request.method);
    co_return ended;
  }
  bool late = patience > 0 && loop_.now() - begun >= patience;
  if (late || request.context->is_cancelled()) io::spawn(check_alive(link, generation));
  if (late)
    co_return Error{
        Code::io,
        cat("the server '", options_.server.name, "' did not answer ", request.method, " within ",
            seconds(patience)),
        cat("mcp.servers.", options_.server.name, ".call_timeout says how long that may take")};
  co_return answer;
}

}  // namespace paddock::tools
