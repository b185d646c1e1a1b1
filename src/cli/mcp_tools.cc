#include "cli/mcp_tools.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "api/http/serve.h"
#include "base/random_name.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/policy_flags.h"
#include "io/bell.h"
#include "record/events.h"
#include "run/grants.h"
#include "run/secrets.h"
#include "store/state.h"
#include "tools/direct.h"
#include "tools/toolbox.h"

namespace paddock::cli {

namespace {

using io::Task;

constexpr io::Milliseconds kTracesTime = 1'000;

// Of a directory that ends with this process.
constexpr size_t kNameLength = 12;

// --workspace DIR[:ro|rw|copy], with the real path of the directory.
Result<std::optional<Workspace>> workspace_of(const std::string& flag) {
  if (flag.empty()) return std::optional<Workspace>();
  PolicyFlags flags;
  flags.given["files.workspace"].text = flag;
  std::optional<Workspace> workspace = TRY(call_policy(flags)).files.workspace;
  // Unless it says otherwise.
  if (!ends_with(flag, ":copy") && workspace->mode == WorkspaceMode::copy)
    workspace->mode = WorkspaceMode::read_only;
  char* real = ::realpath(workspace->path.c_str(), nullptr);
  if (!real) return errno_error(errno, cat("--workspace '", printable(workspace->path), "'"));
  workspace->path = real;
  ::free(real);
  return workspace;
}

// The network that sandboxes may have at most: what --allow-net lists, and without it what the
// named policies allow. Without either there is none: a model that could open it by itself would
// send the workspace away.
std::optional<Policy> ceiling_of(const McpToolsOptions& options) {
  if (options.allow_net.empty() && !options.policies.empty()) return std::nullopt;
  Policy flags;
  flags.network.allow = options.allow_net;
  return flags;
}

// A process that waits for our end. Clients kill servers that they are done with, and sandboxes
// outlive whoever made them: what we could not clean up then, it does (clean_up_after).
Result<Fd> start_watcher(const std::string& directory) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "make a pipe");
  Fd read(ends[0]), write(ends[1]), null = TRY(open_file("/dev/null", O_RDWR));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, read.get(), STDIN_FILENO);
  for (int standard : {STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_adddup2(&actions, null.get(), standard);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  const char* argv[] = {"paddock-server", "mcp", "--clean-up-after", directory.c_str(), nullptr};
  pid_t pid = -1;
  int failed = ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes,
                             const_cast<char* const*>(argv), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed) return errno_error(failed, "start a process that cleans up");
  return write;
}

// Kills every sandbox, and waits until that is recorded.
Task<void> end_sandboxes(manager::Manager& manager) {
  std::vector<std::shared_ptr<manager::Sandbox>> all = manager.all();
  for (const std::shared_ptr<manager::Sandbox>& sandbox : all) {
    manager::Caller owner{sandbox->info().tenant, {"admin"}};
    std::string id = sandbox->info().id;
    (void)co_await manager.kill(owner, id);
  }
  co_await manager.stop();
  co_await manager.events().drain(kTracesTime);
}

// Beside the directories in use: one whose templates are there already, which take seconds to make.
// Whoever renames it has it.
std::string spare_beside(const std::string& directory) {
  return directory.substr(0, directory.rfind('/')) + "/spare";
}

// Nothing that was done in the sandboxes stays. The templates stay if there is no spare yet.
void put_away(const std::string& directory) {
  std::error_code ignored;
  for (const char* part : {"sandboxes", "trash", "volumes", "files", "builds"})
    std::filesystem::remove_all(cat(directory, "/server/", part), ignored);
  if (::rename(directory.c_str(), spare_beside(directory).c_str()) == 0) return;
  std::string gone = directory + ".gone";  // it cannot be taken for one that is in use
  if (::rename(directory.c_str(), gone.c_str()) == 0) api::remove_state(gone);
}

// Does what the process that left `directory` did not come to do.
Task<void> clean_up(io::Loop& loop, std::string directory, Result<void>& result) {
  manager::ManagerOptions options;
  options.state_directory = directory;
  Result<std::string> records = store::state_directory();
  if (records) options.records = records.value();
  Result<std::unique_ptr<manager::Manager>> manager =
      co_await manager::Manager::start(loop, std::move(options));
  if (manager)
    co_await end_sandboxes(*manager.value());
  else
    result = manager.error();
  if (manager) manager.value().reset();
  if (result) put_away(directory);
  loop.stop();
}

}  // namespace

// Runs in a process of its own, and waits for its standard input to end, which happens when the
// server goes in any way. The path is checked, since it comes from a command line.
Result<void> clean_up_after(const std::string& directory) {
  (void)::signal(SIGPIPE, SIG_IGN);
  char nothing[64];
  ssize_t got = 1;
  while (got > 0 || (got < 0 && errno == EINTR))
    got = ::read(STDIN_FILENO, nothing, sizeof nothing);
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0) return {};  // it was done
  std::string ours = TRY(store::open_state("mcp")).path + "/";
  if (!starts_with(directory, ours) ||
      !is_random_name(directory.substr(ours.size()), kNameLength) || !S_ISDIR(status.st_mode))
    return Error{
        Code::denied,
        cat("clean up '", printable(directory), "': not a directory that paddock mcp made"), ""};
  io::Loop& loop = *TRY(io::Loop::create());
  Result<void> result;
  io::spawn(clean_up(loop, directory, result));
  loop.run();
  return result;
}

