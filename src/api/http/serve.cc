#include "api/http/serve.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "api/http/listen.h"
#include "base/text.h"
#include "linux/tree.h"
#include "manager/sandbox_events.h"
#include "record/events.h"
#include "store/state.h"

namespace paddock::api {

namespace {

using io::Task;

constexpr io::Milliseconds kDrainTime = 5'000;
constexpr io::Milliseconds kTracesTime = 2'000;  // for the last of them

// Blocked before any thread is made, so that none takes them.
Result<Fd> take_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return errno_error(errno, "block signals");
  (void)::signal(SIGPIPE, SIG_IGN);
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return errno_error(errno, "take signals");
  return fd;
}

// The end of a pipe whose other end the parent holds.
Result<Fd> take_stdin() {
  struct stat status {};
  bool pipe =
      ::fstat(STDIN_FILENO, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
  if (!pipe)
    return Error{Code::invalid, "end with the parent: stdin is not a pipe",
                 "start the server with a pipe as its stdin"};
  Fd fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!fd || ::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) return errno_error(errno, "watch stdin");
  return fd;
}

// A server while it runs, and how its life has ended.
struct Running {
  io::Loop& loop;
  ServeOptions options;
  std::unique_ptr<Server> server;
  std::unique_ptr<manager::Manager> manager;
  std::optional<manager::Keys> keys;
  std::optional<templates::Builder> builder;
  io::Socket signals, parent;
  Result<void> result{};
};

// Until a signal comes, or the parent is gone.
Task<void> wait_for_the_end(Running& running) {
  while (true) {
    signalfd_siginfo info;
    if (::read(running.signals.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
      co_return;
    char buffer[256];
    ssize_t size = running.parent ? ::read(running.parent.get(), buffer, sizeof buffer) : -1;
    if (running.parent && (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))) co_return;
    if (size > 0) continue;
    running.signals.not_readable();
    io::Interest interests[2] = {{&running.signals, false}, {&running.parent, false}};
    if (running.parent) running.parent.not_readable();
    size_t count = running.parent ? 2 : 1;
    io::Wait wait(running.loop, interests, count, io::Wait::kForever);
    (void)co_await wait;
  }
}

// How many sandboxes are still to be killed.
struct Killing {
  size_t left = 0;
  io::Event done;
};

Task<void> kill_one(Running& running, std::shared_ptr<manager::Sandbox> sandbox, Killing& killing) {
  manager::Caller owner{sandbox->info().tenant, {"admin"}};
  std::string id = sandbox->info().id;
  (void)co_await running.manager->kill(owner, id);
  if (--killing.left == 0) killing.done.happen();
}

// All at once, and waits for the last.
Task<void> kill_all(Running& running) {
  std::vector<std::shared_ptr<manager::Sandbox>> all = running.manager->all();
  if (all.empty()) co_return;
  Killing killing{all.size(), io::Event(running.loop)};
  for (const std::shared_ptr<manager::Sandbox>& sandbox : all)
    io::spawn(kill_one(running, sandbox, killing));
  co_await killing.done;
}

// The whole life of the server, on its loop.
Task<void> run(Running& running) {
  manager::ManagerOptions options;
  options.policy = running.options.policy;
  options.most_sandboxes = running.options.most_sandboxes;
  options.otlp = running.options.otlp;
  Result<std::unique_ptr<manager::Manager>> manager =
      co_await manager::Manager::start(running.loop, std::move(options));
  if (manager) {
    running.manager = std::move(manager.value());
    running.builder.emplace(*running.manager);
    running.result = running.builder->open();
  } else {
    running.result = manager.error();
  }
  if (!running.result) {
    if (running.manager) co_await running.manager->stop();
    running.loop.stop();
    co_return;
  }
  manager::Caller server;
  Value start = Value::Object{{"version", PADDOCK_VERSION},
                              {"policy", running.options.policy},
                              {"listening", text_list(running.server->addresses())}};
  std::string nothing;
  std::string begins = "server.start";
  // A server whose log cannot be written starts all the same: what runs must be seen and ended.
  // /health says so.
  Result<Event> ignored = co_await running.manager->record_act(server, begins, start, nothing);
  (void)ignored;
  running.server->start(*running.manager, *running.keys, *running.builder);
  if (running.options.ready) running.options.ready(*running.server);
  co_await wait_for_the_end(running);
  co_await running.server->drain(kDrainTime);
  if (running.options.exit_kills) co_await kill_all(running);
  Event end = manager::admin_event(server, "server.stop", Value());
  running.manager->events().note(std::move(end));
  co_await running.manager->stop();
  co_await running.manager->events().drain(kTracesTime);
  running.loop.stop();
}

}  // namespace

// Its templates are thousands of files: whoever waits for this process need not wait for a child of
// it that removes them.
void remove_state(const std::string& state) {
  pid_t child = ::fork();
  if (child > 0) return;
  if (child == 0) {
    (void)::setsid();
    Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int standard : {0, 1, 2}) (void)::dup2(null.get(), standard);
  }
  std::error_code ignored;
  std::filesystem::remove_all(state, ignored);
  if (child == 0) ::_exit(0);
}

// What is removed at the end must hold nothing but what this server put there. Whoever starts it
// may log beside its state.
Result<void> must_be_new(const std::string& state) {
  Fd directory = TRY(open_file(state, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  for (const std::string& name : TRY(kernel::list_directory(directory.get())))
    if (name != "server.log")
      return Error{Code::denied,
                   cat("serve --temporary would remove '", printable(state),
                       "' at its end, and it holds '", printable(name), "'"),
                   "set PADDOCK_STATE to an empty directory"};
  return {};
}

Result<void> serve(ServeOptions options) {
  std::string state = TRY(store::state_directory());
  if (options.temporary) TRY(must_be_new(state));
  Fd signals = TRY(take_signals());
  io::Loop& loop = *TRY(io::Loop::create());
  Running running{loop, std::move(options), nullptr, nullptr, {}, {}, {}, {}, {}};
  running.signals.open(loop, std::move(signals));
  if (running.options.with_parent) running.parent.open(loop, TRY(take_stdin()));
  running.keys = TRY(manager::Keys::open(state));
  std::vector<std::unique_ptr<Listener>> listeners = TRY(listen_all(loop, running.options.server));
  running.server = TRY(Server::create(loop, running.options.server, std::move(listeners)));
  io::spawn(run(running));
  loop.run();
  running.manager.reset();
  if (running.options.temporary && running.options.exit_kills && running.result)
    remove_state(state);
  return std::move(running.result);
}

}  // namespace paddock::api
