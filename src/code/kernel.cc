#include "code/kernel.h"

#include <csignal>

#include <algorithm>

#include "base/text.h"
#include "code/languages.h"
#include "guest/protocol.h"
#include "manager/ended_sandboxes.h"

namespace paddock::code {

namespace {

using io::Task;
using Item = guest::Channel::Item;

constexpr char kTagPrefix[] = "paddock-kernel/";
// A sandbox with a tenth of a core imports slowly.
constexpr io::Milliseconds kStartPatience = 60'000;
constexpr io::Milliseconds kAttachPatience = 5'000;
constexpr io::Milliseconds kSignalPatience = 5'000;

// Code may catch the first one.
constexpr io::Milliseconds kInterruptAgain = 2'000;
constexpr io::Milliseconds kInterruptPatience = 5'000;
constexpr int kReasonTries = 50;
constexpr io::Milliseconds kReasonPause = 20;
constexpr size_t kLongestLine = (16 << 20) + (64 << 10);
// Longer ones are not parsed: that would hold up the server.
constexpr size_t kParsedLine = 64 << 10;
constexpr size_t kLastWords = 2000;

// What a line of a kernel begins with: the cell it is about.
bool split_line(std::string_view line, uint64_t& cell, std::string_view& event) {
  size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos || space > 18) return false;
  cell = 0;
  for (char digit : line.substr(0, space)) {
    if (digit < '0' || digit > '9') return false;
    cell = cell * 10 + static_cast<uint64_t>(digit - '0');
  }
  event = line.substr(space + 1);
  return event.size() > 2 && event.front() == '{' && event.back() == '}';
}

// Its type, when it is one of the events there are. The long ones begin with it.
std::string event_type(std::string_view event) {
  std::string type;
  if (event.size() <= kParsedLine) {
    Result<Value> value = parse_json(event, "event");
    const Value* given = value ? value.value().find("type") : nullptr;
    if (given && given->as_string()) type = *given->as_string();
  } else {
    constexpr std::string_view kBegin = "{\"type\":\"";
    size_t quote = event.find('"', kBegin.size());
    if (starts_with(event, kBegin) && quote < 64)
      type = std::string(event.substr(kBegin.size(), quote - kBegin.size()));
    bool clean = std::none_of(event.begin(), event.end(), [](unsigned char c) { return c < 0x20; });
    if (!clean) type.clear();
  }
  for (const char* known :
       {"ready", "stdout", "stderr", "result", "error", "number_of_executions", "end_of_execution"})
    if (type == known) return type;
  return "";
}

// SIGKILL may be the kernel's, for lack of memory.
bool was_killed(const Item& item) {
  const Value* number = item.kind == Item::Kind::end ? item.value.find("signal") : nullptr;
  return number && number->as_int() && *number->as_int() == SIGKILL;
}

// "MemoryLimit", "DiskLimit", "CpuTimeLimit"; a rule of [monitor] is "MonitorLimit".
std::string limit_error_name(const LimitHit& hit) {
  if (!hit.rule.empty()) return "MonitorLimit";
  std::string name;
  for (const std::string& word : split(info(hit.limit).name, '_'))
    name += cat(static_cast<char>(word[0] - 'a' + 'A'), word.substr(1));
  return name + "Limit";
}

// For people, and for the error of a cell.
std::string how_it_ended(const Item& item) {
  if (item.kind == Item::Kind::failed) return item.error.message;
  const Value* code = item.value.find("code");
  const Value* number = item.value.find("signal");
  if (number && number->as_int()) return cat("it was ended by signal ", *number->as_int());
  if (code && code->as_int()) return cat("it exited with ", *code->as_int());
  return "it ended";
}

}  // namespace

// Nothing is started until the first cell, or start().
Kernel::Kernel(io::Loop& loop, std::weak_ptr<manager::Sandbox> sandbox, ContextInfo info,
               std::shared_ptr<LineBudget> budget)
    : info(std::move(info)),
      loop_(loop),
      sandbox_(std::move(sandbox)),
      budget_(std::move(budget)),
      starting_(loop),
      mutex_(loop),
      changed_(loop),
      ended_(loop) {}

// The tag makes the process findable for a later server.
std::string Kernel::tag_of(const ContextInfo& info) {
  return cat(kTagPrefix, info.language, "/", info.id, info.is_default ? "/default" : "");
}

