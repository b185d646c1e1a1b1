#include "manager/manager.h"

#include <fcntl.h>

#include <algorithm>

#include "base/text.h"
#include "manager/acts.h"
#include "manager/build.h"
#include "manager/checks.h"
#include "manager/epitaphs.h"
#include "manager/event_budget.h"
#include "manager/events.h"
#include "manager/records.h"

namespace paddock::manager {

Manager::Manager(io::Loop& loop) : loop_(loop), base_turn_(loop), idle_(loop) {}

// Sandboxes live on. Who still holds one may let go of it later than this.
Manager::~Manager() {
  timers_.reset();
  for (auto& [id, sandbox] : sandboxes_) {
    sandbox->cut();
    forget_body(*sandbox);
    sandbox->charge_.reset();
    sandbox->on_state_ = nullptr;
  }
}

io::Loop& Manager::loop() { return loop_; }

Result<void> Manager::check_goes_on() const {
  if (stopping_) return Error{Code::conflict, "the server is stopping", "try again in a moment"};
  return {};
}

io::Task<void> Manager::stop() {
  stopping_ = true;
  while (busy_ > 0) (void)co_await idle_.wait();
}

// ---- finding ---

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

std::string Manager::why_missing(const std::string& tenant, const std::string& id) const {
  for (const auto& [key, sandbox] : sandboxes_) {
    const SandboxInfo& info = sandbox->info_;
    if (info.tenant == tenant && sandbox->doomed_ &&
        (key == id || (!id.empty() && info.name == id)))
      return cat("it is ending: ",
                 ending_words(epitaph_of(info, info.ended_because, wall_time_now())));
  }
  const Epitaph* epitaph = epitaphs_->find(tenant, id);
  return epitaph ? describe(*epitaph, wall_time_now()) : "there is none";
}

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

Result<void> Manager::can_set_network(const Caller& caller, const std::string& id,
                                      const NetworkPolicy& network, Yields yields) const {
  std::shared_ptr<Sandbox> sandbox = TRY(find(caller, id));
  if (!sandbox->is_reachable())
    return Error{Code::conflict,
                 cat("set the network of '", sandbox->info_.id, "': it is ",
                     to_string(sandbox->info_.state)),
                 "resume it first"};
  if (!sandbox->body_->has_network())
    return Error{Code::conflict,
                 cat("set the network of '", sandbox->info_.id, "': it was made without one"),
                 "create it with network.allow"};
  Policy call;
  call.network = network;
  CombinedPolicy combined = TRY(policies_->combine(tenants_.find(caller.tenant).policy, call));
  return refuse_narrowed(combined, yields);
}

Result<void> Manager::set_network(const Caller& caller, const std::string& id,
                                  const NetworkPolicy& network, Value extra, Yields yields) {
  TRY(can_set_network(caller, id, network, yields));
  std::shared_ptr<Sandbox> sandbox = TRY(find(caller, id));
  Policy call;
  call.network = network;
  CombinedPolicy combined = TRY(policies_->combine(tenants_.find(caller.tenant).policy, call));
  Policy changed = sandbox->info_.policy;
  changed.network = combined.policy.network;
  TRY(sandbox->body_->set_network(changed));
  sandbox->info_.policy = std::move(changed);
  sandbox->info_.policy_hash = policy_hash(sandbox->info_.policy);
  sandbox->redaction_.reset();
  sandbox->info_.extra = std::move(extra);
  return write(*sandbox, store::Durability::atomic);
}

io::Task<Result<InstanceUsage>> Manager::usage(const Caller& caller, const std::string& id) {
  Busy busy(*this);
  Result<std::shared_ptr<Sandbox>> found = find(caller, id);
  if (!found) co_return found.error();
  std::shared_ptr<Sandbox> sandbox = std::move(found).value();
  // So that its processes are not taken away meanwhile.
  Turn::Held held = co_await sandbox->turn_.take();
  if (sandbox->doomed_ || !sandbox->body_)
    co_return Error{Code::conflict, cat("usage of '", sandbox->info_.id, "': it does not run"), ""};
  Result<InstanceUsage> usage = co_await sandbox->body_->usage();
  co_return usage;
}

Result<Value> Manager::enforced(const Caller& caller, const std::string& id) const {
  std::shared_ptr<Sandbox> sandbox = TRY(find(caller, id));
  if (!sandbox->body_)
    return Error{Code::conflict, cat("what holds '", sandbox->info_.id, "': it does not run"), ""};
  Value answer;
  answer.set("enforced", sandbox->body_->enforced());
  std::vector<std::string> notes = sandbox->info_.notes;
  for (const std::string& note : sandbox->body_->notes()) notes.push_back(note);
  answer.set("notes", text_list(notes));
  return answer;
}

// ---- what is done to it ---

io::Task<Result<Event>> Manager::record_act(Caller caller, std::string act, Value data,
                                            std::string sandbox) {
  Busy busy(*this);
  Event event = act_of(caller, act, std::move(data));
  event.span = caller.cause.child().span;
  event.sandbox = std::move(sandbox);
  Event kept = event;
  Result<void> recorded = co_await events_->record(std::move(event));
  if (!recorded) co_return recorded.error();
  co_return kept;
}

void Manager::note_failure(const Event& act, const Error& why) {
  events_->note(failure_of(act, why));
}

// ---- records ---

Result<void> Manager::write(const Sandbox& sandbox, store::Durability durability) const {
  Fd directory = TRY(open_file(sandbox.directory_, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return store::write_record(directory.get(), kRecordFile,
                             to_value(sandbox.info_, sandbox.made_from_, path_), durability);
}

io::Task<Result<void>> Manager::write_on_disk(std::shared_ptr<Sandbox> sandbox) {
  Result<Fd> directory = open_file(sandbox->directory_, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!directory) co_return directory.error();
  int fd = directory.value().get();
  Value record = to_value(sandbox->info_, sandbox->made_from_, path_);
  Result<void> written;
  std::function<void()> work = [fd, &record, &written] {
    written = store::write_record(fd, kRecordFile, record, store::Durability::on_disk);
  };
  co_await worker_->run(work);
  co_return written;
}

// ---- tenants and volumes ---

Result<std::vector<Tenant>> Manager::tenants() const { return tenants_.all(); }

Result<void> Manager::can_set_tenant(const Tenant& tenant) const {
  if (!tenant.policy.empty()) (void)TRY(policies_->combine(tenant.policy, Policy{}));
  return check_tenant(tenant);
}

Result<void> Manager::set_tenant(const Tenant& tenant) {
  TRY(can_set_tenant(tenant));
  return tenants_.set(tenant);
}

Result<void> Manager::can_create_volume(const Caller& caller, const std::string& name,
                                        uint64_t quota_bytes) const {
  TRY(check_goes_on());
  return volumes_->can_create(caller.tenant, tenants_.find(caller.tenant).quota, name, quota_bytes);
}

Result<VolumeInfo> Manager::create_volume(const Caller& caller, const std::string& name,
                                          uint64_t quota_bytes) {
  TRY(check_goes_on());
  make_room(caller.tenant, quota_bytes, {});
  return volumes_->create(caller.tenant, tenants_.find(caller.tenant).quota, name, quota_bytes);
}

Result<std::vector<VolumeInfo>> Manager::list_volumes(const Caller& caller) const {
  return volumes_->list(caller.tenant);
}

Result<VolumeInfo> Manager::find_volume(const Caller& caller, const std::string& id_or_name) const {
  return volumes_->find(caller.tenant, id_or_name);
}

std::optional<VolumeInfo> Manager::volume_for_content(const std::string& id) const {
  const VolumeInfo* found = is_id(id) ? volumes_->find_by_id(id) : nullptr;
  return found ? std::optional<VolumeInfo>(*found) : std::nullopt;
}

bool Manager::reserve_volume(const std::string& id, uint64_t bytes) {
  return volumes_->reserve(id, bytes);
}

// A paused sandbox would miss it when it is resumed, so it counts as a user too.
Result<void> Manager::can_remove_volume(const Caller& caller, const std::string& id_or_name) const {
  VolumeInfo volume = TRY(volumes_->find(caller.tenant, id_or_name));
  for (const auto& [id, sandbox] : sandboxes_)
    for (const VolumeMount& mount : sandbox->info_.volumes)
      if (sandbox->info_.tenant == volume.tenant && mount.name == volume.name)
        return Error{Code::conflict,
                     cat("remove volume '", volume.name, "': sandbox '", id, "' has it mounted"),
                     "kill the sandbox first"};
  return {};
}

Result<void> Manager::remove_volume(const Caller& caller, const std::string& id_or_name) {
  TRY(can_remove_volume(caller, id_or_name));
  discard(TRY(volumes_->remove(TRY(volumes_->find(caller.tenant, id_or_name)).id)));
  return {};
}

}  // namespace paddock::manager
