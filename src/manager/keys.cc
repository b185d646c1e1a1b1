#include "manager/keys.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>

#include "base/base64.h"
#include "base/digest.h"
#include "base/record.h"
#include "base/text.h"
#include "record/own_log.h"
#include "store/state.h"

namespace paddock::manager {

namespace {

constexpr const char* kKeysFile = "keys.json";
constexpr size_t kMostKeys = 10'000;

constexpr auto kKeyFields = std::make_tuple(
    field("id", &KeyInfo::id, Presence::optional), field("tenant", &KeyInfo::tenant),
    field("name", &KeyInfo::name, Presence::optional), field("scopes", &KeyInfo::scopes),
    field("last_four", &KeyInfo::last_four, Presence::optional),
    field("created_ms", &KeyInfo::created, Presence::optional),
    field("expires_ms", &KeyInfo::expires, Presence::optional));

// A key with its keyed hash, as it stands in the file.
Value line_of(const KeyInfo& key, const std::string& hash) {
  Value item = to_value(key);
  item.set("hash", base64(hash));
  return item;
}

}  // namespace

Value to_value(const KeyInfo& key) { return write_record(kKeyFields, key); }

// Without the key itself: the event is recorded before there is one.
Value creation_data(const KeyInfo& key) {
  return Value::Object{{"tenant", key.tenant},
                       {"name", key.name},
                       {"scopes", to_field(key.scopes)},
                       {"expires_ms", key.expires}};
}

Result<Keys> Keys::open(const std::string& state_directory) {
  Keys keys;
  keys.directory_ = state_directory;
  TRY(keys.read_if_changed());
  return keys;
}

// Released when the descriptor is closed, also by a crash.
Result<Fd> Keys::lock() const {
  Fd file = TRY(open_file(cat(directory_, "/keys.lock"), O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (::flock(file.get(), LOCK_EX) != 0) return errno_error(errno, "lock the keys");
  return file;
}

// A missing file means that there are no keys. A damaged one is an error, because it may have had
// some.
Result<void> Keys::read_if_changed() {
  std::string path = cat(directory_, "/", kKeysFile);
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) {
    if (errno != ENOENT) return errno_error(errno, cat("look at '", path, "'"));
    entries_.clear();
    secret_.clear();
    seen_ = {};
    return {};
  }
  bool same = now.st_ino == seen_.st_ino && now.st_size == seen_.st_size &&
              now.st_mtim.tv_sec == seen_.st_mtim.tv_sec &&
              now.st_mtim.tv_nsec == seen_.st_mtim.tv_nsec;
  if (same) return {};
  Value all = TRY(parse_json(TRY(read_file(path)), path));
  std::vector<Entry> entries;
  const Value* keys = all.find("keys");
  const Value::Array* list = keys ? keys->as_array() : nullptr;
  Error broken{Code::invalid, cat("read '", path, "': it is not a file of keys"),
               "move it away; keys must then be made anew"};
  if (!list) return broken;
  for (const Value& item : *list) {
    Entry entry;
    if (!read_record(kKeyFields, item, entry.info, "a key")) return broken;
    std::erase_if(entry.info.scopes,
                  [](const std::string& scope) { return !kScopes.count(scope); });
    Result<std::string> hash = from_base64(text_in(item, "hash"));
    if (!hash || hash.value().size() != 32 || !is_tenant_name(entry.info.tenant)) return broken;
    entry.hash = std::move(hash.value());
    entries.push_back(std::move(entry));
  }
  Result<std::string> secret = from_base64(text_in(all, "secret"));
  if (!secret || secret.value().size() != 32) return broken;
  secret_ = std::move(secret.value());
  entries_ = std::move(entries);
  seen_ = now;
  return {};
}

// The secret of the hashes is in the same file: without it the hashes are useless.
Result<void> Keys::write() {
  Value::Array list;
  for (const Entry& entry : entries_) list.push_back(line_of(entry.info, entry.hash));
  Value all = Value::Object{{"version", 1}, {"secret", base64(secret_)}, {"keys", list}};
  Fd directory = TRY(open_file(directory_, O_RDONLY | O_DIRECTORY));
  return store::write_file(directory.get(), kKeysFile, to_json(all, true) + "\n");
}

// For errors before anything is recorded.
Result<void> Keys::check_new(const KeyInfo& wanted) {
  if (!is_tenant_name(wanted.tenant))
    return Error{Code::invalid,
                 cat("make a key for tenant '", printable(wanted.tenant),
                     "': a tenant's name has lower-case letters, digits and '-'"),
                 ""};
  if (wanted.name.size() > 100)
    return Error{Code::invalid, "make a key: its name is longer than 100 bytes", ""};
  for (const std::string& scope : wanted.scopes)
    if (!kScopes.count(scope))
      return Error{Code::invalid, cat("make a key: there is no scope '", printable(scope), "'"),
                   "scopes are: read, sandboxes, templates, metrics, admin"};
  if (wanted.scopes.empty())
    return Error{Code::invalid, "make a key: it would be good for nothing", "name a scope"};
  return {};
}

// Reads again under the lock, since another process may have changed the file.
Result<NewKey> Keys::add(KeyInfo wanted) {
  TRY(check_new(wanted));
  Fd held = TRY(lock());
  TRY(read_if_changed());
  if (entries_.size() >= kMostKeys)
    return Error{Code::exhausted, "make a key: there are too many",
                 "revoke some: paddock key revoke ID"};
  if (secret_.empty()) secret_ = TRY(random_bytes(32));
  NewKey made{.info = std::move(wanted), .key = cat("e2b_", to_hex(TRY(random_bytes(20))))};
  made.info.id = TRY(store::random_name(8));
  made.info.last_four = made.key.substr(made.key.size() - 4);
  made.info.created = wall_time_now();
  entries_.push_back({made.info, hmac_sha256(secret_, made.key)});
  TRY(write());
  return made;
}

Result<std::vector<KeyInfo>> Keys::list() {
  TRY(read_if_changed());
  std::vector<KeyInfo> all;
  for (const Entry& entry : entries_) all.push_back(entry.info);
  return all;
}

// For errors before anything is recorded; the id is checked again under the lock.
Result<void> Keys::check_known(const std::string& id) {
  TRY(read_if_changed());
  if (std::any_of(entries_.begin(), entries_.end(),
                  [&](const Entry& entry) { return entry.info.id == id; }))
    return {};
  return Error{Code::not_found,
               cat("revoke the key '", printable(id), "': there is none of that id"),
               "see: paddock key ls"};
}

Result<void> Keys::remove(const std::string& id) {
  Fd held = TRY(lock());
  TRY(check_known(id));
  std::erase_if(entries_, [&](const Entry& entry) { return entry.info.id == id; });
  return write();
}

// Recorded before it is done. A failure after that is recorded too.
Result<NewKey> Keys::create(const KeyInfo& wanted) {
  TRY(check_new(wanted));
  Event act;
  TRY(record::record_act("key.create", creation_data(wanted), &act));
  Result<NewKey> made = add(wanted);
  if (!made) record::note_failure(act, made.error());
  return made;
}

Result<void> Keys::revoke(const std::string& id) {
  TRY(check_known(id));
  Event act;
  TRY(record::record_act("key.revoke", Value::Object{{"id", id}}, &act));
  Result<void> removed = remove(id);
  if (!removed) record::note_failure(act, removed.error());
  return removed;
}

// While the file cannot be read, every key is refused.
std::optional<KeyInfo> Keys::find(std::string_view key) {
  if (!read_if_changed()) return std::nullopt;
  if (secret_.empty() || key.empty() || key.size() > 200) return std::nullopt;
  std::string hash = hmac_sha256(secret_, key);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_)
    if (same_secret(hash, entry.hash)) found = &entry;
  return found ? std::optional<KeyInfo>(found->info) : std::nullopt;
}

// An expired key is treated like an unknown one.
std::optional<KeyInfo> Keys::check(std::string_view key) {
  std::optional<KeyInfo> found = find(key);
  return found && (found->expires == 0 || found->expires > wall_time_now()) ? found : std::nullopt;
}

}  // namespace paddock::manager
