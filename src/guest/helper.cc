#include "guest/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>

#include "base/text.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

// A report is a small JSON object. A longer one is cut, and then fails to parse.
constexpr size_t kPiece = 32 << 10, kLongestReport = 64 << 10;

// Only the guest's ends: the flag belongs to the open file, and both ends of a pipe have their own.
void do_not_block(int fd) { (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// The state of one helper. Each coroutine holds a pointer to it, so that it lives until the last of
// them ends.
struct Helper {
  Helper(io::Loop& loop, std::shared_ptr<Call> call) : call(std::move(call)), ended_bell(loop) {}
  std::shared_ptr<Call> call;
  io::Socket input, output, report;
  io::Bell ended_bell;
  pid_t pid = -1;
  bool ended = false;
  int status = 0;
  std::string said;
};

// Runs in the child and never returns. Its report is {"result":…} or {"error":{"code","message"}}.
[[noreturn]] void work_in_child(const std::optional<User>& user, const Work& work, Fd input,
                                Fd output, Fd report) {
  go_first_when_memory_runs_out();
  // The three descriptors are moved out of the way first, as one may stand where another belongs.
  // Then all others are closed: the child must not hold the guest's control socket.
  int kept[3] = {};
  const Fd* given[3] = {&input, &output, &report};
  for (int i = 0; i < 3; ++i) kept[i] = ::fcntl(given[i]->get(), F_DUPFD_CLOEXEC, 16);
  for (int i = 0; i < 3; ++i) (void)::dup3(kept[i], 3 + i, O_CLOEXEC);
  (void)::syscall(SYS_close_range, 6, INT_MAX, 0);
  (void)::syscall(SYS_close_range, 0, 2, 0);
  become_ordinary();
  (void)::signal(SIGPIPE, SIG_IGN);
  Result<void> become = user ? become_user(*user) : Result<void>();
  Result<Value> result = become ? work({3, 4}) : Result<Value>(become.error());
  Value said;
  if (result) {
    said.set("result", std::move(result).value());
  } else {
    Value error;
    error.set("code", wire_code(result.error()));
    error.set("message", result.error().message);
    said.set("error", std::move(error));
  }
  (void)write_all(5, to_json(said));
  ::_exit(0);
}

// Feeds the child, and closes its input when the server ends it. Once the child is gone, the rest
// is read and thrown away so that the server is not left waiting for credit.
io::Task<void> pass_input(std::shared_ptr<Helper> helper) {
  while (true) {
    std::optional<std::string> bytes = co_await helper->call->input();
    if (!bytes) break;
    for (size_t at = 0; at < bytes->size() && !helper->ended;) {
      ssize_t count = ::write(helper->input.get(), bytes->data() + at, bytes->size() - at);
      if (count > 0) at += static_cast<size_t>(count);
      if (count > 0 || errno == EINTR) continue;
      if (errno != EAGAIN) break;
      helper->input.not_writable();
      (void)co_await helper->input.writable();
    }
  }
  helper->input.close();
}

// Runs until both pipes have ended. The report comes last, so output is read to its end first.
// Memory is bounded here, whatever the child writes.
io::Task<void> pass_output(std::shared_ptr<Helper> helper) {
  std::string piece(kPiece, '\0');
  while (!helper->call->cancelled()) {
    ssize_t count = ::read(helper->output.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      helper->output.not_readable();
      (void)co_await helper->output.readable();
      continue;
    }
    if (count <= 0) break;
    std::string_view bytes(piece.data(), static_cast<size_t>(count));
    bool sent = co_await helper->call->send(bytes, kOutput);
    if (!sent) break;
  }
  while (!helper->call->cancelled() && helper->said.size() < kLongestReport) {
    ssize_t count = ::read(helper->report.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      helper->report.not_readable();
      (void)co_await helper->report.readable();
      continue;
    }
    if (count <= 0) break;
    helper->said.append(piece.data(), static_cast<size_t>(count));
  }
  // The work is done, or nobody wants it any more.
  if (!helper->ended) (void)::kill(helper->pid, SIGKILL);
}

// Kills the child of a call that was cancelled, and wakes the coroutines that wait for its pipes.
void watch_cancel(const std::shared_ptr<Helper>& helper) {
  std::weak_ptr<Helper> weak = helper;
  helper->call->on_change = [weak] {
    std::shared_ptr<Helper> helper = weak.lock();
    if (!helper || !helper->call->cancelled()) return;
    if (!helper->ended) (void)::kill(helper->pid, SIGKILL);
    helper->output.nudge();
    helper->report.nudge();
  };
}

// The result of the work from its report. A child without a report was killed, or crashed.
Result<Value> verdict(const Helper& helper) {
  Result<Value> said = parse_json(helper.said, "report");
  if (!said) {
    bool killed = WIFSIGNALED(helper.status);
    return refuse(Code::internal,
                  killed ? cat("the work was ended by signal ", WTERMSIG(helper.status))
                         : "the work ended without a result");
  }
  if (const Value* result = said.value().find("result")) return *result;
  const Value* error = said.value().find("error");
  if (!error) return refuse(Code::internal, "the work ended without a result");
  return from_wire(TRY(text_of(*error, "code")), TRY(text_of(*error, "message")));
}

}  // namespace

io::Task<Result<Value>> run_helper(Guest& guest, std::shared_ptr<Call> call,
                                   std::optional<User> user, Work work) {
  auto helper = std::make_shared<Helper>(guest.loop, call);
  Result<Pipe> input = make_pipe(), output = make_pipe(), report = make_pipe();
  if (!input) co_return input.error();
  if (!output) co_return output.error();
  if (!report) co_return report.error();
  helper->pid = ::fork();
  if (helper->pid < 0) co_return refuse_errno(errno, "start a helper process");
  if (helper->pid == 0)
    work_in_child(user, work, std::move(input.value().read), std::move(output.value().write),
                  std::move(report.value().write));
  guest.processes.expect(helper->pid, [helper](int status) {
    helper->ended = true;
    helper->status = status;
    helper->input.nudge();
    helper->ended_bell.ring();
  });
  do_not_block(input.value().write.get());
  do_not_block(output.value().read.get());
  do_not_block(report.value().read.get());
  input.value().read.reset();
  output.value().write.reset();
  report.value().write.reset();
  helper->input.open(guest.loop, std::move(input.value().write));
  helper->output.open(guest.loop, std::move(output.value().read));
  helper->report.open(guest.loop, std::move(report.value().read));
  watch_cancel(helper);
  io::spawn(pass_input(helper));
  co_await pass_output(helper);
  while (!helper->ended) (void)co_await helper->ended_bell.wait();
  call->on_change = nullptr;
  Result<Value> result = verdict(*helper);
  co_return result;
}

}  // namespace paddock::guest
