#include "store/template.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/random_name.h"
#include "base/text.h"
#include "linux/tree.h"
#include "store/skeleton_tree.h"
#include "store/state.h"

namespace paddock::store {

namespace {

constexpr char kDefaultTag[] = "default";
// An overlay of more is refused by some kernels, and slow on all.
constexpr size_t kMostLayers = 64;
constexpr int64_t kStepLives = int64_t{7} * 24 * 3600 * 1000;
// Long enough for a build that began from it.
constexpr int64_t kUntaggedLives = int64_t{3600} * 1000;

// Milliseconds since 1970.
int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

// Makes the directory if it is missing.
Result<Fd> open_made(int parent, const char* name) {
  if (::mkdirat(parent, name, 0700) != 0 && errno != EEXIST)
    return errno_error(errno, cat("make '", name, "'"));
  return kernel::open_beneath(parent, name, O_RDONLY | O_DIRECTORY);
}

// The same answer for what belongs to another tenant, which does not exist for this one.
Error unknown(const std::string& reference) {
  return Error{Code::not_found,
               cat("find template '", printable(reference), "': there is none of that name"),
               "see them with: paddock template ls"};
}

bool exists(int directory, const std::string& path) {
  return static_cast<bool>(kernel::open_beneath(directory, path, O_PATH | O_DIRECTORY));
}

// What stage(), add() and sweep() name. Nothing else in the directory is ours to remove.
bool is_name_of_layer(const std::string& name) {
  for (const char* prefix : {".new-", ".gone-"})
    if (starts_with(name, prefix)) return is_random_name(name.substr(std::strlen(prefix)), 12);
  return is_random_name(name, 20);
}

}  // namespace

Staged::Staged(Staged&& other) noexcept
    : path(std::exchange(other.path, "")), lock_(std::move(other.lock_)) {}

Staged& Staged::operator=(Staged&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path = std::exchange(other.path, "");
  lock_ = std::move(other.lock_);
  return *this;
}

Staged::~Staged() { discard(); }

// Only out of the way: the next sweep finds it without its lock.
void Staged::discard() {
  lock_.reset();
  path.clear();
}

// Everything is read into memory here; the files are only written later.
Result<Templates> Templates::open(const std::string& directory) {
  Templates templates;
  templates.directory_ = directory;
  Fd top = TRY(open_file(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  templates.layers_ = TRY(open_made(top.get(), "layers"));
  templates.templates_ = TRY(open_made(top.get(), "templates"));
  TRY(templates.read_records());
  return templates;
}

// A record that does not read, or whose layers are gone, is not a template; nothing else suffers
// from it.
Result<void> Templates::read_records() {
  for (const std::string& name : TRY(kernel::list_directory(templates_.get()))) {
    if (name[0] == '.' || !ends_with(name, ".json")) continue;
    Result<Fd> file = kernel::open_beneath(templates_.get(), name, O_RDONLY);
    if (!file) continue;
    Result<std::string> text = read_all(file.value().get(), 1 << 20);
    if (!text) continue;
    Result<Value> value = parse_json(text.value(), name);
    if (!value) continue;
    Result<Template> read = template_from(value.value());
    if (!read || read.value().id + ".json" != name) continue;
    Template& record = read.value();
    bool whole =
        std::all_of(record.layers.begin(), record.layers.end(),
                    [&](const std::string& layer) { return exists(layers_.get(), layer); });
    if (!whole) continue;
    // Nothing can find a step without a key: it stood between a sandbox and its forks when the
    // server died.
    if (record.kind == TemplateKind::step && record.cache_key.empty()) {
      (void)::unlinkat(templates_.get(), name.c_str(), 0);
      continue;
    }
    make_root(record);
    records_[record.id] = record;
  }
  // Tags move by two writes; after a crash between them two may claim one, and the later claim
  // holds.
  for (auto& [id, record] : records_) {
    for (auto& [other_id, other] : records_) {
      if (id == other_id || record.family != other.family) continue;
      for (const auto& [tag, since] : other.tags) {
        auto mine = record.tags.find(tag);
        if (mine != record.tags.end() &&
            (mine->second < since || (mine->second == since && id < other_id)))
          record.tags.erase(mine);
      }
    }
  }
  return {};
}

// Atomic. A crash may leave two records with the same tag, and the newer one then wins.
Result<void> Templates::write(const Template& record) const {
  return write_file(templates_.get(), record.id + ".json", to_json(to_value(record), true) + "\n");
}

// The layers stay until the next sweep, because sandboxes may use them.
void Templates::forget(const std::string& id) {
  (void)::unlinkat(templates_.get(), (id + ".json").c_str(), 0);
  records_.erase(id);
}

// Which of root/ and usr/ a layer has is found out by looking.
void Templates::make_root(Template& record) const {
  record.root.layers.clear();
  record.root.usr_layers.clear();
  for (const std::string& layer : record.layers) {
    if (exists(layers_.get(), layer + "/root"))
      record.root.layers.push_back(cat(directory_, "/layers/", layer, "/root"));
    if (record.root.host_usr && exists(layers_.get(), layer + "/usr"))
      record.root.usr_layers.push_back(cat(directory_, "/layers/", layer, "/usr"));
  }
}

// `head` is a family's id or name. Steps of builds are never found by name.
const Template* Templates::tagged(const std::string& tenant, const std::string& head,
                                  const std::string& tag) const {
  for (const auto& [id, record] : records_) {
    if (record.tenant != tenant || record.kind == TemplateKind::step) continue;
    if ((record.family == head || (!record.name.empty() && record.name == head)) &&
        record.tags.count(tag))
      return &record;
  }
  return nullptr;
}

// An id wins over a name of the same letters. If only the tag is unknown, the error lists those
// that there are.
Result<Template> Templates::find(const std::string& tenant, const std::string& reference) const {
  auto exact = records_.find(reference.substr(0, reference.find(':')));
  if (exact != records_.end() && (exact->second.tenant == tenant || exact->second.tenant.empty())) {
    bool plain =
        reference.find(':') == std::string::npos || ends_with(reference, cat(":", kDefaultTag));
    if (plain) return exact->second;
  }
  TemplateName name = TRY(parse_template_name(tenant, reference));
  std::string tag = name.tag.empty() ? kDefaultTag : name.tag;
  const Template* found = tagged(tenant, name.name, tag);
  if (!found && reference.find('/') == std::string::npos) found = tagged("", name.name, tag);
  if (found) return *found;
  std::vector<std::string> others;
  for (const auto& [id, record] : records_)
    if ((record.tenant == tenant || record.tenant.empty()) && !record.name.empty() &&
        record.name == name.name)
      for (const auto& [other, since] : record.tags) others.push_back(other);
  if (others.empty()) return unknown(reference);
  return Error{
      Code::not_found,
      cat("find template '", printable(reference), "': it has no tag '", printable(tag), "'"),
      cat("it has: ", join(others, ", "))};
}

std::vector<Template> Templates::list(const std::string& tenant) const {
  std::vector<Template> found;
  for (const auto& [id, record] : records_) {
    if (record.kind == TemplateKind::step) continue;
    if (tenant == "*" || record.tenant == tenant || record.tenant.empty()) found.push_back(record);
  }
  std::sort(found.begin(), found.end(), [](const Template& a, const Template& b) {
    return a.created != b.created ? a.created > b.created : a.id < b.id;
  });
  return found;
}

std::set<std::string> Templates::tenants() const {
  std::set<std::string> found;
  for (const auto& [id, record] : records_)
    if (!record.tenant.empty()) found.insert(record.tenant);
  return found;
}

uint64_t Templates::bytes_of(const std::string& tenant) const {
  uint64_t bytes = 0;
  for (const auto& [id, record] : records_)
    if (record.tenant == tenant) bytes += record.bytes;
  return bytes;
}

// The newest one wins where several builds made the same step.
const Template* Templates::find_cached(const std::string& tenant,
                                       const std::string& cache_key) const {
  const Template* newest = nullptr;
  for (const auto& [id, record] : records_) {
    if (cache_key.empty() || record.tenant != tenant || record.cache_key != cache_key) continue;
    if (!newest || newest->created < record.created) newest = &record;
  }
  return newest;
}

// The lock says that somebody works on the layer. It is released by a crash.
Result<Staged> Templates::stage() const {
  Staged staged;
  std::string name = cat(".new-", TRY(random_name(12)));
  if (::mkdirat(layers_.get(), name.c_str(), 0700) != 0) return errno_error(errno, "make a layer");
  staged.path = cat(directory_, "/layers/", name);
  staged.lock_ = TRY(kernel::open_beneath(layers_.get(), name, O_RDONLY | O_DIRECTORY));
  if (::flock(staged.lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return errno_error(errno, "lock a layer");
  return staged;
}

// The new record is written before the old ones lose the tag: after a crash in between, the later
// time decides.
Result<void> Templates::give_tags(Template& record, const std::map<std::string, int64_t>& tags) {
  int64_t when = now();
  // A tag never moves back in time, or a crash in between would undo it.
  for (auto& [id, other] : records_)
    if (other.family == record.family)
      for (const auto& [tag, since] : other.tags) when = std::max(when, since + 1);
  for (const auto& [tag, since] : tags) record.tags[tag] = when;
  TRY(write(record));
  for (auto& [id, other] : records_) {
    if (other.family != record.family || id == record.id) continue;
    size_t before = other.tags.size();
    for (const auto& [tag, since] : tags) other.tags.erase(tag);
    if (other.tags.size() != before) TRY(write(other));
  }
  return {};
}

// The layer gets its place before the record is written, so that no record names a layer that is
// missing.
Result<Template> Templates::add(Template asked, std::optional<Staged> layer,
                                const std::string& id) {
  asked.id = id.empty() ? TRY(random_name(20)) : id;
  if (records_.count(asked.id)) return Error{Code::internal, "add a template: its id is taken", ""};
  asked.created = now();
  if (!layer) asked.bytes = 0;
  if (layer) {
    Fd top = TRY(open_file(layer->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    std::string layer_id = TRY(random_name(20));
    bool made = ::mkdirat(top.get(), "root", 0755) == 0;
    if (!made && errno != EEXIST) return errno_error(errno, "make a layer's root");
    if (made && has_disk_ids() &&
        ::fchownat(top.get(), "root", kDiskBase, kDiskBase, AT_SYMLINK_NOFOLLOW) != 0)
      return errno_error(errno, "make a layer's root");
    std::string name = layer->path.substr(layer->path.rfind('/') + 1);
    if (::renameat(layers_.get(), name.c_str(), layers_.get(), layer_id.c_str()) != 0)
      return errno_error(errno, "put a layer in its place");
    asked.layers.push_back(layer_id);
    layer.reset();
  }
  if (asked.layers.empty()) return Error{Code::invalid, "add a template: it has no layers", ""};
  if (asked.layers.size() > kMostLayers)
    return Error{Code::invalid,
                 cat("add a template: it would have ", asked.layers.size(), " layers, and at most ",
                     kMostLayers, " work"),
                 "join steps of the build"};
  make_root(asked);
  if (asked.root.layers.empty())
    return Error{Code::not_found, "add a template: its layers are gone", ""};

  std::map<std::string, int64_t> tags = std::move(asked.tags);
  asked.tags.clear();
  if (asked.kind == TemplateKind::step)
    tags.clear(), asked.name.clear();
  else if (tags.empty())
    tags[kDefaultTag] = 0;
  asked.family = asked.name.empty() ? asked.id : template_family(asked.tenant, asked.name);
  TRY(give_tags(asked, tags));
  return records_[asked.id] = std::move(asked);
}

// A family goes as a whole when it is named without a tag, whatever tags it has.
Result<std::vector<std::string>> Templates::removable(const std::string& tenant,
                                                      const std::string& reference) const {
  std::vector<std::string> gone;
  Result<TemplateName> name = parse_template_name(tenant, reference);
  for (const auto& [id, record] : records_) {
    if (!name || !name.value().tag.empty() || record.tenant != tenant ||
        record.kind == TemplateKind::step)
      continue;
    if (record.family == name.value().name ||
        (!record.name.empty() && record.name == name.value().name))
      gone.push_back(id);
  }
  if (gone.empty()) {
    Template found = TRY(find(tenant, reference));
    if (found.tenant != tenant)
      return Error{Code::denied,
                   cat("remove template '", printable(reference), "': it is everyone's"), ""};
    gone.push_back(found.id);
  }
  return gone;
}

Result<void> Templates::remove(const std::string& tenant, const std::string& reference) {
  for (const std::string& id : TRY(removable(tenant, reference))) forget(id);
  return {};
}

Result<void> Templates::check_tags(const std::string& tenant, const std::string& reference,
                                   const std::set<std::string>& tags) const {
  Template found = TRY(find(tenant, reference));
  if (found.tenant != tenant)
    return Error{Code::denied, cat("tag template '", printable(reference), "': it is everyone's"),
                 ""};
  for (const std::string& tag : tags)
    if (!is_template_tag(tag))
      return Error{
          Code::invalid,
          cat("tag template '", printable(reference), "': '", printable(tag), "' is not a tag"),
          ""};
  return {};
}

Result<Template> Templates::tag(const std::string& tenant, const std::string& reference,
                                const std::set<std::string>& tags) {
  TRY(check_tags(tenant, reference, tags));
  Template found = TRY(find(tenant, reference));
  std::map<std::string, int64_t> wanted;
  for (const std::string& tag : tags) wanted[tag] = 0;
  TRY(give_tags(records_[found.id], wanted));
  return records_[found.id];
}

Result<void> Templates::check_has_tags(const std::string& tenant, const std::string& name,
                                       const std::set<std::string>& tags) const {
  TemplateName parsed = TRY(parse_template_name(tenant, name));
  for (const std::string& tag : tags)
    if (!tagged(tenant, parsed.name, tag))
      return Error{Code::not_found,
                   cat("remove the tag '", printable(tag), "' of template '", printable(name),
                       "': there is none"),
                   ""};
  return {};
}

Result<void> Templates::untag(const std::string& tenant, const std::string& name,
                              const std::set<std::string>& tags) {
  TRY(check_has_tags(tenant, name, tags));
  TemplateName parsed = TRY(parse_template_name(tenant, name));
  for (auto& [id, record] : records_) {
    if (record.tenant != tenant || (record.name != parsed.name && record.family != parsed.name))
      continue;
    size_t before = record.tags.size();
    for (const std::string& tag : tags) record.tags.erase(tag);
    if (record.tags.size() != before) TRY(write(record));
  }
  return {};
}

// The ids of layers beneath which the paths are.
std::set<std::string> Templates::layers_among(const std::set<std::string>& paths) const {
  std::set<std::string> found;
  std::string prefix = directory_ + "/layers/";
  for (const std::string& path : paths)
    if (starts_with(path, prefix))
      found.insert(path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size()));
  return found;
}

// Frees room in a tenant's quota. Only steps whose layer nobody shares give any back.
bool Templates::drop_oldest_step(const std::string& tenant, const std::set<std::string>& used,
                                 const std::vector<std::string>& layers) {
  std::set<std::string> needed = layers_among(used);
  needed.insert(layers.begin(), layers.end());
  std::map<std::string, size_t> users;
  for (const auto& [id, record] : records_)
    for (const std::string& layer : record.layers) ++users[layer];
  const Template* oldest = nullptr;
  for (const auto& [id, record] : records_) {
    if (record.tenant != tenant || record.kind != TemplateKind::step || record.cache_key.empty())
      continue;
    const std::string& own = record.layers.back();
    // One without bytes has no layer of its own.
    bool free = record.bytes == 0 || (users[own] == 1 && !needed.count(own));
    if (free && (!oldest || record.created < oldest->created)) oldest = &record;
  }
  if (!oldest) return false;
  std::string id = oldest->id;
  forget(id);
  return true;
}

// Records go first, then layers that no remaining record needs. Layers are renamed aside, so that
// removing them can take its time.
Result<std::vector<std::string>> Templates::sweep(const std::set<std::string>& used) {
  int64_t today = now();
  std::set<std::string> old, needed;
  for (const auto& [id, record] : records_) {
    int64_t age = today - record.created;
    if (record.kind == TemplateKind::step ? age > kStepLives
                                          : record.tags.empty() && age > kUntaggedLives)
      old.insert(id);
    else
      needed.insert(record.layers.begin(), record.layers.end());
  }
  for (const std::string& id : old) {
    const Template& record = records_[id];
    bool counts = record.kind == TemplateKind::step && record.bytes != 0 &&
                  needed.count(record.layers.back());
    if (!counts) forget(id);
  }
  needed.merge(layers_among(used));
  std::string prefix = directory_ + "/layers/";

  std::vector<std::string> gone;
  for (const std::string& name : TRY(kernel::list_directory(layers_.get()))) {
    if (needed.count(name) || !is_name_of_layer(name)) continue;
    if (starts_with(name, ".new-")) {
      Result<Fd> staged = kernel::open_beneath(layers_.get(), name, O_RDONLY | O_DIRECTORY);
      if (!staged || kernel::was_just_made(staged.value().get()) ||
          ::flock(staged.value().get(), LOCK_EX | LOCK_NB) != 0)
        continue;
    }
    std::string aside = starts_with(name, ".gone-") ? name : cat(".gone-", TRY(random_name(12)));
    if (aside != name && ::renameat(layers_.get(), name.c_str(), layers_.get(), aside.c_str()) != 0)
      continue;
    gone.push_back(prefix + aside);
  }
  return gone;
}

}  // namespace paddock::store
