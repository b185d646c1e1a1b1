// Operations on files that are done at once, and those that move or remove whole trees.
#include "guest/files.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "guest/copy_tree.h"
#include "guest/entry.h"
#include "guest/helper.h"
#include "guest/operations.h"
#include "guest/request.h"
#include "linux/tree.h"

namespace paddock::guest {

namespace {

// The last component of a path, for removing it through a descriptor of its parent.
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<Value> entry_at(const std::string& path) { return with_entry(TRY(Describer().at(path))); }

// Unlike `mkdir -p`, an existing directory is refused: the SDKs tell their callers whether one was
// made.
Result<Value> make_directory_at(const Place& place) {
  struct stat info;
  if (::stat(place.path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return refuse(Kind::already_exists, cat("directory already exists: ", place.path));
    return refuse(Code::invalid,
                  cat("path already exists but it is not a directory: ", place.path));
  }
  TRY(make_directories(place.path, place.ownership));
  return entry_at(place.path);
}

}  // namespace

Value with_entry(Value entry) {
  Value result;
  result.set("entry", std::move(entry));
  return result;
}

std::string parent_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// setfsuid away from 0 also takes the capabilities that override the permissions of files out of
// the effective set, and back to 0 gives them back (capabilities(7)). Its answer is the id from
// before and says nothing about success, so it is asked twice.
FileRights::FileRights(const Guest& guest, const Place& place) {
  if (!place.with_own_rights || guest.single_id || ::geteuid() != 0 || place.user.uid == 0) return;
  int count = ::getgroups(0, nullptr);
  groups_.resize(static_cast<size_t>(std::max(0, count)));
  if (count > 0 && ::getgroups(count, groups_.data()) < 0) groups_.clear();
  changed_ = true;
  std::vector<gid_t> groups(place.user.groups.begin(), place.user.groups.end());
  bool is_done = ::setgroups(groups.size(), groups.data()) == 0;
  (void)::setfsgid(place.user.gid);
  (void)::setfsuid(place.user.uid);
  is_done = is_done && ::setfsgid(place.user.gid) == static_cast<int>(place.user.gid) &&
            ::setfsuid(place.user.uid) == static_cast<int>(place.user.uid);
  if (!is_done) ::abort();  // going on would be as root
}

// The capabilities to change ids were never given up, only those that override the permissions of
// files, so this needs nothing that was lost.
FileRights::~FileRights() {
  if (!changed_) return;
  (void)::setfsuid(::geteuid());
  (void)::setfsgid(::getegid());
  (void)::setgroups(groups_.size(), groups_.data());
}

Result<Place> place_in(Guest& guest, const Value& request, std::string_view key) {
  Place place;
  place.user = TRY(guest.user_of(request));
  std::string path = TRY(path_of(request, key));
  std::string otherwise = guest.default_cwd.empty()
                              ? place.user.home
                              : TRY(resolve_path(guest.default_cwd, place.user, place.user.home));
  place.path = TRY(resolve_path(path, place.user, otherwise));
  place.ownership = {guest.file_uid(place.user), guest.file_gid(place.user)};
  const Value* own_rights = request.find("own_rights");
  place.with_own_rights = own_rights && own_rights->as_bool() && *own_rights->as_bool();
  return place;
}

namespace {

// True: it was made. False: it is there. Nothing: its parent is missing.
Result<std::optional<bool>> make_directory_in_parent(const std::string& path,
                                                     const Ownership& ownership) {
  if (::mkdir(path.c_str(), 0755) == 0) {
    if (::lchown(path.c_str(), ownership.uid, ownership.gid) != 0)
      return refuse_errno(errno, cat("give '", path, "' to its owner"));
    return std::optional<bool>(true);
  }
  struct stat info;
  if (errno == EEXIST) {
    if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
      return std::optional<bool>(false);
    return refuse(Code::invalid, cat("path is not a directory: ", path));
  }
  if (errno == ENOENT && path != "/") return std::optional<bool>();
  if (errno == ENOTDIR)
    return refuse(Code::invalid, cat("path is not a directory: ", parent_of(path)));
  return refuse_errno(errno, cat("make directory '", path, "'"));
}

}  // namespace

// The directory itself is tried first, since its parents mostly exist. It is tried twice at most:
// programs inside may remove the parents again and again.
Result<bool> make_directories(const std::string& path, const Ownership& ownership) {
  if (std::optional<bool> made = TRY(make_directory_in_parent(path, ownership))) return *made;
  TRY(make_directories(parent_of(path), ownership));
  if (std::optional<bool> made = TRY(make_directory_in_parent(path, ownership))) return *made;
  return refuse_errno(ENOENT, cat("make directory '", path, "'"));
}

Result<Fd> open_for_writing(const Place& place, Existing existing) {
  struct stat info;
  if (::stat(place.path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return refuse(Code::invalid, cat("path is a directory: ", place.path));
    if (!S_ISREG(info.st_mode))
      return refuse(Code::invalid, cat("path is not a regular file: ", place.path));
  } else {
    TRY(make_directories(parent_of(place.path), place.ownership));
  }
  // O_NONBLOCK, because it may have become a pipe meanwhile, and opening that would wait for a
  // reader.
  int keeps = existing == Existing::added_to ? O_APPEND : O_TRUNC;
  Fd file(::open(place.path.c_str(), O_WRONLY | O_CREAT | keeps | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                 0666 & ~022));
  if (!file) return refuse_errno(errno, cat("open '", place.path, "' for writing"));
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return refuse(Code::invalid, cat("path is not a regular file: ", place.path));
  bool owned = place.with_own_rights ||
               (info.st_uid == place.ownership.uid && info.st_gid == place.ownership.gid);
  if (!owned && ::fchown(file.get(), place.ownership.uid, place.ownership.gid) != 0)
    return refuse_errno(errno, cat("give '", place.path, "' to its owner"));
  return file;
}

Answer stat_file(Guest& guest, CallPointer call) {
  Result<Place> place = place_in(guest, call->request);
  if (!place) co_return place.error();
  co_return entry_at(place.value().path);
}

Answer make_directory(Guest& guest, CallPointer call) {
  Result<Place> place = place_in(guest, call->request);
  if (!place) co_return place.error();
  co_return make_directory_at(place.value());
}

// What does not exist counts as removed. A directory that is not empty is left to a helper process,
// as it may take long.
Answer remove_file(Guest& guest, CallPointer call) {
  Result<Place> place = place_in(guest, call->request);
  if (!place) co_return place.error();
  std::string path = place.value().path;
  if (path == "/") co_return refuse(Code::invalid, "the root directory cannot be removed");
  if (::unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) co_return Value();
  if (errno != EISDIR) co_return refuse_errno(errno, cat("remove '", path, "'"));
  if (::rmdir(path.c_str()) == 0) co_return Value();
  if (errno != ENOTEMPTY && errno != EEXIST)
    co_return refuse_errno(errno, cat("remove '", path, "'"));
  Work work = [path](HelperStreams) -> Result<Value> {
    Fd parent = TRY(open_file(parent_of(path), O_RDONLY | O_DIRECTORY));
    TRY(kernel::remove_tree(parent.get(), name_of(path)));
    return Value();
  };
  Result<Value> removed = co_await run_helper(guest, call, std::nullopt, work);
  co_return removed;
}

// A rename if the kernel can do it. Otherwise a copy by a helper process, and the source is removed
// only after it is complete.
Answer move_file(Guest& guest, CallPointer call) {
  Result<Place> source = place_in(guest, call->request, "source"),
                destination = place_in(guest, call->request, "destination");
  if (!source) co_return source.error();
  if (!destination) co_return destination.error();
  std::string from = source.value().path, to = destination.value().path;
  struct stat info;
  if (::lstat(from.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      co_return refuse(Code::not_found, cat("source file not found: ", from));
    co_return refuse_errno(errno, cat("move '", from, "'"));
  }
  Result<bool> made = make_directories(parent_of(to), destination.value().ownership);
  if (!made) co_return made.error();
  if (::rename(from.c_str(), to.c_str()) == 0) co_return entry_at(to);
  if (errno != EXDEV) co_return refuse_errno(errno, cat("move '", from, "' to '", to, "'"));
  // The destination is on another file system, or it is a directory that an overlay cannot rename.
  Work work = [from, to](HelperStreams) -> Result<Value> {
    TRY(copy_tree(from, to));
    Fd parent = TRY(open_file(parent_of(from), O_RDONLY | O_DIRECTORY));
    TRY(kernel::remove_tree(parent.get(), name_of(from)));
    return Value();
  };
  Result<Value> moved = co_await run_helper(guest, call, std::nullopt, work);
  if (!moved) co_return moved.error();
  co_return entry_at(to);
}

}  // namespace paddock::guest
