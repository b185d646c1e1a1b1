#include "launch/space.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/random_name.h"
#include "base/text.h"
#include "linux/bounded_filesystem.h"
#include "linux/tree.h"

namespace paddock::launch {

namespace {

constexpr std::string_view kPrefix = "space-";
constexpr size_t kIdLength = 16;

struct Place {
  std::string parent, name;
};

Place place_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return {path.substr(0, slash), path.substr(slash + 1)};
}

bool is_name_of_space(const std::string& name) {
  return starts_with(name, kPrefix) && is_random_name(name.substr(kPrefix.size()), kIdLength);
}

// If others could write to it, they could put something in place of a space.
Result<Fd> open_spaces(const std::string& path) {
  std::string what = cat("open the directory of private spaces '", path, "'");
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!folder || ::fstat(folder.get(), &info) != 0)
    return errno_error(errno, what, "remove what is there");
  if (info.st_uid != ::geteuid())
    return Error{Code::denied, cat(what, ": it belongs to user ", info.st_uid),
                 "ask its owner or root to remove it"};
  if (info.st_mode & 066)
    return Error{Code::denied, cat(what, ": others may read it or write to it"),
                 cat("chmod 711 ", path)};
  return folder;
}

// Whether it was made by this user, or given to a sandbox's uid near ours.
bool is_ours(int folder, const Plan& plan) {
  struct stat info;
  if (::fstat(folder, &info) != 0) return false;
  int64_t distance = static_cast<int64_t>(info.st_uid) - static_cast<int64_t>(plan.ids.outside_uid);
  return info.st_uid == ::geteuid() || (plan.privileged && std::abs(distance) < 32768);
}

// Folders are the program's; files stay ours and are read-only. The space itself is given away
// last.
Result<void> fill(const Plan& plan, int space) {
  auto give_away = [&](const char* name) {
    return !plan.privileged || ::fchownat(space, name, plan.ids.outside_uid, plan.ids.outside_gid,
                                          AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) == 0;
  };
  for (const std::string& folder : plan.space_folders)
    if (::mkdirat(space, folder.c_str(), 0700) != 0 || !give_away(folder.c_str()))
      return errno_error(errno, cat("make '", plan.space, "/", folder, "'"));
  for (const auto& [name, content] : plan.space_files) {
    Fd file(
        ::openat(space, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444));
    if (!file) return errno_error(errno, cat("make '", plan.space, "/", printable(name), "'"));
    TRY(write_all(file.get(), content));
  }
  if (!give_away("")) return errno_error(errno, cat("give '", plan.space, "' to the program"));
  return {};
}

// The same on a filesystem of a fixed size, mounted over the space.
Result<void> fill_own_filesystem(const Plan& plan) {
  TRY(kernel::mount_bounded_filesystem(plan.space, plan.space_bytes, plan.space_inodes));
  Fd mounted = TRY(open_file(plan.space, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return fill(plan, mounted.get());
}

}  // namespace

std::string space_of(const std::string& id) {
  struct stat info;
  bool var_tmp =
      ::stat("/var/tmp", &info) == 0 && S_ISDIR(info.st_mode) && ::access("/var/tmp", W_OK) == 0;
  return cat(var_tmp ? "/var/tmp" : "/tmp", "/paddock-", ::geteuid(), "/", kPrefix, id);
}

Result<Fd> make_space(const Plan& plan) {
  Place place = place_of(plan.space);
  if (::mkdir(place.parent.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(errno, cat("make '", place.parent, "'"));
  Fd spaces = TRY(open_spaces(place.parent));
  // A program that root starts runs as another user, who must be able to pass through. Names inside
  // cannot be guessed.
  if (plan.privileged && ::fchmod(spaces.get(), 0711) != 0)
    return errno_error(errno, cat("open the way to '", place.parent, "'"));
  if (::mkdirat(spaces.get(), place.name.c_str(), 0700) != 0)
    return errno_error(errno, cat("make '", plan.space, "'"));
  Result<Fd> space = kernel::open_beneath(spaces.get(), place.name, O_RDONLY | O_DIRECTORY);
  Result<void> made = space ? Result<void>() : Result<void>(space.error());
  if (made && ::flock(space.value().get(), LOCK_EX | LOCK_NB) != 0)
    made = errno_error(errno, cat("lock '", plan.space, "'"));
  if (made) made = plan.space_bytes ? fill_own_filesystem(plan) : fill(plan, space.value().get());
  if (made) return space;
  remove_space(plan);
  return made.error();
}

void remove_space(const Plan& plan) {
  Place place = place_of(plan.space);
  if (plan.space_bytes) kernel::unmount_bounded_filesystem(plan.space);
  Result<Fd> spaces = open_spaces(place.parent);
  if (spaces) (void)kernel::remove_tree(spaces.value().get(), place.name);
}

void remove_stale_spaces(const Plan& plan) {
  Result<Fd> spaces = open_spaces(place_of(plan.space).parent);
  if (!spaces) return;
  Result<std::vector<std::string>> names = kernel::list_directory(spaces.value().get());
  if (!names) return;
  for (const std::string& name : names.value()) {
    if (!is_name_of_space(name)) continue;
    Result<Fd> space = kernel::open_beneath(spaces.value().get(), name, O_RDONLY | O_DIRECTORY);
    if (!space || !is_ours(space.value().get(), plan) || kernel::was_just_made(space.value().get()))
      continue;
    if (::flock(space.value().get(), LOCK_EX | LOCK_NB) == 0)
      (void)kernel::remove_tree(spaces.value().get(), name);
  }
}

}  // namespace paddock::launch
