#include "guest/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

constexpr size_t kPiece = 32 << 10;
char buffer[kPiece];  // of the whole process: what is in it does not outlive a turn

// Read at most from the pipe of a killed process: as much as a pipe holds.
constexpr size_t kLastBytes = 64 << 10;
// An output that never pauses gives way to others after this many pieces.
constexpr int kPiecesInARow = 8;
// The time from fork to exec. A program inside may stop the child in between, which must not block
// the guest.
constexpr io::Milliseconds kStartMs = 30'000;

void do_not_block(int fd) { (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// /proc/PID/stat is "pid (name) state parent group session …", where the name may hold anything, a
// parenthesis too. Only the last one ends it.
pid_t session_of(const char* pid) {
  Result<std::string> stat = read_file(cat("/proc/", pid, "/stat"), 4096);
  if (!stat) return -1;
  size_t end = stat.value().rfind(')');
  if (end == std::string::npos) return -1;
  std::vector<std::string> words = words_in(std::string_view(stat.value()).substr(end + 1));
  if (words.size() < 4) return -1;
  pid_t session = -1;
  (void)std::from_chars(words[3].data(), words[3].data() + words[3].size(), session);
  return session;
}

}  // namespace

// A shell's job control puts children into other process groups, so killing the group is not
// enough. They all stay in the session.
void kill_session(pid_t leader) {
  (void)::kill(-leader, SIGKILL);
  DIR* processes = ::opendir("/proc");
  if (!processes) return;
  while (dirent* entry = ::readdir(processes)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || session_of(entry->d_name) != leader)
      continue;
    pid_t pid = ::atoi(entry->d_name);
    if (pid > 1) (void)::kill(pid, SIGKILL);
  }
  ::closedir(processes);
}

Process::Process(io::Loop& loop, ProcessSpec spec)
    : spec(std::move(spec)), loop_(loop), writing_(loop), timer_(loop) {}

// The master is duplicated, so that the output can be closed while input and resizing still have a
// descriptor.
Result<void> Process::open_terminal_streams(std::vector<Fd>& theirs) {
  Terminal terminal = TRY(open_terminal(*spec.size, spec.plan.user));
  Fd writer(::fcntl(terminal.master.get(), F_DUPFD_CLOEXEC, 3));
  if (!writer) return refuse_errno(errno, "open a terminal");
  auto output = std::make_unique<Output>(loop_, kTerminal);
  output->socket.open(loop_, std::move(terminal.master));
  outputs_.push_back(std::move(output));
  input_.open(loop_, std::move(writer));
  for (int i = 0; i < 2; ++i)
    theirs.push_back(Fd(::fcntl(terminal.slave.get(), F_DUPFD_CLOEXEC, 3)));
  theirs.push_back(std::move(terminal.slave));
  return {};
}

// `theirs` gets what the child has as its descriptors 0, 1 and 2, in that order.
Result<void> Process::open_streams(std::vector<Fd>& theirs) {
  if (spec.size) return open_terminal_streams(theirs);
  if (spec.wants_input) {
    Pipe pipe = TRY(make_pipe());
    do_not_block(pipe.write.get());
    theirs.push_back(std::move(pipe.read));
    input_.open(loop_, std::move(pipe.write));
  } else {
    theirs.push_back(TRY(open_file("/dev/null", O_RDONLY)));
    input_closed_ = true;
  }
  for (uint8_t stream : {kOutput, kErrors}) {
    Pipe pipe = TRY(make_pipe());
    do_not_block(pipe.read.get());
    theirs.push_back(std::move(pipe.write));
    auto output = std::make_unique<Output>(loop_, stream);
    output->socket.open(loop_, std::move(pipe.read));
    outputs_.push_back(std::move(output));
  }
  return {};
}

