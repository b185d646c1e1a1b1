// paddock::Tools: the public door to the tools. The event loop runs in a thread of its own, one for
// the whole process.
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <future>
#include <mutex>
#include <thread>

#include "base/peer_json.h"
#include "base/text.h"
#include "paddock/tools.h"
#include "tools/local.h"

namespace paddock {

namespace {

using io::Task;

// The loop of the whole process and its thread. Threads of the program hand it work and wait.
class LoopThread {
 public:
  static Result<LoopThread*> get() {
    static std::mutex lock;
    // Never destroyed, because its thread runs until the process ends.
    static LoopThread* only = nullptr;
    std::lock_guard<std::mutex> held(lock);
    if (!only) only = TRY(start());
    if (only->process_ != ::getpid())
      return Error{Code::unsupported, "call tools: this process was forked from one that did",
                   "fork before the first paddock::Tools::open"};
    return only;
  }

  io::Loop& loop() { return loop_; }

  // What `make` returns is run on the loop's thread; goes on when it is done.
  void run(std::function<Task<void>()> make) {
    auto job = std::make_shared<Job>();
    job->make = std::move(make);
    std::future<void> done = job->done.get_future();
    {
      std::lock_guard<std::mutex> held(lock_);
      jobs_.push_back(job);
    }
    uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
    done.get();
  }

 private:
  struct Job {
    std::function<Task<void>()> make;
    std::promise<void> done;
  };

  explicit LoopThread(io::Loop& loop) : loop_(loop), process_(::getpid()) {}

  // The thread is detached: there is no good moment to join it at the end of a process.
  static Result<LoopThread*> start() {
    io::Loop& loop = *TRY(io::Loop::create());
    Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return errno_error(errno, "make an eventfd");
    auto* made = new LoopThread(loop);
    made->wake_.open(loop, std::move(wake));
    // Signals are the program's business: a thread that starts with all of them blocked never takes
    // one.
    sigset_t all, before;
    (void)::sigfillset(&all);
    (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([made] {
      io::spawn(made->serve());
      made->loop_.run();
    }).detach();
    (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return made;
  }

  // Wakes for every write to the eventfd and takes all jobs that are there.
  Task<void> serve() {
    while (true) {
      (void)co_await wake_.readable();
      uint64_t count;
      (void)!::read(wake_.get(), &count, sizeof count);
      wake_.not_readable();
      std::vector<std::shared_ptr<Job>> jobs;
      {
        std::lock_guard<std::mutex> held(lock_);
        jobs.swap(jobs_);
      }
      for (std::shared_ptr<Job>& job : jobs) io::spawn(perform(std::move(job)));
    }
  }

  static Task<void> perform(std::shared_ptr<Job> job) {
    Task<void> task = job->make();
    co_await task;
    job->done.set_value();
  }

  io::Loop& loop_;
  pid_t process_;
  io::Socket wake_;
  std::mutex lock_;
  std::vector<std::shared_ptr<Job>> jobs_;
};

// A call on its way to the loop's thread. It lives on the caller's stack, who waits.
struct Question {
  tools::LocalTools& tools;
  std::string tool;
  Value arguments;
  bool judge;
  std::function<void(const std::string& line)> on_line;
  tools::Called answer{};
};

// Runs on the loop's thread while the caller's thread waits.
Task<void> ask(Question& question) {
  std::shared_ptr<mcp::DirectContext> context = question.tools.new_context();
  context->on_log = question.on_line;
  question.answer =
      co_await question.tools.call(question.tool, question.arguments, question.judge, context);
}

Task<void> open_tools(io::Loop& loop, tools::LocalOptions options,
                      Result<std::unique_ptr<tools::LocalTools>>& opened) {
  opened = tools::LocalTools::open(loop, std::move(options));
  co_return;
}

// The servers are ended on the thread that owns them.
Task<void> close_tools(std::unique_ptr<tools::LocalTools>& tools) {
  co_await tools->close();
  tools.reset();
}

Task<void> list_tools(tools::LocalTools& tools, std::string& list) {
  co_await tools.toolbox().start();
  list = to_json(tools.toolbox().describe_tools());
}

ToolVerdict verdict_of(policy::Decision::Kind kind) {
  switch (kind) {
    case policy::Decision::Kind::allow: return ToolVerdict::allow;
    case policy::Decision::Kind::ask: return ToolVerdict::ask;
    case policy::Decision::Kind::deny: break;
  }
  return ToolVerdict::deny;
}

// An error of the protocol is the error arm, unless the call was denied.
Result<ToolAnswer> answer_of(const tools::Called& called) {
  const policy::Decision& decision = called.decision;
  if (decision.kind != policy::Decision::Kind::deny && called.answer.problem)
    return Error{Code::io, cat("call the tool: ", called.answer.problem->message), ""};
  ToolAnswer answer{.verdict = verdict_of(decision.kind),
                    .rule = decision.rule,
                    .why = decision.why,
                    .hint = decision.hint,
                    .retry_after_ms = decision.retry_after_ms,
                    .id = called.id};
  if (decision.kind == policy::Decision::Kind::deny || called.dry_run) return answer;
  answer.failed = tools::is_error_result(called.answer.result);
  answer.text = tools::text_of_result(called.answer.result);
  answer.result = to_json(called.answer.result);
  return answer;
}

}  // namespace

struct Tools::State {
  LoopThread& thread;
  // Touched by the loop's thread alone.
  std::unique_ptr<tools::LocalTools> tools;
  std::function<void(const std::string& line)> on_line;

