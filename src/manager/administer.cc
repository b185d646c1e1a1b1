// What callers change: a sandbox's timeout and network, templates' tags, volumes, tenants, keys.
// Each is checked, recorded and done here, so that no caller can forget the record.
#include "base/text.h"
#include "manager/checks.h"
#include "manager/keys.h"
#include "manager/manager.h"
#include "manager/sandbox_events.h"
#include "record/event_budget.h"
#include "record/events.h"

namespace paddock::manager {

namespace {

Value tag_list(const std::set<std::string>& texts) {
  return text_list({texts.begin(), texts.end()});
}

}  // namespace

// ---- recording ---

// The event is on the disk when this returns. Its span is returned, so that a failure can name it.
io::Task<Result<Event>> Manager::record_act(Caller caller, std::string act, Value data,
                                            std::string sandbox) {
  Busy busy(*this);
  Event event = admin_event(caller, act, std::move(data));
  event.span = caller.cause.child().span;
  event.sandbox = std::move(sandbox);
  Event kept = event;
  CO_TRY_VOID(co_await events_->record(std::move(event)));
  co_return kept;
}

void Manager::note_failure(const Event& act, const Error& why) {
  events_->note(record::failure_of(act, why));
}

// The check runs twice, because the record takes time and the world may change meanwhile.
io::Task<Result<void>> Manager::perform(Caller caller, Act act) {
  Busy busy(*this);
  CO_TRY_VOID(act.check());
  CO_TRY(Event recorded, co_await record_act(caller, act.name, act.data, act.sandbox));
  Result<void> done = act.check();
  if (done) done = act.apply();
  if (!done) note_failure(recorded, done.error());
  co_return done;
}

// ---- sandboxes ---

// 0 ends the sandbox as soon as its timer fires; it does not mean for ever.
io::Task<Result<void>> Manager::set_timeout(const Caller& caller, const std::string& id,
                                            int64_t timeout_ms) {
  CO_TRY(std::shared_ptr<Sandbox> sandbox, find(caller, id));
  const SandboxInfo& info = sandbox->info_;
  Act act{.name = "sandbox.timeout",
          .data = Value::Object{{"timeout_ms", timeout_ms}},
          .sandbox = info.id};
  act.check = [this, &info, timeout_ms]() -> Result<void> {
    if (timeout_ms != 0) (void)TRY(check_timeout(info.tenant, timeout_ms));
    if (info.state == SandboxState::running) return {};
    return Error{Code::conflict,
                 cat("set the timeout of '", info.id, "': it is ", to_string(info.state)),
                 "resume it first"};
  };
  act.apply = [this, &sandbox, timeout_ms] {
    live_until(*sandbox, std::max<int64_t>(timeout_ms, 1));
    return write(*sandbox, store::Durability::atomic);
  };
  co_return co_await perform(caller, std::move(act));
}

// Only a sandbox that was made with a network has the process through which it is changed. What is
// in force and what is written down are changed together.
io::Task<Result<void>> Manager::set_network(const Caller& caller, const std::string& id,
                                            const NetworkPolicy& network, const Value& extra,
                                            Yields yields) {
  CO_TRY(std::shared_ptr<Sandbox> sandbox, find(caller, id));
  Policy asked;
  asked.network = network;
  CombinedPolicy combined;
  Act act{.name = "sandbox.network",
          .data = Value::Object{{"asked", recorded_policy(asked)}},
          .sandbox = sandbox->info_.id};
  act.check = [this, &sandbox, &asked, &combined, yields]() -> Result<void> {
    const SandboxInfo& info = sandbox->info_;
    if (!sandbox->is_reachable())
      return Error{Code::conflict,
                   cat("set the network of '", info.id, "': it is ", to_string(info.state)),
                   "resume it first"};
    if (!sandbox->processes_->has_network())
      return Error{Code::conflict,
                   cat("set the network of '", info.id, "': it was made without one"),
                   "create it with network.allow"};
    combined = TRY(policies_->combine(tenants_.find(info.tenant).policy, asked));
    return refuse_narrowed(combined, yields);
  };
  act.apply = [this, &sandbox, &combined, extra]() -> Result<void> {
    SandboxInfo& info = sandbox->info_;
    Policy changed = info.policy;
    changed.network = combined.policy.network;
    TRY(sandbox->processes_->set_network(changed));
    info.policy = std::move(changed);
    info.policy_hash = policy_hash(info.policy);
    info.extra = extra;
    sandbox->redaction_.reset();
    return write(*sandbox, store::Durability::atomic);
  };
  co_return co_await perform(caller, std::move(act));
}

// ---- templates ---

// Layers that nobody uses any more are removed later, by the sweep.
io::Task<Result<void>> Manager::remove_template(const Caller& caller,
                                                const std::string& reference) {
  std::string tenant = caller.tenant;
  Act act{.name = "template.remove", .data = Value::Object{{"template", reference}}};
  act.check = [this, tenant, reference]() -> Result<void> {
    (void)TRY(templates_->removable(tenant, reference));
    return {};
  };
  act.apply = [this, tenant, reference]() -> Result<void> {
    TRY(templates_->remove(tenant, reference));
    templates_changed();
    return {};
  };
  co_return co_await perform(caller, std::move(act));
}

io::Task<Result<store::Template>> Manager::tag_template(const Caller& caller,
                                                        const std::string& reference,
                                                        const std::set<std::string>& tags) {
  std::string tenant = caller.tenant;
  store::Template tagged;
  Act act{.name = "template.tag",
          .data = Value::Object{{"template", reference}, {"tags", tag_list(tags)}}};
  act.check = [this, tenant, reference, tags] {
    return templates_->check_tags(tenant, reference, tags);
  };
  act.apply = [this, tenant, reference, tags, &tagged]() -> Result<void> {
    tagged = TRY(templates_->tag(tenant, reference, tags));
    return {};
  };
  CO_TRY_VOID(co_await perform(caller, std::move(act)));
  co_return tagged;
}

io::Task<Result<void>> Manager::untag_template(const Caller& caller, const std::string& name,
                                               const std::set<std::string>& tags) {
  std::string tenant = caller.tenant;
  Act act{.name = "template.untag",
          .data = Value::Object{{"template", name}, {"tags", tag_list(tags)}}};
  act.check = [this, tenant, name, tags] { return templates_->check_has_tags(tenant, name, tags); };
  act.apply = [this, tenant, name, tags]() -> Result<void> {
    TRY(templates_->untag(tenant, name, tags));
    templates_changed();
    return {};
  };
  co_return co_await perform(caller, std::move(act));
}

// ---- volumes ---

// A quota counts as used at once, whatever the volume holds.
io::Task<Result<VolumeInfo>> Manager::create_volume(const Caller& caller, const std::string& name,
                                                    uint64_t quota_bytes) {
  std::string tenant = caller.tenant;
  VolumeInfo made;
  Act act{.name = "volume.create",
          .data = Value::Object{{"name", name}, {"quota_bytes", quota_bytes}}};
  act.check = [this, tenant, name, quota_bytes]() -> Result<void> {
    TRY(check_goes_on());
    return volumes_->check_new(tenant, tenants_.find(tenant).quota, name, quota_bytes);
  };
  act.apply = [this, tenant, name, quota_bytes, &made]() -> Result<void> {
    make_room(tenant, quota_bytes, {});
    made = TRY(volumes_->create(tenant, tenants_.find(tenant).quota, name, quota_bytes));
    return {};
  };
  CO_TRY_VOID(co_await perform(caller, std::move(act)));
  co_return made;
}

Result<std::vector<VolumeInfo>> Manager::list_volumes(const Caller& caller) const {
  return volumes_->list(caller.tenant);
}

Result<VolumeInfo> Manager::find_volume(const Caller& caller, const std::string& id_or_name) const {
  return volumes_->find(caller.tenant, id_or_name);
}

// Only a well-formed id is looked up, since the caller is not known yet.
std::optional<VolumeInfo> Manager::volume_for_content(const std::string& id) const {
  const VolumeInfo* found = is_id(id) ? volumes_->find_by_id(id) : nullptr;
  return found ? std::optional<VolumeInfo>(*found) : std::nullopt;
}

bool Manager::reserve_volume(const std::string& id, uint64_t bytes) {
  return volumes_->reserve(id, bytes);
}

// A paused sandbox would miss the volume when it is resumed, so it counts as a user too.
Result<void> Manager::check_unmounted(const VolumeInfo& volume) const {
  for (const auto& [id, sandbox] : sandboxes_)
    for (const VolumeMount& mount : sandbox->info_.volumes)
      if (sandbox->info_.tenant == volume.tenant && mount.name == volume.name)
        return Error{Code::conflict,
                     cat("remove volume '", volume.name, "': sandbox '", id, "' has it mounted"),
                     "kill the sandbox first"};
  return {};
}

// The id is settled in the check, so that the volume that is removed is the one that was found
// unmounted.
io::Task<Result<void>> Manager::remove_volume(const Caller& caller, const std::string& id_or_name) {
  VolumeInfo volume;
  Act act{.name = "volume.remove", .data = Value::Object{{"volume", id_or_name}}};
  act.check = [this, tenant = caller.tenant, id_or_name, &volume]() -> Result<void> {
    volume = TRY(volumes_->find(tenant, id_or_name));
    return check_unmounted(volume);
  };
  act.apply = [this, &volume]() -> Result<void> {
    discard(TRY(volumes_->remove(volume.id)));
    return {};
  };
  co_return co_await perform(caller, std::move(act));
}

// ---- tenants and keys ---

Result<std::vector<Tenant>> Manager::tenants() const { return tenants_.all(); }

// A tenant's policy is combined once here, so that a wrong one is refused now and not with the next
// sandbox.
io::Task<Result<void>> Manager::set_tenant(const Caller& caller, const Tenant& tenant) {
  Act act{.name = "tenant.set",
          .data = Value::Object{{"tenant", tenant.name}, {"to", to_value(tenant)}}};
  act.check = [this, tenant]() -> Result<void> {
    if (!tenant.policy.empty()) (void)TRY(policies_->combine(tenant.policy, Policy{}));
    return check_tenant(tenant);
  };
  act.apply = [this, tenant] { return tenants_.set(tenant); };
  co_return co_await perform(caller, std::move(act));
}

// The event before the act cannot name the key; a second one does.
io::Task<Result<NewKey>> Manager::create_key(const Caller& caller, Keys& keys,
                                             const KeyInfo& wanted) {
  NewKey made;
  Act act{.name = "key.create", .data = creation_data(wanted), .check = [wanted] {
            return Keys::check_new(wanted);
          }};
  act.apply = [&keys, wanted, &made]() -> Result<void> {
    made = TRY(keys.add(wanted));
    return {};
  };
  CO_TRY_VOID(co_await perform(caller, std::move(act)));
  // Its id is only known now.
  events_->note(admin_event(caller, "key.created", Value::Object{{"id", made.info.id}}));
  co_return made;
}

io::Task<Result<void>> Manager::revoke_key(const Caller& caller, Keys& keys,
                                           const std::string& id) {
  Act act{.name = "key.revoke",
          .data = Value::Object{{"id", id}},
          .check = [&keys, id] { return keys.check_known(id); },
          .apply = [&keys, id] { return keys.remove(id); }};
  co_return co_await perform(caller, std::move(act));
}

}  // namespace paddock::manager
