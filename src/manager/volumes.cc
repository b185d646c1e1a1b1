#include "manager/volumes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random_name.h"
#include "base/record.h"
#include "base/text.h"
#include "linux/tree.h"
#include "manager/checks.h"
#include "store/durable.h"
#include "store/rootfs.h"
#include "store/state.h"

namespace paddock::manager {

namespace {

constexpr char kRecord[] = "record.json";
constexpr char kData[] = "data";
constexpr char kVolumeFormat[] = "paddock.volume";

// After a "v".
constexpr size_t kIdLength = 20;
constexpr size_t kMostOfATenant = 1000;  // of a tenant

// The default user inside.
constexpr uint32_t kUser = 1000;

constexpr auto kVolumeFields = std::make_tuple(
    field("id", &VolumeInfo::id), field("tenant", &VolumeInfo::tenant, Presence::optional),
    field("name", &VolumeInfo::name), field("token", &VolumeInfo::token),
    field("quota_bytes", &VolumeInfo::quota_bytes, Presence::optional),
    field("created", &VolumeInfo::created, Presence::optional));

Value record_of(const VolumeInfo& info) {
  Value value = Value::Object{{"format", kVolumeFormat}, {"version", 1}};
  write_fields(kVolumeFields, info, value);
  return value;
}

// Members that a volume cannot be without are checked; a record without them is not used.
Result<VolumeInfo> volume_from(const Value& value) {
  VolumeInfo info;
  TRY(read_record(kVolumeFields, value, info, "a volume's record"));
  if (!is_id(info.id) || !is_name(info.name) || info.token.empty())
    return Error{Code::invalid, "read a volume's record: something is missing", ""};
  return info;
}

// Belongs to the sandbox's user, as files of layers do (store/rootfs.h); everyone inside may write
// to it.
Result<void> make_data(int directory) {
  if (::mkdirat(directory, kData, 0700) != 0) return errno_error(errno, "make a volume");
  Fd data(::openat(directory, kData, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!data) return errno_error(errno, "open a volume");
  uint32_t owner = store::kDiskBase + kUser;
  if (::geteuid() == 0 && ::fchown(data.get(), owner, owner) != 0)
    return errno_error(errno, "set a volume's owner");
  if (::fchmod(data.get(), 0777) != 0) return errno_error(errno, "set a volume's mode");
  return {};
}

}  // namespace

// Charges the ledger for all that are there, without asking for its limits.
Result<std::unique_ptr<Volumes>> Volumes::open(int server, const std::string& path,
                                               Ledger& ledger) {
  std::unique_ptr<Volumes> volumes(new Volumes);
  volumes->ledger_ = &ledger;
  volumes->path_ = path + "/volumes";
  volumes->fd_ = TRY(store::open_directory(server, "volumes"));
  TRY(volumes->read_all());
  return volumes;
}

// A directory of ours without a record was never promised to anyone. One whose record cannot be
// read may hold somebody's files: it stays where it is, unused.
Result<void> Volumes::read_all() {
  for (const std::string& name : TRY(kernel::list_directory(fd_.get()))) {
    Fd directory(
        ::openat(fd_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory) continue;
    Result<Value> record = store::read_record(directory.get(), kRecord, kVolumeFormat);
    if (!record && record.error().code == Code::not_found) {
      bool ours = starts_with(name, "v") && is_random_name(name.substr(1), kIdLength);
      if (ours) (void)kernel::remove_tree(fd_.get(), name);
      continue;
    }
    Result<VolumeInfo> info =
        record ? volume_from(record.value()) : Result<VolumeInfo>(record.error());
    if (!info || info.value().id != name) continue;
    info.value().directory = cat(path_, "/", name, "/", kData);
    std::string tenant = info.value().tenant;
    Amount amount{.disk_bytes = info.value().quota_bytes};
    volumes_[name] = Entry{std::move(info).value(), ledger_->charge_unchecked(tenant, amount)};
    touched_.insert(name);
  }
  return {};
}

// For errors before anything is recorded.
Result<void> Volumes::check_new(const std::string& tenant, const Quota& quota,
                                const std::string& name, uint64_t quota_bytes) const {
  if (!is_name(name))
    return Error{Code::invalid, cat("volume '", printable(name.substr(0, 64)), "': not a name"),
                 "letters, digits, '.', '_' and '-', at most 64"};
  if (find(tenant, name))
    return Error{Code::conflict, cat("volume '", name, "': there is one already"), ""};
  if (list(tenant).size() >= kMostOfATenant)
    return Error{Code::exhausted, cat("volumes: more than ", kMostOfATenant), "remove some"};
  if (quota.disk_bytes != 0 && quota_bytes == 0)
    return Error{Code::invalid,
                 cat("volume '", name, "': needs a size, since the tenant's disk is limited"),
                 "give quota_bytes"};
  return {};
}

// The record is written last, and durably: a directory without one is removed at the next start.
Result<VolumeInfo> Volumes::create(const std::string& tenant, const Quota& quota,
                                   const std::string& name, uint64_t quota_bytes) {
  TRY(check_new(tenant, quota, name, quota_bytes));
  std::unique_ptr<Ledger::Charge> charge =
      TRY(ledger_->charge(tenant, quota, {.disk_bytes = quota_bytes}));

  VolumeInfo info{
      .tenant = tenant, .name = name, .quota_bytes = quota_bytes, .created = wall_time_now()};
  info.id = "v" + TRY(store::random_name(kIdLength));
  info.token = TRY(make_token());
  info.directory = cat(path_, "/", info.id, "/", kData);
  Fd directory = TRY(store::open_directory(fd_.get(), info.id));
  Result<void> made = make_data(directory.get());
  if (made)
    made =
        store::write_record(directory.get(), kRecord, record_of(info), store::Durability::on_disk);
  if (!made) {
    (void)kernel::remove_tree(fd_.get(), info.id);
    return made.error();
  }
  volumes_[info.id] = Entry{info, std::move(charge)};
  return info;
}

std::vector<VolumeInfo> Volumes::list(const std::string& tenant) const {
  std::vector<VolumeInfo> found;
  for (const auto& [id, entry] : volumes_)
    if (entry.info.tenant == tenant) found.push_back(entry.info);
  return found;
}

Result<VolumeInfo> Volumes::find(const std::string& tenant, const std::string& id_or_name) const {
  for (const auto& [id, entry] : volumes_)
    if (entry.info.tenant == tenant && (id == id_or_name || entry.info.name == id_or_name))
      return entry.info;
  return Error{Code::not_found,
               cat("volume '", printable(id_or_name.substr(0, 64)), "': there is none"), ""};
}

const VolumeInfo* Volumes::find_by_id(const std::string& id) const {
  auto found = volumes_.find(id);
  return found == volumes_.end() ? nullptr : &found->second.info;
}

// Only takes the record away; the caller removes the files, which may take long.
Result<std::string> Volumes::remove(const std::string& id) {
  auto found = volumes_.find(id);
  if (found == volumes_.end()) return Error{Code::not_found, "remove a volume: there is none", ""};
  // Without its record it does not exist, also when what follows is interrupted.
  std::string record = cat(id, "/", kRecord);
  if (::unlinkat(fd_.get(), record.c_str(), 0) != 0 && errno != ENOENT)
    return errno_error(errno, "remove a volume's record");
  volumes_.erase(found);
  touched_.erase(id);
  return cat(path_, "/", id);
}

// Counted at once, so that several writers together cannot exceed the quota between two
// measurements.
bool Volumes::reserve(const std::string& id, uint64_t bytes) {
  auto found = volumes_.find(id);
  if (found == volumes_.end()) return false;
  Entry& entry = found->second;
  VolumeInfo& info = entry.info;
  if (info.quota_bytes != 0 &&
      (info.used_bytes > info.quota_bytes || bytes > info.quota_bytes - info.used_bytes))
    return false;
  info.used_bytes += bytes;
  entry.reserved += bytes;
  touched_.insert(id);
  return true;
}

// What is reserved from now on is not part of the result, and is added to it.
void Volumes::measuring(const std::string& id) {
  touched_.erase(id);
  auto found = volumes_.find(id);
  if (found != volumes_.end()) found->second.reserved = 0;
}

// What was reserved meanwhile was perhaps not seen.
void Volumes::measured(const std::string& id, const Result<uint64_t>& used_bytes) {
  auto found = volumes_.find(id);
  if (found == volumes_.end()) return;
  if (used_bytes)
    found->second.info.used_bytes = used_bytes.value() + found->second.reserved;
  else
    touched_.insert(id);
}

Result<uint64_t> measure_volume(const std::string& directory) {
  Fd fd = TRY(open_file(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  // Root reads everything as it is.
  return TRY(kernel::measure_tree(fd.get(), {.make_readable = ::geteuid() != 0})).charge();
}

}  // namespace paddock::manager