  // Fails in a forked process, which does not have the loop's thread.
  Result<ToolAnswer> ask(const std::string& tool, const std::string& arguments, bool judge) {
    Value parsed = TRY(parse_peer_json(arguments, "arguments"));
    if (!parsed.as_object())
      return Error{Code::invalid,
                   cat("arguments: an object of JSON is needed, not ", parsed.type_name()), ""};
    Question question{*tools, tool, std::move(parsed), judge, on_line};
    TRY(LoopThread::get());
    thread.run([&] { return paddock::ask(question); });
    return answer_of(question.answer);
  }
};

Tools::Tools(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tools::Tools(Tools&&) noexcept = default;

// The other one's destructor ends what this one held.
Tools& Tools::operator=(Tools&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

// MCP servers end before the destructor returns.
Tools::~Tools() {
  if (!state_) return;
  if (!LoopThread::get()) {  // a forked process: they are the parent's
    (void)state_.release();
    return;
  }
  state_->thread.run([&] { return close_tools(state_->tools); });
}

// Opened on the loop's thread, which alone touches the tools from then on.
Result<Tools> Tools::open(const ToolsOptions& options) {
  LoopThread& thread = *TRY(LoopThread::get());
  tools::LocalOptions local{
      .policies = options.policies, .agent = options.agent, .traceparent = options.traceparent};
  if (options.on_line)
    local.on_line = [tell = options.on_line](const std::string& server, const std::string& line) {
      tell(server.empty() ? line : cat(server, ": ", line));
    };
  Result<std::unique_ptr<tools::LocalTools>> opened = Error{};
  thread.run([&] { return open_tools(thread.loop(), local, opened); });
  std::unique_ptr<tools::LocalTools> tools = TRY(std::move(opened));
  return Tools(std::make_unique<State>(State{thread, std::move(tools), options.on_line}));
}

Result<ToolAnswer> Tools::call(const std::string& tool, const std::string& arguments) const {
  return state_->ask(tool, arguments, false);
}
Result<ToolAnswer> Tools::judge(const std::string& tool, const std::string& arguments) const {
  return state_->ask(tool, arguments, true);
}

std::string Tools::list() const {
  std::string list = "[]";
  if (!LoopThread::get()) return list;  // a forked process has none of them
  state_->thread.run([&] { return list_tools(*state_->tools, list); });
  return list;
}

}  // namespace paddock
