#include "template/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/random_name.h"
#include "base/text.h"
#include "linux/tree.h"
#include "store/state.h"

namespace paddock::templates {

namespace {

// In bytes, for one archive.
constexpr uint64_t kLargest = uint64_t{1} << 30;
constexpr uint64_t kMostPerTenant = uint64_t{4} << 30;

// In seconds.
constexpr int64_t kKept = int64_t{7} * 24 * 3600;
constexpr int64_t kPermitLives = 3600;

// Of one tenant: as many as a build has steps.
constexpr size_t kMostPermits = 200;

int64_t seconds_now() { return ::time(nullptr); }

// Names the week, because older archives are removed when a server starts.
Error too_much() {
  return Error{
      Code::exhausted,
      cat("upload files: those of this week's builds take more than ", human_size(kMostPerTenant)),
      ""};
}

// An upload that was not finished, or a finished one: the tenant's hash and the file's.
bool is_ours(const std::string& name) {
  if (name[0] == '.') return is_random_name(name.substr(1), 20);
  return name.find_first_not_of("0123456789abcdef") == 32 && name[32] == '-';
}

}  // namespace

// Uploads that were not finished belong to an earlier server, and are removed.
Result<BuildFiles> BuildFiles::open(const std::string& directory) {
  BuildFiles files;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(errno, cat("make '", printable(directory), "'"));
  files.directory_ = TRY(open_file(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  for (const std::string& name : TRY(kernel::list_directory(files.directory_.get()))) {
    if (!is_ours(name)) continue;
    struct stat info;
    if (::fstatat(files.directory_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (name[0] == '.' || info.st_mtime + kKept < seconds_now())
      (void)::unlinkat(files.directory_.get(), name.c_str(), 0);
  }
  return files;
}

// A tenant's name may be anything; its hash is a file name.
std::string BuildFiles::name_of(const std::string& tenant, const std::string& hash) const {
  return cat(to_hex(sha256_bytes(tenant)).substr(0, 32), "-", hash);
}

bool BuildFiles::has(const std::string& tenant, const std::string& hash) const {
  return ::faccessat(directory_.get(), name_of(tenant, hash).c_str(), F_OK, 0) == 0;
}

// Touches the file, so that it is not removed while builds use it.
Result<Fd> BuildFiles::read(const std::string& tenant, const std::string& hash) const {
  std::string name = name_of(tenant, hash);
  Fd file(::openat(directory_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file)
    return Error{Code::not_found,
                 cat("copy files: nothing was uploaded under ", hash.substr(0, 12), "…"),
                 "upload them first"};
  // In use: not to be forgotten soon.
  (void)::utimensat(directory_.get(), name.c_str(), nullptr, 0);
  return file;
}

// Looks at the files each time: they are few, and a counter could be wrong after a crash.
Result<uint64_t> BuildFiles::used(const std::string& tenant) const {
  std::string prefix = name_of(tenant, "");
  uint64_t bytes = 0;
  for (const std::string& name : TRY(kernel::list_directory(directory_.get()))) {
    struct stat info;
    if (starts_with(name, prefix) &&
        ::fstatat(directory_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0)
      bytes += static_cast<uint64_t>(info.st_size);
  }
  return bytes;
}

// A permit stands in a URL, so it is random, for one archive, and used up by the first upload.
Result<std::string> BuildFiles::permit(const std::string& tenant, const std::string& hash) {
  for (auto it = permits_.begin(); it != permits_.end();)
    it = it->second.until < seconds_now() ? permits_.erase(it) : std::next(it);
  size_t theirs = 0;
  auto oldest = permits_.end();
  for (auto it = permits_.begin(); it != permits_.end(); ++it) {
    if (it->second.tenant != tenant) continue;
    ++theirs;
    if (oldest == permits_.end() || it->second.number < oldest->second.number) oldest = it;
  }
  if (theirs >= kMostPermits) permits_.erase(oldest);
  std::string permit = TRY(store::random_name(32));
  permits_[permit] = {tenant, hash, seconds_now() + kPermitLives, ++permits_made_};
  return permit;
}

// An upload that was not finished leaves nothing behind.
BuildFiles::Upload::~Upload() {
  if (!temporary.empty()) (void)::unlinkat(directory, temporary.c_str(), 0);
  if (counts) counts->open -= bytes;
}

// The permit is gone after this, also if the upload fails.
Result<std::unique_ptr<BuildFiles::Upload>> BuildFiles::begin(const std::string& permit) {
  auto found = permits_.find(permit);
  if (found == permits_.end() || found->second.until < seconds_now())
    return Error{Code::not_found, "upload files: this address was used, or is too old",
                 "ask for a new one"};
  auto upload = std::make_unique<Upload>();
  upload->tenant = found->second.tenant;
  upload->hash = found->second.hash;
  permits_.erase(found);
  std::shared_ptr<UploadCounts>& counts = counts_[upload->tenant];
  if (!counts) counts = std::make_shared<UploadCounts>();
  counts->kept = TRY(used(upload->tenant));
  if (counts->kept + counts->open >= kMostPerTenant) return too_much();
  upload->counts = counts;
  upload->directory = directory_.get();
  upload->temporary = cat(".", TRY(store::random_name(20)));
  upload->file = Fd(::openat(directory_.get(), upload->temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!upload->file) return errno_error(errno, "upload files");
  return upload;
}

// Called before bytes are written, so that a client cannot fill the disk.
Result<void> BuildFiles::charge(Upload& upload, size_t bytes) {
  upload.bytes += bytes;
  upload.counts->open += bytes;
  if (upload.counts->kept + upload.counts->open > kMostPerTenant) return too_much();
  if (upload.bytes > kLargest)
    return Error{Code::exhausted, cat("upload files: more than ", human_size(kLargest)), ""};
  return {};
}

// The name appears with a rename, so that a build never reads half an archive.
Result<void> BuildFiles::finish(Upload& upload) {
  std::string name = name_of(upload.tenant, upload.hash);
  if (::renameat(directory_.get(), upload.temporary.c_str(), directory_.get(), name.c_str()) != 0)
    return errno_error(errno, "keep uploaded files");
  upload.temporary.clear();
  upload.counts->open -= upload.bytes;
  upload.bytes = 0;
  upload.counts->kept = TRY(used(upload.tenant));
  return {};
}

}  // namespace paddock::templates
