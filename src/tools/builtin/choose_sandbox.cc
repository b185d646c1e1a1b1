#include "tools/builtin/choose_sandbox.h"

#include "base/text.h"

namespace paddock::tools::builtin {

namespace {

using io::Task;
using manager::Sandbox;
using manager::SandboxState;

// For a sandbox that was made without being asked for.
constexpr int64_t kIdleMs = 3'600'000;

// The number of callers; beyond it, those without a sandbox are forgotten.
constexpr size_t kMostRemembered = 4096;

bool has_ended(const Sandbox& sandbox) {
  return sandbox.info().state == SandboxState::ending ||
         sandbox.info().state == SandboxState::ended;
}

// What the model must know before it relies on state that is gone.
std::string why_lost(const std::shared_ptr<Sandbox>& before) {
  std::string because = before ? before->info().ended_because : "";
  return cat("The sandbox you used before has ended",
             because.empty() ? "" : cat(" (", because, ")"),
             ". This is a new one: variables, files outside of /workspace, installed packages and "
             "running processes of the old one are gone.");
}

}  // namespace

SandboxChooser::SandboxChooser(manager::Manager& manager, manager::CreateOptions made_of)
    : manager_(manager), made_of_(std::move(made_of)) {}

// Callers whose sandbox is gone and who make no call now.
void SandboxChooser::forget_ended() {
  std::erase_if(own_, [&](const auto& entry) {
    return entry.second.use_count() == 1 &&
           (entry.second->id.empty() || !manager_.find_for_data(entry.second->id));
  });
}

// Holds the entry before others are forgotten, so that its own is never among them.
std::shared_ptr<SandboxChooser::Own> SandboxChooser::entry(const std::string& tenant,
                                                           const std::string& principal) {
  std::shared_ptr<Own>& entry = own_[{tenant, principal}];
  if (!entry) entry = std::make_shared<Own>(manager_.loop());
  std::shared_ptr<Own> held = entry;
  if (own_.size() > kMostRemembered) forget_ended();
  return held;
}

// Returns null also if it has ended, so that choose() makes another.
std::shared_ptr<Sandbox> SandboxChooser::default_of(const manager::Caller& caller,
                                                    const std::string& principal) const {
  auto found = own_.find({caller.tenant, principal});
  if (found == own_.end() || found->second->id.empty()) return nullptr;
  Result<std::shared_ptr<Sandbox>> sandbox = manager_.find(caller, found->second->id);
  return sandbox && !has_ended(*sandbox.value()) ? sandbox.value() : nullptr;
}

// A sandbox that has no end of its own gets an idle timeout: nobody else would end it.
Task<Result<std::shared_ptr<Sandbox>>> SandboxChooser::make(manager::Caller caller,
                                                            manager::CreateOptions options) {
  // Until it is killed, where the tenant may have that.
  uint64_t longest = manager_.longest_timeout(caller.tenant);
  if (longest != 0 &&
      (options.timeout_ms == 0 || static_cast<uint64_t>(options.timeout_ms) > longest))
    options.timeout_ms = static_cast<int64_t>(longest);
  if (options.timeout_ms == 0 && options.idle_timeout_ms == 0) options.idle_timeout_ms = kIdleMs;
  Result<std::shared_ptr<Sandbox>> made = co_await manager_.create(caller, options);
  co_return made;
}

// Calls of one caller that come together wait for each other, so that they share one sandbox.
Task<Result<Chosen>> SandboxChooser::choose(manager::Caller caller, std::string principal,
                                            std::string named) {
  if (!named.empty()) {
    CO_TRY(std::shared_ptr<Sandbox> found, manager_.find(caller, named));
    CO_TRY(manager::RunningSandbox inside, co_await manager::enter(manager_, found, caller));
    co_return Chosen{inside, {}};
  }
  std::shared_ptr<Own> own = entry(caller.tenant, principal);
  io::Mutex::Lock lock = co_await own->making.lock();
  Chosen chosen;
  std::shared_ptr<Sandbox> before = own->id.empty() ? nullptr : manager_.find_for_data(own->id);
  if (before && !has_ended(*before)) {
    Result<manager::RunningSandbox> inside = co_await manager::enter(manager_, before, caller);
    // Only one that is paused waits for somebody's word; any other that cannot be reached is as
    // good as gone.
    if (inside) co_return Chosen{inside.value(), {}};
    if (before->info().state == SandboxState::paused || before->why_withheld())
      co_return inside.error();
  }
  if (!own->id.empty()) chosen.notes.push_back(why_lost(before));
  manager::CreateOptions options = made_of_;
  CO_TRY(std::shared_ptr<Sandbox> made, co_await make(caller, std::move(options)));
  own->id = made->info().id;
  CO_TRY(chosen.inside, co_await manager::enter(manager_, made, caller));
  co_return chosen;
}

}  // namespace paddock::tools::builtin