// Programs inside can choose tags as well, so every part is checked.
bool Kernel::parse_tag(const std::string& tag, ContextInfo& info) {
  if (!starts_with(tag, kTagPrefix)) return false;
  std::vector<std::string> parts = split(std::string_view(tag).substr(sizeof kTagPrefix - 1), '/');
  if (parts.size() < 2 || parts.size() > 3 || parts[1].size() > 64) return false;
  bool plain = std::all_of(parts[1].begin(), parts[1].end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  Result<std::string> language = language_of(parts[0]);
  if (!plain || parts[1].empty() || !language) return false;
  info = ContextInfo{parts[1], language.value(), "", parts.size() == 3 && parts[2] == "default"};
  return true;
}

// Null unless the sandbox runs.
std::shared_ptr<guest::Client> Kernel::guest() const {
  std::shared_ptr<manager::Sandbox> sandbox = sandbox_.lock();
  return sandbox && sandbox->is_reachable() ? sandbox->guest() : nullptr;
}

// Attaches to a process that lives already, or starts one. One start at a time.
Task<Result<void>> Kernel::start(std::shared_ptr<Kernel> self) {
  io::Mutex::Lock lock = co_await self->starting_.lock();
  if (self->state_ == State::ready) co_return Result<void>();
  if (self->lives_as > 0) {
    bool attached = co_await attach(self);
    if (attached) co_return Result<void>();
  }
  Result<void> started = co_await start_alone(self, false);
  // A directory that only root may enter: as root, then (the sandbox's own). The guest must say so
  // itself; what a program inside printed decides nothing.
  bool closed = !started && self->refused_ &&
                self->refused_->message.find("ermission denied") != std::string::npos;
  if (closed) started = co_await start_alone(self, true);
  co_return started;
}

// "missing" is told apart from other failures, because the user can install what is needed.
Task<Result<void>> Kernel::start_alone(std::shared_ptr<Kernel> self, bool as_root) {
  std::shared_ptr<guest::Client> guest = self->guest();
  if (!guest) co_return Error{Code::conflict, "run code: the sandbox is not running", ""};
  KernelProgram program = kernel_program(self->info.language);
  guest::StartRequest request{.argv = program.argv,
                              .cwd = self->info.cwd,
                              .user = as_root ? "root" : "",
                              .tag = tag_of(self->info),
                              .wants_input = true};
  self->last_words_.clear();
  self->pid_ = 0;
  self->why_down_.clear();
  self->refused_.reset();
  self->state_ = State::starting;
  self->channel_ = guest->open(guest::to_value(request));
  io::spawn(read(self, self->channel_));
  Result<void> ready = co_await wait_ready(self, kStartPatience);
  if (ready) co_return ready;
  Error error = ready.error();
  error.message = cat("start a ", self->info.language, " context: ", error.message);
  bool missing = error.code == Code::not_found || self->why_down_ == "it exited with 127";
  if (missing)
    error = Error{Code::unsupported,
                  cat("start a ", self->info.language, " context: ", program.needs,
                      " is not installed in this sandbox"),
                  ""};
  co_return error;
}

// To one that outlived its server. What it was busy with had a client that is gone.
Task<bool> Kernel::attach(std::shared_ptr<Kernel> self) {
  std::shared_ptr<guest::Client> guest = self->guest();
  if (!guest) co_return false;
  self->pid_ = std::exchange(self->lives_as, 0);
  (void)co_await self->signal("SIGINT");
  Value request = guest::to_value(guest::AttachRequest{.pid = self->pid_});
  self->state_ = State::starting;
  self->channel_ = guest->open(request);
  std::shared_ptr<guest::Channel> channel = self->channel_;
  io::spawn(read(self, channel));
  // The line break ends what a server that died may have left half said.
  (void)co_await channel->send("\n{\"op\":\"hello\"}\n");
  Result<void> ready = co_await wait_ready(self, kAttachPatience);
  if (!ready) (void)co_await self->signal("SIGKILL");
  co_return static_cast<bool>(ready);
}

// A kernel that does not become ready is killed, so that the next start does not find it half
// alive.
Task<Result<void>> Kernel::wait_ready(std::shared_ptr<Kernel> self, io::Milliseconds patience) {
  io::Milliseconds deadline = self->loop_.now() + patience;
  while (self->state_ == State::starting) {
    bool in_time = co_await self->changed_.wait(deadline);
    if (in_time || self->state_ != State::starting) continue;
    (void)co_await self->signal("SIGKILL");
    self->down("it did not become ready in time");
  }
  if (self->state_ == State::ready) co_return Result<void>();
  Error error = self->refused_.value_or(Error{Code::io});
  error.message = self->why_down_;
  if (!self->last_words_.empty()) error.message += cat(": ", printable(self->last_words_));
  co_return error;
}

// The guest is gone; why the sandbox ended is known a moment later.
Task<void> Kernel::await_reason(std::shared_ptr<Kernel> self) {
  for (int tries = 0; tries < kReasonTries; ++tries) {
    std::shared_ptr<manager::Sandbox> sandbox = self->sandbox_.lock();
    if (!sandbox || !sandbox->info().ended_because.empty()) co_return;
    sandbox.reset();
    co_await self->loop_.sleep(kReasonPause);
  }
}

// Everything that it says, for as long as it lives.
Task<void> Kernel::read(std::shared_ptr<Kernel> self, std::shared_ptr<guest::Channel> channel) {
  std::string begun;  // a line whose end has not come
  std::shared_ptr<manager::Sandbox> sandbox = self->sandbox_.lock();
  redact::Stream words(sandbox ? sandbox->redaction() : redact::Rules::common());
  sandbox.reset();
  while (true) {
    Item item = co_await channel->next();
    bool mine = self->channel_ == channel;
    if (item.kind == Item::Kind::end || item.kind == Item::Kind::failed) {
      if (mine && item.kind == Item::Kind::failed) self->refused_ = item.error;
      self->killed_ = was_killed(item);
      if (mine && item.kind == Item::Kind::failed && item.error.kind == Kind::unavailable)
        co_await await_reason(self);
      if (mine) self->down(how_it_ended(item));
      break;
    }
    if (!mine) break;
    if (item.kind == Item::Kind::message) {
      const Value* pid = item.value.find("pid");
      if (pid && pid->as_int()) self->pid_ = *pid->as_int();
    }
    if (item.kind != Item::Kind::data) continue;
    if (item.stream == guest::kErrors && self->last_words_.size() < kLastWords)
      words.feed(item.bytes, self->last_words_);
    if (item.stream != guest::kOutput) continue;
    size_t from = begun.size(), start = 0;
    self->budget_->used += item.bytes.size();
    begun += item.bytes;
    for (size_t end = begun.find('\n', from); end != std::string::npos;
         end = begun.find('\n', start)) {
      std::string line = begun.substr(start, end - start);
      start = end + 1;
      co_await self->take(std::move(line));
    }
    if (self->current_) self->current_->announce();
    begun.erase(0, start);
    self->budget_->used -= start;
    if (begun.size() <= kLongestLine && self->budget_->used <= LineBudget::kMost) continue;
    (void)co_await self->signal("SIGKILL");
    self->down("it said more in one line than is taken");
    break;
  }
  self->budget_->used -= begun.size();
}

// Lines that are not about the cell that runs are ignored: a program inside can print anything.
Task<void> Kernel::take(std::string line) {
  uint64_t number = 0;
  std::string_view event;
  if (!split_line(line, number, event)) co_return;
  std::string type = event_type(event);
  if (type == "ready" && number == 0 && state_ == State::starting) {
    state_ = State::ready;
    changed_.ring();
  }
  std::shared_ptr<Cell> cell = current_;
  if (!cell || number != cell->number || type.empty() || type == "ready") co_return;
  bool last = type == "end_of_execution";
  if (!last) {
    std::string given(event);
    co_await cell->give(std::move(type), std::move(given));
    co_return;
  }
  if (current_ == cell) current_ = nullptr;
  cell->finish();
  ended_.ring();
}

// A limit is named where one is to blame: of the sandbox's memory, for which the kernel ended this
// process, or one that ended the sandbox.
Kernel::Failure Kernel::why_cell_failed() const {
  if (!ending_.empty()) return {"ContextRestarting", ending_};
  std::shared_ptr<manager::Sandbox> sandbox = sandbox_.lock();
  if (sandbox && sandbox->info().ended_by) {
    const LimitHit& hit = *sandbox->info().ended_by;
    return {limit_error_name(hit), cat("the sandbox was stopped: ", manager::limit_words(hit))};
  }
  if (sandbox && !sandbox->info().ended_because.empty()) {
    const manager::SandboxInfo& ended = sandbox->info();
    return {"SandboxEnded",
            cat("the sandbox ended: ", manager::ending_words(manager::ended_sandbox_of(
                                           ended, ended.ended_because, manager::wall_time_now())))};
  }
  if (killed_) {
    if (std::optional<LimitHit> hit = sandbox ? sandbox->memory_kill() : std::nullopt)
      return {limit_error_name(*hit),
              cat("the interpreter was stopped: ", manager::limit_words(*hit),
                  ". The next call starts it afresh, without its state.")};
  }
  return {"KernelDied", cat("The kernel died: ", why_down_,
                            ". The next call starts it afresh, without its state.")};
}

// The cell that runs is told why. Others find the state when it is their turn.
void Kernel::down(std::string why) {
  state_ = State::down;
  pid_ = 0;
  if (channel_) std::exchange(channel_, nullptr)->cancel();
  why_down_ = std::move(why);
  if (std::shared_ptr<Cell> cell = std::exchange(current_, nullptr)) {
    Failure failure = why_cell_failed();
    cell->fail(failure.name, failure.words);
  }
  changed_.ring();
  ended_.ring();
}

// For the end of the server, not of the process.
void Kernel::let_go() {
  if (channel_) down("the sandbox was let go of");
}

Task<bool> Kernel::signal(std::string name) {
  std::shared_ptr<guest::Client> client = guest();
  if (!client || pid_ <= 0) co_return false;
  Value request = guest::to_value(guest::SignalRequest{.pid = pid_, .signal = name});
  Result<Value> sent = co_await client->ask(request, loop_.now() + kSignalPatience);
  co_return static_cast<bool>(sent);
}

// One cell at a time; the lock is held until it has ended.
Task<void> Kernel::run(std::shared_ptr<Kernel> self, std::shared_ptr<Cell> cell) {
  io::Mutex::Lock lock = co_await self->mutex_.lock();
  if (cell->is_abandoned()) {
    cell->finish();
    co_return;
  }
  if (self->state_ != State::ready) {
    Result<void> up = co_await start(self);
    if (!up) {
      cell->fail("KernelNotStarted", up.error().message);
      co_return;
    }
  }
  if (cell->is_abandoned()) {
    cell->finish();
    co_return;
  }
  Value command = Value::Object{{"op", "run"},
                                {"cell", cell->number},
                                {"code", cell->request.code},
                                {"language", self->info.language}};
  if (!cell->request.env.empty()) {
    Value env = Value::Object{};
    for (const auto& [name, value] : cell->request.env) env.set(name, value);
    command.set("env", std::move(env));
  }
  std::string text = to_json(command) + "\n";
  std::shared_ptr<guest::Channel> channel = self->channel_;
  if (!channel) {
    cell->fail("KernelDied", cat("The kernel died: ", self->why_down_));
    co_return;
  }
  self->current_ = cell;
  std::weak_ptr<Kernel> weak_kernel = self;
  std::weak_ptr<Cell> weak_cell = cell;
  cell->on_abandon = [weak_kernel, weak_cell] {
    std::shared_ptr<Kernel> kernel = weak_kernel.lock();
    std::shared_ptr<Cell> abandoned = weak_cell.lock();
    if (kernel && abandoned) io::spawn(stop(kernel, abandoned));
  };
  bool sent = co_await channel->send(text);
  if (!sent && self->current_ == cell) self->down("it does not listen any more");
  while (self->current_ == cell) (void)co_await self->ended_.wait();
}

// Interrupts twice, as Ctrl-C would, and kills the kernel if that does not help.
Task<void> Kernel::stop(std::shared_ptr<Kernel> self, std::shared_ptr<Cell> cell) {
  io::Milliseconds begun = self->loop_.now();
  for (int time = 0; time < 2; ++time) {
    if (self->current_ != cell) co_return;
    (void)co_await self->signal("SIGINT");
    io::Milliseconds deadline = begun + (time == 0 ? kInterruptAgain : kInterruptPatience);
    while (self->current_ == cell && self->loop_.now() < deadline)
      (void)co_await self->ended_.wait(deadline);
  }
  if (self->current_ != cell) co_return;
  (void)co_await self->signal("SIGKILL");
  if (self->current_ == cell) self->down("it did not stop when it was interrupted");
}

// Also ends a process that was found but not attached to.
Task<void> Kernel::end(std::shared_ptr<Kernel> self, std::string why) {
  self->ending_ = why;
  if (self->lives_as > 0) self->pid_ = std::exchange(self->lives_as, 0);
  (void)co_await self->signal("SIGKILL");
  if (self->channel_) self->down(why);
  self->ending_.clear();
}

}  // namespace paddock::code