// What `paddock mcp` holds. The manager is started when a tool first needs a sandbox.
struct McpTools::State {
  explicit State(io::Loop& on) : loop(on) {}
  io::Loop& loop;
  McpToolsOptions options;
  std::optional<Workspace> workspace;
  // Directories: what is shared, and what ends with this process.
  std::string state, temporary;
  Fd watcher;
  std::unique_ptr<record::Events> events;
  std::unique_ptr<manager::Manager> manager;
  std::unique_ptr<tools::Toolbox> toolbox;
  bool starting = false, closed = false;
  io::Bell started{loop};

  // close() waits for a start that is under way, as it cannot be left half done.
  Task<Result<manager::Manager*>> start_manager() {
    if (closed) co_return Error{Code::conflict, "this server is ending", ""};
    starting = true;
    Result<manager::Manager*> made = co_await try_to_start();
    starting = false;
    started.ring();
    co_return made;
  }

  // The watcher comes first: whatever is made after it will be removed.
  Task<Result<manager::Manager*>> try_to_start() {
    // One for all tries.
    Result<Fd> watching = watcher ? Result<Fd>(std::move(watcher)) : start_watcher(temporary);
    if (!watching) co_return watching.error();
    watcher = std::move(watching.value());
    (void)::rename(spare_beside(temporary).c_str(), temporary.c_str());  // where there is one
    manager::ManagerOptions wanted;
    if (!options.policies.empty()) wanted.policy = options.policies.front();
    if (options.policies.size() > 1)
      wanted.narrower.assign(options.policies.begin() + 1, options.policies.end());
    wanted.flags = ceiling_of(options);
    wanted.state_directory = temporary;
    wanted.records = state;
    wanted.workspace = workspace;
    Result<std::unique_ptr<manager::Manager>> started =
        co_await manager::Manager::start(loop, std::move(wanted));
    if (!started) co_return started.error();
    manager = std::move(started.value());
    co_return manager.get();
  }
};

McpTools::McpTools(std::unique_ptr<State> state) : state_(std::move(state)) {}
McpTools::~McpTools() = default;

// Everything that may be wrong with the policies and flags is found here, before a client connects.
Result<std::unique_ptr<McpTools>> McpTools::open(io::Loop& loop, McpToolsOptions options) {
  auto state = std::make_unique<State>(loop);
  State* self = state.get();
  state->options = std::move(options);
  state->workspace = TRY(workspace_of(state->options.workspace));
  state->state = TRY(store::state_directory());
  state->temporary =
      cat(TRY(store::open_state("mcp")).path, "/", TRY(store::random_name(kNameLength)));
  const std::vector<std::string>& names = state->options.policies;
  manager::Policies policies = TRY(manager::Policies::create(
      names.empty() ? "" : names.front(),
      names.size() > 1 ? std::vector(names.begin() + 1, names.end()) : std::vector<std::string>(),
      ceiling_of(state->options)));
  Policy policy = TRY(policies.operators());
  if (!state->options.allow_net.empty()) {
    Policy asked;
    asked.network.allow = state->options.allow_net;
    manager::CombinedPolicy combined = TRY(policies.combine("", std::move(asked)));
    TRY(manager::refuse_narrowed(combined, manager::Yields::nothing));
  }
  // The manager checks this too, but only when a tool is called: the user should hear of it now.
  if (state->workspace) TRY(runs::look_at_workspace(policy, *state->workspace));

  record::EventsOptions events{.state_directory = state->state,
                               .audit = policy.audit,
                               .telemetry = policy.telemetry,
                               .beside = true};
  for (auto& [name, value] : events.telemetry.headers)
    value = TRY(runs::read_secret(value, cat("telemetry.headers.", name)));
  state->events = TRY(record::Events::start(loop, events));

  tools::ToolboxOptions toolbox;
  toolbox.policy = std::move(policy);
  toolbox.state_directory = state->state;
  toolbox.start_manager = [self] { return self->start_manager(); };
  toolbox.events = state->events.get();
  toolbox.sandbox.timeout_ms = 0;
  if (!state->options.allow_net.empty())
    toolbox.sandbox.policy.network.allow = state->options.allow_net;
  toolbox.on_line = [](std::string server, std::string line) {
    print_error(cat("paddock: ", server.empty() ? "" : cat(server, ": "), printable(line), "\n"));
  };
  state->toolbox = TRY(tools::Toolbox::create(loop, std::move(toolbox)));
  return std::unique_ptr<McpTools>(new McpTools(std::move(state)));
}

mcp::Service& McpTools::service() { return *state_->toolbox; }

// Every client of this process is the same tenant, the user who started it.
std::shared_ptr<const mcp::Principal> McpTools::principal(const std::string& id) const {
  auto principal = std::make_shared<tools::CallerPrincipal>();
  principal->id = id;
  principal->caller.tenant = "local";
  principal->caller.scopes = {"sandboxes"};
  principal->caller.agent = state_->options.agent;
  return principal;
}

// The order is: servers behind the gateway, sandboxes, directories, and last the records.
Task<void> McpTools::close() {
  state_->closed = true;
  co_await state_->toolbox->stop();
  while (state_->starting) (void)co_await state_->started.wait();  // it cannot be left half done
  if (state_->manager) {
    co_await end_sandboxes(*state_->manager);
    state_->manager.reset();
    put_away(state_->temporary);
  }
  co_await state_->events->drain(kTracesTime);
}

}  // namespace paddock::cli