io::Task<Result<std::shared_ptr<Process>>> Process::start(
    io::Loop& loop, ProcessSpec spec, std::function<void(std::shared_ptr<Process>)> born) {
  auto process = std::make_shared<Process>(loop, std::move(spec));
  std::vector<Fd> theirs;
  Result<void> opened = process->open_streams(theirs);
  if (!opened) co_return opened.error();
  process->open_outputs_ = process->outputs_.size();
  SpawnPlan plan = process->spec.plan;
  plan.input = theirs[0].get();
  plan.output = theirs[1].get();
  plan.errors = theirs[2].get();
  plan.terminal = process->spec.size.has_value();
  Result<Spawned> spawned = spawn_program(plan);
  if (!spawned) co_return spawned.error();
  theirs.clear();
  process->pid = spawned.value().pid;
  born(process);

  // The status pipe is closed by a successful exec, and carries errno otherwise.
  do_not_block(spawned.value().status.get());
  io::Socket status(loop, std::move(spawned.value().status));
  int number = 0;
  io::Milliseconds deadline = loop.now() + kStartMs;
  while (true) {
    ssize_t count = ::read(status.get(), &number, sizeof number);
    if (count == 0) break;
    if (count > 0) co_return refuse_errno(number, cat("fork/exec ", process->spec.plan.argv[0]));
    if (errno != EAGAIN && errno != EINTR) break;
    status.not_readable();
    bool in_time = co_await status.readable(deadline);
    if (in_time) continue;
    (void)::kill(process->pid, SIGKILL);  // somebody inside stopped it half-way
    co_return refuse(Code::internal,
                     cat("fork/exec ", process->spec.plan.argv[0], ": it did not come up"));
  }
  co_return process;
}

void Process::run() {
  running_ = true;
  for (std::unique_ptr<Output>& output : outputs_) io::spawn(pump(shared_from_this(), *output));
  if (spec.timeout_ms > 0) io::spawn(time_out(shared_from_this()));
}

void Process::follow(std::shared_ptr<Call> call) {
  std::weak_ptr<Process> weak = weak_from_this();
  call->on_change = [weak] {
    if (std::shared_ptr<Process> process = weak.lock()) process->room_changed();
  };
  followers_.push_back(std::move(call));
}

void Process::leave(const std::shared_ptr<Call>& call) {
  call->on_change = nullptr;
  std::erase(followers_, call);
  std::erase(waiting_, call);
  room_changed();
}

// The slowest follower sets the pace. Without followers, what is written is thrown away.
size_t Process::room() const {
  size_t room = kPiece;
  for (const std::shared_ptr<Call>& call : followers_)
    if (!call->cancelled()) room = std::min(room, call->room());
  return room;
}

void Process::room_changed() {
  if (room() == 0) return;
  for (std::unique_ptr<Output>& output : outputs_) output->bell.ring();
}

// Passes one stream on. A killed process may have left children that keep the pipe open: then only
// what the pipe still holds is read, so that the end is not delayed for ever.
io::Task<void> Process::pump(std::shared_ptr<Process> self, Output& output) {
  size_t after_kill = 0;
  for (int in_a_row = 0;; ++in_a_row) {
    if (in_a_row >= kPiecesInARow) {
      in_a_row = 0;
      co_await self->loop_.yield();
    }
    size_t room = self->room();
    if (room == 0) {
      (void)co_await output.bell.wait();
      continue;
    }
    if (self->hurried_ && self->reaped_ && after_kill >= kLastBytes) break;
    ssize_t count = ::read(output.socket.get(), buffer, room);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      if (self->hurried_ && self->reaped_) break;
      output.socket.not_readable();
      (void)co_await output.socket.readable();
      continue;
    }
    if (count <= 0) break;  // EIO of a terminal whose other side is closed, too
    if (self->reaped_) after_kill += static_cast<size_t>(count);
    for (const std::shared_ptr<Call>& call : self->followers_)
      call->push({buffer, static_cast<size_t>(count)}, output.stream);
  }
  output.socket.close();
  --self->open_outputs_;
  self->check_end();
}

// Kills the whole session when the time is over. The end of the process rings the timer.
io::Task<void> Process::time_out(std::shared_ptr<Process> self) {
  io::Milliseconds deadline = self->loop_.now() + self->spec.timeout_ms;
  while (!self->ended_) {
    bool rung = co_await self->timer_.wait(deadline);
    if (rung) continue;
    self->timed_out_ = self->hurried_ = true;
    kill_session(self->pid);
    for (std::unique_ptr<Output>& output : self->outputs_) output->socket.nudge();
    break;
  }
}

