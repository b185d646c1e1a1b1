#include "store/durable.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "store/state.h"

namespace paddock::store {

namespace {

// In bytes.
constexpr size_t kLargestRecord = 4 << 20;

// Two seconds in all, for a server that is about to end.
constexpr int kLockTries = 40;
constexpr timespec kLockPause{0, 50'000'000};

}  // namespace

// The steps are: write under another name, sync the file, rename, sync the directory. Each is
// needed to survive a power failure.
Result<void> write_record(int directory, const std::string& name, const Value& record,
                          Durability durability) {
  std::string content = to_json(record) + "\n";
  if (durability == Durability::atomic) return write_file(directory, name, content);
  std::string what = cat("write '", printable(name), "'");
  std::string temporary = cat(".", name, ".", TRY(random_name(10)));
  Fd file(::openat(directory, temporary.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno_error(errno, what);
  Result<void> written = write_all(file.get(), content);
  if (written && ::fsync(file.get()) != 0) written = errno_error(errno, what);
  if (written && ::renameat(directory, temporary.c_str(), directory, name.c_str()) != 0)
    written = errno_error(errno, what);
  if (!written) {
    (void)::unlinkat(directory, temporary.c_str(), 0);
    return written;
  }
  if (::fsync(directory) != 0) return errno_error(errno, what);
  return {};
}

// O_NONBLOCK keeps a fifo in its place from blocking us.
Result<Value> read_record(int directory, const std::string& name, const std::string& format) {
  Fd file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) return errno_error(errno, cat("open '", printable(name), "'"));
  std::string text = TRY(read_all(file.get(), kLargestRecord));
  Result<Value> parsed = parse_json(text, name);
  if (!parsed) return Error{Code::invalid, parsed.error().message, ""};
  const Value* kind = parsed.value().find("format");
  const Value* version = parsed.value().find("version");
  if (!kind || !kind->as_string() || *kind->as_string() != format)
    return Error{Code::invalid, cat("read '", printable(name), "': not a record of ", format), ""};
  if (!version || !version->as_int() || *version->as_int() != 1)
    return Error{Code::invalid,
                 cat("read '", printable(name), "': a version that this program does not know"),
                 ""};
  return parsed;
}

Result<Fd> open_directory(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(errno, cat("make '", printable(name), "'"));
  Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return errno_error(errno, cat("open '", printable(name), "'"));
  return fd;
}

// A lock of fcntl() belongs to the process, so that keepers which inherit descriptors cannot hold
// it.
Result<Fd> lock_directory(int directory) {
  Fd file(::openat(directory, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno_error(errno, "open the server's lock");
  for (int i = 0; i < kLockTries; ++i) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    if (::fcntl(file.get(), F_SETLK, &whole) == 0) return file;
    if (errno != EACCES && errno != EAGAIN && errno != EINTR)
      return errno_error(errno, "lock the state directory");
    (void)::nanosleep(&kLockPause, nullptr);
  }
  struct flock owner {};
  owner.l_type = F_WRLCK;
  (void)::fcntl(file.get(), F_GETLK, &owner);
  return Error{Code::conflict,
               cat("lock the state directory: a server (pid ", owner.l_pid, ") uses it"),
               "stop that one, or set PADDOCK_STATE to another directory"};
}

}  // namespace paddock::store
