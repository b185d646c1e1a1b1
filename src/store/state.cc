#include "store/state.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/random_name.h"
#include "base/text.h"

namespace paddock::store {

namespace {

constexpr char kHint[] = "set PADDOCK_STATE to a directory of your own";

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// PADDOCK_STATE wins; then root has a place of its own, and others follow the XDG specification.
Result<std::string> choose() {
  std::string chosen = from_environment("PADDOCK_STATE");
  if (!chosen.empty()) {
    if (chosen[0] != '/')
      return Error{Code::invalid,
                   cat("PADDOCK_STATE '", printable(chosen), "': not an absolute path"), ""};
    return chosen;
  }
  if (::geteuid() == 0) return std::string("/var/lib/paddock");
  std::string state = from_environment("XDG_STATE_HOME");
  // The XDG specification: ignore relative ones.
  if (!state.empty() && state[0] == '/') return state + "/paddock";
  std::string home = home_directory();
  if (home.empty())
    return Error{Code::not_found, "find the state directory: no home directory", kHint};
  return home + "/.local/state/paddock";
}

// A parent that cannot be made may exist already and be unreadable, so that is left to the next
// step.
Result<void> make_parents(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    std::string parent = path.substr(0, slash);
    if (::mkdir(parent.c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
      return errno_error(errno, cat("make '", printable(parent), "'"), kHint);
  }
  return {};
}

// Opens `name` in `parent` (AT_FDCWD for a path), made when missing, and checks that it is only
// ours.
Result<Fd> open_private(int parent, const std::string& name, const std::string& path) {
  std::string what = cat("open the state directory '", printable(path), "'");
  auto open = [&] {
    return Fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  };
  Fd fd = open();
  if (!fd && errno == ENOENT) {
    if (parent == AT_FDCWD) TRY(make_parents(path));
    if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST)
      return errno_error(errno, cat("make the state directory '", printable(path), "'"), kHint);
    fd = open();
  }
  if (!fd) {
    struct stat info;
    if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode))
      return Error{Code::denied, cat(what, ": it is a symbolic link"), kHint};
    return errno_error(errno, what, kHint);
  }
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return errno_error(errno, what);
  if (info.st_uid != ::geteuid())
    return Error{Code::denied, cat(what, ": it belongs to user ", info.st_uid), kHint};
  if (info.st_mode & 022)
    return Error{Code::denied, cat(what, ": others may write to it"),
                 cat("chmod 700 '", printable(path), "', or ", kHint)};
  return fd;
}

}  // namespace

// HOME wins over the password database, as in a shell.
std::string home_directory() {
  std::string home = from_environment("HOME");
  if (!home.empty() && home[0] == '/') return home;
  Result<std::string> passwd = read_file("/etc/passwd");
  home = passwd ? home_of(::geteuid(), passwd.value()) : "";
  return !home.empty() && home[0] == '/' ? home : "";
}

// Without trailing slashes, so that paths can be compared.
Result<std::string> state_path() {
  std::string path = TRY(choose());
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Result<std::string> state_directory() {
  std::string path = TRY(state_path());
  (void)TRY(open_private(AT_FDCWD, path, path));
  return path;
}

Result<StateDirectory> open_state(const std::string& name) {
  std::string state = TRY(state_directory());
  Fd top = TRY(open_private(AT_FDCWD, state, state));
  std::string path = cat(state, "/", name);
  Fd fd = TRY(open_private(top.get(), name, path));
  return StateDirectory{path, std::move(fd)};
}

std::string home_of(uid_t uid, const std::string& passwd) {
  for (const std::string& line : split(passwd, '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() == 7 && fields[2] == std::to_string(uid)) return fields[5];
  }
  return "";
}

// The letters are few enough that a small bias does not matter: names must differ, not be secret.
Result<std::string> random_name(size_t length) {
  std::string name(length, '\0');
  if (::getrandom(name.data(), length, 0) != static_cast<ssize_t>(length))
    return errno_error(errno, "read random bytes");
  for (char& c : name)
    c = kRandomNameLetters[static_cast<unsigned char>(c) % kRandomNameLetters.size()];
  return name;
}

// Readers see the old file or the new one. Not synced: see write_record() for that.
Result<void> write_file(int directory, const std::string& name, const std::string& content) {
  std::string temporary = cat(".", name, ".", TRY(random_name(kUnfinishedLength)));
  std::string what = cat("write '", printable(name), "'");
  Fd file(::openat(directory, temporary.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno_error(errno, what);
  Result<void> written = write_all(file.get(), content);
  if (written && ::renameat(directory, temporary.c_str(), directory, name.c_str()) != 0)
    written = errno_error(errno, what);
  if (!written) (void)::unlinkat(directory, temporary.c_str(), 0);
  return written;
}

}  // namespace paddock::store
