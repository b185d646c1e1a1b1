#include "manager/backend.h"

#include <unistd.h>

#include "base/text.h"
#include "linux/sub_ids.h"
#include "living/command.h"
#include "manager/base_template.h"
#include "store/rootfs.h"

namespace paddock::manager {

namespace {

constexpr io::Milliseconds kSettlePatience = 10'000;

// Turns an Instance into the interface that tests replace.
io::Task<StartedProcesses> as_processes(
    io::Task<Result<std::unique_ptr<living::Instance>>> starting) {
  CO_TRY(std::unique_ptr<living::SandboxProcesses> processes, co_await starting);
  co_return std::move(processes);
}

io::Task<StartedProcesses> start(io::Loop& loop, living::InstanceSpec spec) {
  return as_processes(living::Instance::start(loop, std::move(spec)));
}

io::Task<StartedProcesses> reattach(io::Loop& loop, std::string id, std::string directory) {
  return as_processes(living::Instance::reattach(loop, std::move(id), std::move(directory)));
}

// The files of templates that an ordinary user's server makes belong to that user, who is root
// inside. Where there are more ids, `user` gets its own places before anything else runs: once, and
// nothing that was mounted there.
constexpr char kGivePlaces[] = R"sh(
id user > /dev/null 2>&1 || exit 0
if [ "$(stat -c %u /home/user 2> /dev/null)" = 0 ]; then
  find /home/user -xdev -user 0 -exec chown -h user:user {} + || exit
fi
if [ "$(stat -c %u /workspace 2> /dev/null)" = 0 ] && ! mountpoint -q /workspace; then
  chown user:user /workspace || exit
fi)sh";

// Runs as root inside, which is the server's own user outside.
io::Task<Result<void>> give_places(std::shared_ptr<guest::Client> guest) {
  living::CommandOptions options{.argv = {"/bin/sh", "-c", kGivePlaces},
                                 .user = "root",
                                 .cwd = "/",
                                 .env = {},
                                 .timeout = kSettlePatience,
                                 .on_line = nullptr};
  CO_TRY(living::CommandEnd end, co_await living::run_in_guest(guest, std::move(options)));
  if (!end.ok()) co_return Error{Code::io, cat("give /home/user to `user`: ", end.text()), ""};
  co_return Result<void>();
}

// Fails if the guest does not take its settings: a program without its environment must not start.
io::Task<Result<void>> settle(io::Loop& loop, std::shared_ptr<guest::Client> guest,
                              Value settings) {
  io::Milliseconds deadline = loop.now() + kSettlePatience;
  Result<Value> answer = co_await guest->ask(settings, deadline);
  if (!answer) co_return answer.error();
  bool has_ids = ::geteuid() != 0 && kernel::find_sub_ids(::geteuid(), store::kIdCount - 1);
  if (has_ids) co_return co_await give_places(std::move(guest));
  co_return Result<void>();
}

}  // namespace

Backend real_backend() {
  return {start, reattach, settle, living::start_template_command, ensure_base};
}

}  // namespace paddock::manager
