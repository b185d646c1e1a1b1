// A sandbox's files as a layer: snapshots, forks, and the steps of builds. Memory is not part of
// it: programs start again.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "linux/tree.h"
#include "manager/manager.h"
#include "store/copy_tree.h"

namespace paddock::manager {

namespace {

constexpr size_t kMostForks = 100;

// Where a sandbox's own files are: the upper directories of its overlays (living/instance.h).
constexpr const char* kUppers[] = {"root", "usr"};
std::string upper_of(const std::string& directory, const char* name) {
  return cat(directory, "/", name, "/upper");
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// All of it is on the disk before a template names it.
Result<void> sync_tree(const std::string& path) {
  Fd fd = TRY(open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (::syncfs(fd.get()) != 0) return errno_error(errno, "write a layer to the disk");
  return {};
}

// The limit is for both directories together.
Result<uint64_t> copy_uppers(const std::string& directory, const std::string& layer,
                             const store::CopyOptions& options) {
  uint64_t bytes = 0;
  for (const char* name : kUppers) {
    std::string upper = upper_of(directory, name);
    if (!exists(upper)) continue;
    store::CopyOptions left = options;
    left.most_bytes -= std::min(left.most_bytes, bytes);
    store::Copied copied = TRY(store::copy_tree(upper, cat(layer, "/", name), left));
    bytes += copied.bytes;
  }
  TRY(sync_tree(layer));
  return bytes;
}

// Renaming needs no room and no time; the sandbox must have ended.
Result<void> move_uppers(const std::string& directory, const std::string& layer) {
  for (const char* name : kUppers) {
    std::string upper = upper_of(directory, name), target = cat(layer, "/", name);
    if (exists(upper) && ::rename(upper.c_str(), target.c_str()) != 0)
      return errno_error(errno, "move a sandbox's files into a layer");
  }
  return {};
}

// Counts as the quota does: data without holes, and a charge for each entry.
Result<uint64_t> measure_layer(const std::string& layer) {
  TRY(sync_tree(layer));
  Fd fd = TRY(open_file(layer, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return TRY(kernel::measure_tree(fd.get())).charge();
}

// Measured before copying, so that the room can be reserved.
Result<uint64_t> measure_uppers(const std::string& directory) {
  uint64_t bytes = 0;
  for (const char* name : kUppers) {
    std::string upper = upper_of(directory, name);
    if (!exists(upper)) continue;
    Fd fd = TRY(open_file(upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    bytes += TRY(kernel::measure_tree(fd.get())).charge();
  }
  return bytes;
}

// Creations that are under way at the same time, and the bell for the one who waits.
struct Forks {
  explicit Forks(io::Loop& loop) : done(loop) {}
  size_t left = 0;
  std::vector<Result<std::shared_ptr<Sandbox>>> made;
  io::Bell done;
};

// One result for each, in the order in which they are ready.
io::Task<void> fork_one(Manager* manager, Caller caller, CreateOptions options,
                        std::shared_ptr<Forks> forks) {
  Result<std::shared_ptr<Sandbox>> made = co_await manager->create(caller, options);
  forks->made.push_back(std::move(made));
  if (--forks->left == 0) forks->done.ring();
}

// Keeps layers from being swept as unused while a template that needs them is being made.
class HeldLayers {
 public:
  HeldLayers(std::multiset<std::string>& held, std::vector<std::string> layers)
      : held_(held), layers_(std::move(layers)) {
    held_.insert(layers_.begin(), layers_.end());
  }
  HeldLayers(const HeldLayers&) = delete;
  ~HeldLayers() {
    for (const std::string& layer : layers_) held_.erase(held_.find(layer));
  }

 private:
  std::multiset<std::string>& held_;
  std::vector<std::string> layers_;
};

// A snapshot has at most one tag here, the one that it was made with.
Snapshot snapshot_from(const store::Template& made) {
  Snapshot snapshot{.id = made.id,
                    .tenant = made.tenant,
                    .sandbox = made.sandbox,
                    .name = made.name,
                    .created = made.created,
                    .bytes = made.bytes};
  if (!made.tags.empty()) snapshot.tag = made.tags.begin()->first;
  return snapshot;
}

}  // namespace

// What a snapshot of it would be, but for its name and its new layer.
store::Template Manager::template_of(const Sandbox& sandbox) const {
  store::Template asked = sandbox.made_from_;
  asked.id.clear();
  asked.family.clear();
  asked.name.clear();
  asked.tags.clear();
  asked.cache_key.clear();
  asked.tenant = sandbox.info_.tenant;
  asked.kind = store::TemplateKind::snapshot;
  asked.parent = sandbox.info_.template_id;
  asked.sandbox = sandbox.info_.id;
  return asked;
}

// Copies with the sandbox standing still, into room that is reserved before. The caller does not
// hold its turn.
io::Task<Result<Manager::Layer>> Manager::copy_layer(std::shared_ptr<Sandbox> sandbox) {
  io::Mutex::Lock lock = co_await sandbox->mutex_.lock();
  Error gone{Code::not_found, cat("sandbox '", sandbox->info_.id, "': it has ended"), ""};
  if (sandbox->doomed_) co_return gone;
  CO_TRY(store::Staged staged, templates_->stage());
  Layer layer;
  layer.staged = std::move(staged);

  bool was_running = sandbox->info_.state == SandboxState::running;
  if (was_running) {
    CO_TRY_VOID(co_await sandbox->processes_->freeze());
  }
  store::CopyOptions options;
  options.cancelled = &sandbox->doomed_;
  std::string tenant = sandbox->info_.tenant, from = sandbox->directory_, to = layer.staged.path;
  Quota quota = tenants_.find(tenant).quota;
  Result<uint64_t> copied = uint64_t{0};
  layer.reserved = ledger_->charge_unchecked(tenant, {});
  if (quota.disk_bytes != 0) {
    std::function<void()> measure = [&copied, from] { copied = measure_uppers(from); };
    co_await copier_->run(measure);
    uint64_t asked = copied ? copied.value() : 0;
    make_room(tenant, asked, sandbox->made_from_.layers);
    uint64_t used = ledger_->used(tenant).disk_bytes;
    options.most_bytes = quota.disk_bytes > used ? quota.disk_bytes - used : 0;
    Result<void> reserved = ledger_->grow(*layer.reserved, quota, {.disk_bytes = asked});
    if (copied && !reserved) copied = reserved.error();
  }
  std::function<void()> work = [&copied, &options, from, to] {
    copied = copy_uppers(from, to, options);
  };
  if (copied) co_await copier_->run(work);
  if (copied) {  // what it measures is not what it is, on every filesystem
    Result<void> reserved = ledger_->grow(*layer.reserved, quota, {.disk_bytes = copied.value()});
    if (!reserved) copied = reserved.error();
  }
  Result<void> thawed;
  if (was_running && !sandbox->doomed_) thawed = co_await sandbox->processes_->thaw();
  if (sandbox->doomed_) co_return gone;
  if (!thawed) {
    io::spawn(finish(sandbox, cat("it did not go on after a snapshot: ", thawed.error().message)));
    co_return thawed.error();
  }
  if (!copied && copied.error().code == Code::exhausted)
    co_return Error{Code::exhausted,
                    cat("quota: disk: the snapshot needs more than the ",
                        human_size(options.most_bytes), " that are left"),
                    "remove snapshots or volumes"};
  if (!copied) co_return copied.error();
  layer.bytes = copied.value();
  co_return std::move(layer);
}

// Recorded first. Copying then stops the sandbox for as long as it takes.
io::Task<Result<Snapshot>> Manager::snapshot(const Caller& caller, const std::string& id,
                                             const std::string& name_and_tag) {
  Busy busy(*this);
  CO_TRY_VOID(check_goes_on());
  CO_TRY(std::shared_ptr<Sandbox> sandbox, find(caller, id));
  store::Template asked = template_of(*sandbox);
  if (!name_and_tag.empty()) {
    CO_TRY(store::TemplateName name,
           store::parse_template_name(sandbox->info_.tenant, name_and_tag));
    asked.name = name.name;
    if (!name.tag.empty()) asked.tags[name.tag] = 0;
  }
  Value data = Value::Object{{"name", name_and_tag}};
  std::string act = "sandbox.snapshot", which = sandbox->info_.id;
  CO_TRY(Event recorded, co_await record_act(caller, act, data, which));
  Result<Snapshot> made = co_await make_snapshot(sandbox, std::move(asked));
  if (!made) note_failure(recorded, made.error());
  co_return made;
}

// The reserved room is given back only when the template is charged.
io::Task<Result<Snapshot>> Manager::make_snapshot(std::shared_ptr<Sandbox> sandbox,
                                                  store::Template asked) {
  CO_TRY(Layer layer, co_await copy_layer(sandbox));
  asked.bytes = layer.bytes;
  CO_TRY(store::Template made, templates_->add(asked, std::move(layer.staged)));
  layer.reserved.reset();
  charge_templates(asked.tenant);
  co_return snapshot_from(made);
}

Result<std::vector<Snapshot>> Manager::list_snapshots(const Caller& caller,
                                                      const std::string& sandbox,
                                                      const std::string& name) const {
  std::vector<Snapshot> snapshots;
  for (const store::Template& one : templates_->list(caller.tenant)) {
    if (one.kind != store::TemplateKind::snapshot || one.tenant != caller.tenant) continue;
    if (!sandbox.empty() && one.sandbox != sandbox) continue;
    if (!name.empty() && one.name != name && cat(one.tenant, "/", one.name) != name) continue;
    snapshots.push_back(snapshot_from(one));
  }
  return snapshots;
}

// One copy, many sandboxes. The template in the middle is nobody's: its record goes at once, its
// layer with the last fork.
io::Task<Result<std::vector<Result<std::shared_ptr<Sandbox>>>>> Manager::fork(
    const Caller& caller, const std::string& id, size_t count, std::optional<int64_t> timeout_ms) {
  Busy busy(*this);
  if (count < 1 || count > kMostForks)
    co_return Error{Code::invalid, cat("fork: between 1 and ", kMostForks, " at once"), ""};
  Caller who = caller;
  CO_TRY(std::shared_ptr<Sandbox> sandbox, find(who, id));
  CreateOptions options;
  const SandboxInfo& info = sandbox->info_;
  options.timeout_ms = timeout_ms.value_or(info.timeout_ms);
  Result<int64_t> checked = check_timeout(who.tenant, options.timeout_ms);
  if (!checked) co_return checked.error();
  options.idle_timeout_ms = info.idle_timeout_ms;
  options.policy = call_policy(info.policy);
  options.yields = Yields::everything;
  options.env = info.env;
  // The same owner's; what is in the files must go on being taken out.
  options.secrets = info.secrets;
  options.metadata = info.metadata;
  options.volumes = info.volumes;
  options.lifecycle = info.lifecycle;
  options.public_traffic = info.public_traffic;
  options.mask_request_host = info.mask_request_host;
  options.extra = info.extra;

  Value data =
      Value::Object{{"count", static_cast<uint64_t>(count)}, {"timeout_ms", options.timeout_ms}};
  std::string act = "sandbox.fork", which = info.id;
  CO_TRY(Event recorded, co_await record_act(who, act, data, which));
  store::Template asked = template_of(*sandbox);
  asked.kind = store::TemplateKind::step;
  Result<Layer> layer = co_await copy_layer(sandbox);
  Result<store::Template> made = Error{};
  if (layer) {
    asked.bytes = layer.value().bytes;
    made = templates_->add(asked, std::move(layer.value().staged));
  } else {
    made = layer.error();
  }
  if (!made) {
    note_failure(recorded, made.error());
    co_return made.error();
  }
  layer.value().reserved.reset();
  charge_templates(who.tenant);
  options.template_name = made.value().id;

  auto forks = std::make_shared<Forks>(loop_);
  forks->left = count;
  for (size_t i = 0; i < count; ++i) io::spawn(fork_one(this, who, options, forks));
  while (forks->left > 0) (void)co_await forks->done.wait();
  (void)templates_->remove(who.tenant, made.value().id);
  templates_changed();
  co_return std::move(forks->made);
}

// The sandbox ends in any case. If its files cannot become a template, they are gone with it.
io::Task<Result<store::Template>> Manager::finish_into_template(const Caller& caller,
                                                                const std::string& id,
                                                                store::Template asked) {
  Busy busy(*this);
  CO_TRY(std::shared_ptr<Sandbox> sandbox, find(caller, id));
  CO_TRY(store::Staged staged, templates_->stage());
  std::string layer = staged.path, directory = sandbox->directory_;
  Result<void> moved =
      Error{Code::not_found, cat("sandbox '", sandbox->info_.id, "': it has ended"), ""};
  std::function<void()> keep = [&moved, directory, layer] {
    moved = move_uppers(directory, layer);
  };
  std::string because = "its files became a template";
  HeldLayers lower(held_layers_, asked.layers);  // until the new one has them
  co_await finish_keeping(sandbox, because, keep);
  if (!moved) co_return moved.error();
  Result<uint64_t> bytes = Error{};
  std::function<void()> work = [&bytes, layer] { bytes = measure_layer(layer); };
  co_await copier_->run(work);
  sweep_due_ = true;  // when it fails there is a layer to remove
  if (!bytes) co_return bytes.error();
  asked.bytes = bytes.value();
  make_room(asked.tenant, asked.bytes, asked.layers);
  Quota quota = tenants_.find(asked.tenant).quota;
  Amount amount{.disk_bytes = asked.bytes};
  CO_TRY(std::unique_ptr<Ledger::Charge> room, ledger_->charge(asked.tenant, quota, amount));
  room.reset();  // charged with the rest of its templates
  Result<store::Template> made = templates_->add(asked, std::move(staged));
  if (made) charge_templates(asked.tenant);
  co_return made;
}

// ---- what is not used any more ---

// Layers count for the tenant whose templates made them. Those of builds' steps do too, and go when
// room is needed.
void Manager::charge_templates(const std::string& tenant) {
  if (tenant.empty()) return;
  uint64_t bytes = templates_->bytes_of(tenant);
  std::unique_ptr<Ledger::Charge>& charge = template_charges_[tenant];
  if (!charge) charge = ledger_->charge_unchecked(tenant, {});
  charge->change({.disk_bytes = bytes});
}

// All tenants are charged again, since layers may be shared.
void Manager::templates_changed() {
  sweep_due_ = true;
  for (const auto& [tenant, charge] : template_charges_) charge_templates(tenant);
}

// Layers of running sandboxes, and those that are held for a template to come.
std::set<std::string> Manager::layers_in_use() const {
  std::set<std::string> used;
  for (const auto& [id, sandbox] : sandboxes_) {
    const store::Rootfs& root = sandbox->made_from_.root;
    used.insert(root.layers.begin(), root.layers.end());
    used.insert(root.usr_layers.begin(), root.usr_layers.end());
  }
  for (const std::string& layer : held_layers_)
    used.insert(cat(templates_->directory(), "/layers/", layer));
  return used;
}

// Steps of builds are kept for the next build alone: they make way for what a tenant asks for.
// `needed`: layers that do not.
void Manager::make_room(const std::string& tenant, uint64_t bytes,
                        const std::vector<std::string>& needed) {
  uint64_t most = tenants_.find(tenant).quota.disk_bytes;
  auto is_short = [&] {
    return most != 0 && bytes <= most && ledger_->used(tenant).disk_bytes > most - bytes;
  };
  if (bytes == 0 || !is_short()) return;
  std::set<std::string> used = layers_in_use();
  while (is_short() && templates_->drop_oldest_step(tenant, used, needed)) charge_templates(tenant);
  sweep_due_ = true;
}

// What is unused is moved to the trash, and the rest of the charges are put right.
void Manager::sweep() {
  sweep_due_ = false;
  std::set<std::string> used = layers_in_use();
  Result<std::vector<std::string>> unused = templates_->sweep(used);
  if (!unused) return;
  for (const std::string& path : unused.value()) discard(path);
  for (const auto& [tenant, charge] : template_charges_) charge_templates(tenant);
}

}  // namespace paddock::manager