void Process::exited(int status) {
  status_ = status;
  reaped_ = true;
  if (hurried_)
    for (std::unique_ptr<Output>& output : outputs_) output->socket.nudge();
  check_end();
}

// The end is reported only after all output was passed on, so that no follower misses the last
// bytes.
void Process::check_end() {
  if (!reaped_ || open_outputs_ > 0 || ended_) return;
  ended_ = true;
  ended_at = loop_.now();
  if (input_) input_.nudge();
  io::spawn(drop_input(shared_from_this()));
  timer_.ring();
  for (const std::shared_ptr<Call>& call : followers_) call->bell.ring();
  for (const std::shared_ptr<Call>& call : waiting_) call->bell.ring();
}

Value Process::result() const {
  Value result;
  if (WIFSIGNALED(status_)) {
    result.set("signal", WTERMSIG(status_));
  } else {
    result.set("code", WEXITSTATUS(status_));
  }
  if (timed_out_) result.set("timed_out", true);
  return result;
}

Result<void> Process::signal(int number) {
  if (ended_) return refuse(Code::not_found, cat("process ", pid, " has ended"));
  // Whoever kills a program does not want to wait for its children to close the pipe.
  if (number == SIGKILL || number == SIGTERM) hurried_ = true;
  if (reaped_) {  // what it left behind holds its streams
    (void)::kill(-pid, number);
    for (std::unique_ptr<Output>& output : outputs_) output->socket.nudge();
    return {};
  }
  if (::kill(pid, number) != 0) return refuse_errno(errno, cat("signal process ", pid));
  if (number == SIGKILL) (void)::kill(-pid, number);
  return {};
}

Result<void> Process::resize(TerminalSize size) {
  if (!spec.size) return refuse(Code::internal, "the process has no terminal");
  if (ended_) return refuse(Code::not_found, cat("process ", pid, " has ended"));
  return resize_terminal(input_.get(), size);
}

io::Task<Result<void>> Process::write(std::shared_ptr<Call> call, std::string bytes,
                                      bool to_terminal) {
  std::shared_ptr<Process> self = shared_from_this();
  // The protocol has different operations for stdin and for a terminal, and mixing them up is
  // refused.
  if (to_terminal && !spec.size) co_return refuse(Code::internal, "the process has no terminal");
  if (!to_terminal && spec.size)
    co_return refuse(Code::internal, "the process has a terminal, no stdin");
  // One writer at a time, or the bytes of two requests would mix.
  io::Mutex::Lock lock = co_await writing_.lock();
  Result<void> done;
  for (size_t at = 0; at < bytes.size();) {
    if (input_closed_ || ended_) {
      done = refuse(Code::internal, "stdin is closed or was not asked for");
      break;
    }
    if (call->cancelled()) break;
    ssize_t count = ::write(input_.get(), bytes.data() + at, bytes.size() - at);
    if (count > 0) at += static_cast<size_t>(count);
    if (count > 0 || errno == EINTR) continue;
    if (errno != EAGAIN) {
      done = refuse(Code::internal,
                    errno == EPIPE || errno == EIO ? "stdin is closed" : "write to stdin failed");
      break;
    }
    input_.not_writable();
    io::Interest interests[] = {{&input_, true}, call->bell.interest()};
    io::Wait room_or_cancelled(loop_, interests, 2, io::Wait::kForever);
    (void)co_await room_or_cancelled;
  }
  co_return done;
}

// Waits for the writer that is under way before the descriptor is closed.
io::Task<void> Process::drop_input(std::shared_ptr<Process> self) {
  io::Mutex::Lock lock = co_await self->writing_.lock();
  self->input_closed_ = true;
  self->input_.close();
}

io::Task<Result<void>> Process::close_input() {
  if (spec.size) co_return refuse(Kind::unknown, "a terminal has no stdin to close");
  co_await drop_input(shared_from_this());
  co_return Result<void>();
}

}  // namespace paddock::guest
