#include "living/command.h"

#include <string.h>
#include <time.h>

#include "base/text.h"
#include "guest/protocol.h"

namespace paddock::living {

namespace {

// How long the creation of a sandbox waits for the template's ready command.
constexpr io::Milliseconds kAtCreation = 30'000;
constexpr io::Milliseconds kGrace = 10'000;  // for a guest that ends a late command itself
constexpr size_t kLongestLine = 4096;

// The loop's clock, for code that has no loop at hand.
io::Milliseconds monotonic() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return io::Milliseconds{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

// The guest enforces the timeout; the server gives up only kGrace later.
Value request_for(const CommandOptions& options) {
  return guest::to_value(guest::StartRequest{.argv = options.argv,
                                             .env = options.env,
                                             .cwd = options.cwd,
                                             .user = options.user,
                                             .timeout_ms = std::max<int64_t>(options.timeout, 0)});
}

// Turns output that comes in pieces into lines.
class Lines {
 public:
  Lines(const CommandOptions& options, bool is_error) : options_(options), is_error_(is_error) {}
  void add(std::string_view bytes) {
    if (!options_.on_line) return;
    for (char c : bytes) {
      if (c == '\n' || open_.size() >= kLongestLine) flush();
      if (c != '\n') open_ += c;
    }
  }
  void flush() {
    if (!open_.empty() && open_.back() == '\r') open_.pop_back();
    // A terminal would have overwritten this: it is progress that is over.
    if (size_t back = open_.rfind('\r'); back != std::string::npos) open_.erase(0, back + 1);
    if (options_.on_line && !open_.empty()) options_.on_line(is_error_, open_);
    open_.clear();
  }

 private:
  const CommandOptions& options_;
  bool is_error_;
  std::string open_;
};

// The guest's words are untrusted: members of another type are ignored.
CommandEnd end_from(const Value& result) {
  CommandEnd end;
  const Value* code = result.find("code");
  const Value* signal = result.find("signal");
  const Value* late = result.find("timed_out");
  if (code && code->as_int()) end.code = static_cast<int>(*code->as_int());
  if (signal && signal->as_int()) end.signal = static_cast<int>(*signal->as_int());
  end.timed_out = late && late->as_bool() && *late->as_bool();
  return end;
}

// Starts the command and closes the channel. The process lives on.
io::Task<Result<void>> start_and_leave(std::shared_ptr<guest::Client> guest,
                                       CommandOptions options) {
  Value request = request_for(options);
  std::shared_ptr<guest::Channel> channel = guest->open(request);
  io::Milliseconds deadline = monotonic() + kGrace;
  guest::Channel::Item item = co_await channel->next(deadline);
  if (item.kind == guest::Channel::Item::Kind::failed) co_return item.error;
  if (item.kind == guest::Channel::Item::Kind::late)
    co_return Error{Code::io, "start the template's command: the guest does not answer", ""};
  co_return Result<void>();
}

// The template's own user, directory and variables, as its builder meant them.
CommandOptions as_template_user(const store::Template& made_from) {
  return {.user = made_from.user, .cwd = made_from.cwd, .env = made_from.env};
}

}  // namespace

std::string CommandEnd::text() const {
  if (timed_out) return "it took longer than it may";
  if (signal != 0) return cat("signal: ", signal < 65 ? ::strsignal(signal) : "unknown");
  return cat("exit status ", code);
}

// Decided inside, as only the sandbox knows whether it has bash.
std::vector<std::string> shell_command(const std::string& command) {
  return {
      "/bin/sh", "-c",
      "if [ -x /bin/bash ]; then exec /bin/bash -l -c \"$1\"; else exec /bin/sh -l -c \"$1\"; fi",
      "sh", command};
}

// Reads everything to the end, also without on_line, since a command whose output nobody takes
// would block.
io::Task<Result<CommandEnd>> run_in_guest(std::shared_ptr<guest::Client> guest,
                                          CommandOptions options) {
  Value request = request_for(options);
  std::shared_ptr<guest::Channel> channel = guest->open(request);
  io::Milliseconds deadline =
      options.timeout > 0 ? monotonic() + options.timeout + kGrace : io::Wait::kForever;
  Lines out(options, false), err(options, true);
  while (true) {
    guest::Channel::Item item = co_await channel->next(deadline);
    if (item.kind == guest::Channel::Item::Kind::data) {
      (item.stream == guest::kErrors ? err : out).add(item.bytes);
      continue;
    }
    if (item.kind == guest::Channel::Item::Kind::message) continue;
    out.flush();
    err.flush();
    if (item.kind == guest::Channel::Item::Kind::failed) co_return item.error;
    CommandEnd end;
    if (item.kind == guest::Channel::Item::Kind::end)
      end = end_from(item.value);
    else
      end.timed_out = true;
    co_return end;
  }
}

// Starts the template's command, then waits until the ready command succeeds. Without a ready
// command it counts as ready at once.
io::Task<Result<void>> check_template_command(std::shared_ptr<guest::Client> guest,
                                              store::Template made_from, StartChecks checks) {
  if (!made_from.start_command.empty()) {
    CommandOptions start = as_template_user(made_from);
    start.argv = shell_command(made_from.start_command);
    start.timeout = 0;
    CO_TRY_VOID(co_await start_and_leave(guest, start));
  }
  if (made_from.ready_command.empty()) co_return Result<void>();
  CommandOptions ready = as_template_user(made_from);
  // The waiting happens inside, so it is one command however often it asks.
  std::vector<std::string> once = shell_command(made_from.ready_command);
  ready.argv = {"/bin/sh", "-c", "until \"$@\"; do sleep 0.2; done", "sh"};
  ready.argv.insert(ready.argv.end(), once.begin(), once.end());
  ready.timeout = checks.patience;
  ready.on_line = checks.on_line;
  CO_TRY(CommandEnd end, co_await run_in_guest(guest, ready));
  if (end.ok()) co_return Result<void>();
  if (end.timed_out)
    co_return Error{Code::exhausted,
                    cat("wait for the start command: it was not ready within ",
                        checks.patience / 1000, " seconds"),
                    "look at what the ready command asks for"};
  co_return Error{Code::invalid, cat("run the ready command: ", end.text()), ""};
}

io::Task<Result<void>> start_template_command(std::shared_ptr<guest::Client> guest,
                                              store::Template made_from) {
  if (made_from.start_command.empty()) co_return Result<void>();
  StartChecks checks;
  checks.patience = kAtCreation;
  Result<void> ready = co_await check_template_command(guest, made_from, checks);
  if (!ready && ready.error().code != Code::exhausted) co_return ready.error();
  co_return Result<void>();
}

}  // namespace paddock::living
