#include "manager/manager.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "linux/tree.h"
#include "manager/checks.h"
#include "manager/ended_sandboxes.h"
#include "manager/sandbox_events.h"
#include "manager/sandbox_record.h"
#include "record/event_budget.h"
#include "record/events.h"
#include "store/state.h"

namespace paddock::manager {

Manager::Manager(io::Loop& loop) : loop_(loop), base_mutex_(loop), idle_(loop) {}

// The sandboxes live on. Holders of a Sandbox may release it later than this.
Manager::~Manager() {
  timers_.reset();
  for (auto& [id, sandbox] : sandboxes_) {
    sandbox->cut();
    forget_processes(*sandbox);
    sandbox->charge_.reset();
    sandbox->on_state_ = nullptr;
  }
}

io::Loop& Manager::loop() { return loop_; }

// While the server stops, nothing new is begun.
Result<void> Manager::check_goes_on() const {
  if (stopping_) return Error{Code::conflict, "the server is stopping", "try again in a moment"};
  return {};
}

// Returns when no operation is under way.
io::Task<void> Manager::stop() {
  stopping_ = true;
  while (busy_ > 0) (void)co_await idle_.wait();
}

// ---- finding ---

// By id first, then by name. A sandbox of another tenant is not found.
Result<std::shared_ptr<Sandbox>> Manager::find(const Caller& caller, const std::string& id) const {
  if (is_id(id)) {
    std::shared_ptr<Sandbox> found = find_for_data(id);
    if (found && found->info_.tenant == caller.tenant) return found;
  }
  if (is_name(id))
    for (const auto& [key, sandbox] : sandboxes_)
      if (sandbox->info_.name == id && sandbox->info_.tenant == caller.tenant && find_for_data(key))
        return sandbox;
  return Error{Code::not_found,
               cat("sandbox '", printable(id.substr(0, 64)), "': ", why_missing(caller.tenant, id)),
               ""};
}

// Tells people why a sandbox that they knew is not there any more.
std::string Manager::why_missing(const std::string& tenant, const std::string& id) const {
  for (const auto& [key, sandbox] : sandboxes_) {
    const SandboxInfo& info = sandbox->info_;
    if (info.tenant == tenant && sandbox->doomed_ &&
        (key == id || (!id.empty() && info.name == id)))
      return cat("it is ending: ",
                 ending_words(ended_sandbox_of(info, info.ended_because, wall_time_now())));
  }
  const EndedSandbox* ended_sandbox = ended_sandboxes_->find(tenant, id);
  return ended_sandbox ? describe(*ended_sandbox, wall_time_now()) : "there is none";
}

// A sandbox that is starting or ending is not there for its users.
std::shared_ptr<Sandbox> Manager::find_for_data(const std::string& id) const {
  if (!is_id(id)) return nullptr;
  auto found = sandboxes_.find(id);
  if (found == sandboxes_.end() || found->second->doomed_ ||
      found->second->info_.state == SandboxState::starting)
    return nullptr;
  return found->second;
}

std::vector<std::shared_ptr<Sandbox>> Manager::all() const {
  std::vector<std::shared_ptr<Sandbox>> all;
  for (const auto& [id, sandbox] : sandboxes_)
    if (find_for_data(id)) all.push_back(sandbox);
  return all;
}

namespace {

// A page's token says where the page before ended: "STARTED-ID".
struct Place {
  WallTime started = 0;
  std::string id;
};

// The token comes from a client, so each part is checked.
Result<Place> place_from(const std::string& token) {
  size_t dash = token.find('-');
  Error wrong{Code::invalid, "list: the token is not one of ours", ""};
  if (dash == std::string::npos || dash == 0 || dash > 18 ||
      token.find_first_not_of("0123456789") != dash)
    return wrong;
  Place place{std::strtoll(token.c_str(), nullptr, 10), token.substr(dash + 1)};
  if (!is_id(place.id)) return wrong;
  return place;
}

// All given filters must match.
bool matches(const SandboxInfo& info, const store::Template& made_from,
             const ListOptions& options) {
  if (options.started_after && info.started < *options.started_after) return false;
  if (!options.template_name.empty() && options.template_name != info.template_id &&
      options.template_name != info.template_alias && options.template_name != made_from.family)
    return false;
  for (const auto& [key, value] : options.metadata) {
    auto found = info.metadata.find(key);
    if (found == info.metadata.end() || found->second != value) return false;
  }
  return true;
}

// On the way from one state to another it is listed as what it will be.
bool is_listed(SandboxState state, const std::set<SandboxState>& states) {
  if (states.empty()) return true;
  if (states.count(state)) return true;
  if (state == SandboxState::pausing) return states.count(SandboxState::paused);
  return state == SandboxState::resuming && states.count(SandboxState::running);
}

}  // namespace

// Sorted by start and id, so that a token stays valid when sandboxes come and go between two pages.
Result<Page> Manager::list(const Caller& caller, const ListOptions& options) const {
  std::optional<Place> after;
  if (!options.token.empty()) after = TRY(place_from(options.token));
  Page page;
  std::vector<std::shared_ptr<Sandbox>> found;
  for (const std::shared_ptr<Sandbox>& sandbox : all()) {
    const SandboxInfo& info = sandbox->info_;
    if (info.tenant != caller.tenant || info.hidden || !matches(info, sandbox->made_from_, options))
      continue;
    if (info.state == SandboxState::running) ++page.running;
    if (is_listed(info.state, options.states)) found.push_back(sandbox);
  }
  auto before = [&](const Place& a, const Place& b) {
    if (a.started != b.started)
      return options.ascending ? a.started < b.started : a.started > b.started;
    return a.id < b.id;
  };
  auto place = [](const Sandbox& sandbox) {
    return Place{sandbox.info().started, sandbox.info().id};
  };
  std::sort(found.begin(), found.end(),
            [&](const auto& a, const auto& b) { return before(place(*a), place(*b)); });
  size_t limit = std::clamp<size_t>(options.limit, 1, 1000);
  for (const std::shared_ptr<Sandbox>& sandbox : found) {
    if (after && !before(*after, place(*sandbox))) continue;
    if (page.sandboxes.size() == limit) {
      const SandboxInfo& last = page.sandboxes.back()->info_;
      page.next = cat(last.started, "-", last.id);
      break;
    }
    page.sandboxes.push_back(sandbox);
  }
  return page;
}

// ---- one sandbox ---

io::Task<Result<launch::LivingUsage>> Manager::usage(const Caller& caller, const std::string& id) {
  Busy busy(*this);
  CO_TRY(std::shared_ptr<Sandbox> sandbox, find(caller, id));
  // So that its processes are not taken away meanwhile.
  io::Mutex::Lock lock = co_await sandbox->mutex_.lock();
  if (sandbox->doomed_ || !sandbox->processes_)
    co_return Error{Code::conflict, cat("usage of '", sandbox->info_.id, "': it does not run"), ""};
  Result<launch::LivingUsage> usage = co_await sandbox->processes_->usage();
  co_return usage;
}

// What the kernel enforces, as it was read back, and what the policy could not give.
Result<Value> Manager::enforced(const Caller& caller, const std::string& id) const {
  std::shared_ptr<Sandbox> sandbox = TRY(find(caller, id));
  if (!sandbox->processes_)
    return Error{Code::conflict, cat("what holds '", sandbox->info_.id, "': it does not run"), ""};
  Value answer;
  answer.set("enforced", sandbox->processes_->enforced());
  std::vector<std::string> notes = sandbox->info_.notes;
  for (const std::string& note : sandbox->processes_->notes()) notes.push_back(note);
  answer.set("notes", text_list(notes));
  return answer;
}

// ---- records ---

// The record of a sandbox is replaced as a whole.
Result<void> Manager::write(const Sandbox& sandbox, store::Durability durability) const {
  Fd directory = TRY(open_file(sandbox.directory_, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return store::write_record(directory.get(), kRecordFile,
                             to_value(sandbox.info_, sandbox.made_from_, path_), durability);
}

// The same, durably. The worker's thread waits for the disk, not the loop.
io::Task<Result<void>> Manager::write_on_disk(std::shared_ptr<Sandbox> sandbox) {
  CO_TRY(Fd directory, open_file(sandbox->directory_, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  int fd = directory.get();
  Value record = to_value(sandbox->info_, sandbox->made_from_, path_);
  Result<void> written;
  std::function<void()> work = [fd, &record, &written] {
    written = store::write_record(fd, kRecordFile, record, store::Durability::on_disk);
  };
  co_await worker_->run(work);
  co_return written;
}

// ---- trash ---

// What may be large is out of sight at once, by rename; from the disk when the cleaner comes to it.
void Manager::discard(const std::string& path) {
  Result<std::string> name = store::random_name(16);
  if (!name) return;  // stays, without a record; the next start removes it
  if (::renameat(AT_FDCWD, path.c_str(), trash_fd_.get(), name.value().c_str()) != 0) return;
  io::spawn(remove_trash(std::move(name).value()));
}

// Removing a large tree takes long, so it has a thread of its own.
io::Task<void> Manager::remove_trash(std::string name) {
  if (stopping_) co_return;
  Busy busy(*this);
  int trash = trash_fd_.get();
  std::function<void()> work = [trash, name] { (void)kernel::remove_tree(trash, name); };
  co_await cleaner_->run(work);
}

}  // namespace paddock::manager
