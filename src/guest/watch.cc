// The operation `watch`: reports what changes in a directory and, if asked to, in everything
// beneath it.
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <map>
#include <memory>

#include "base/text.h"
#include "guest/entry.h"
#include "guest/files.h"
#include "guest/operations.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

constexpr size_t kMostWatched = 16'384;  // directories, in all watches together
constexpr size_t kMostAtOnce = 4096;     // names found in directories that are new
constexpr int kDeepest = 256;
// Opened files that were unlinked are of no interest (IN_EXCL_UNLINK), and the root alone reports
// its own end.
constexpr uint32_t kMask = IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM |
                           IN_DELETE | IN_ONLYDIR | IN_EXCL_UNLINK;
constexpr uint32_t kOwnMask = kMask | IN_DELETE_SELF | IN_MOVE_SELF;

// inotify does not see what other machines change on a network file system.
bool is_on_network(const std::string& path) {
  struct statfs info;
  if (::statfs(path.c_str(), &info) != 0) return false;
  constexpr unsigned long kCifs = 0xff534d42, kSmb2 = 0xfe534d42, kFuse = 0x65735546;
  unsigned long type = static_cast<unsigned long>(info.f_type) & 0xffffffff;
  return type == NFS_SUPER_MAGIC || type == SMB_SUPER_MAGIC || type == kCifs || type == kSmb2 ||
         type == kFuse;
}

// One message to the client.
struct Change {
  std::string name;  // relative to the watched directory
  const char* type;
};

// One inotify descriptor and the directories it watches. The number of directories is shared by all
// watches, as it is the sandbox's kernel memory.
class Watch {
 public:
  Watch(Guest& guest, std::string root, bool recursive)
      : guest_(guest), root_(std::move(root)), recursive_(recursive) {}
  ~Watch() { guest_.watched -= directories_.size(); }

  io::Socket socket;

  Result<void> begin() {
    Fd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!fd) return refuse_errno(errno, "watch");
    socket.open(guest_.loop, std::move(fd));
    TRY(add("", kOwnMask));
    if (recursive_) TRY(add_beneath("", nullptr, 0));
    return {};
  }

  // inotify writes whole events, so a read never ends in the middle of one.
  void read(const char* bytes, size_t size, std::vector<Change>& changes) {
    for (size_t at = 0; at + sizeof(inotify_event) <= size;) {
      inotify_event event;
      __builtin_memcpy(&event, bytes + at, sizeof event);
      take(event, event.len > 0 ? std::string(bytes + at + sizeof event) : std::string(), changes);
      at += sizeof event + event.len;
    }
  }

  std::string path_of(const std::string& name) const {
    return name.empty() ? root_ : cat(root_ == "/" ? "" : root_, "/", name);
  }

 private:
  static std::string beneath(const std::string& directory, const std::string& name) {
    return directory.empty() ? name : cat(directory, "/", name);
  }

  // Watches one directory. Only the root may be reached over a link.
  Result<void> add(const std::string& name, uint32_t mask) {
    if (guest_.watched >= kMostWatched)
      return refuse(Code::exhausted, "too many directories are being watched");
    int number =
        ::inotify_add_watch(socket.get(), path_of(name).c_str(),
                            mask | (name.empty() ? 0U : static_cast<uint32_t>(IN_DONT_FOLLOW)));
    if (number < 0) return refuse_errno(errno, cat("watch '", path_of(name), "'"));
    if (directories_.insert_or_assign(number, name).second) ++guest_.watched;
    return {};
  }

  // Watches all directories beneath. What is found in a directory that is itself new is reported as
  // created, since it may be older than the watch.
  Result<void> add_beneath(const std::string& name, std::vector<Change>* changes, int depth) {
    if (depth > kDeepest) return {};
    std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path_of(name).c_str()), ::closedir);
    if (!directory) return {};
    while (dirent* entry = ::readdir(directory.get())) {
      std::string_view child = entry->d_name;
      if (child == "." || child == "..") continue;
      std::string inner = beneath(name, std::string(child));
      if (changes && changes->size() < kMostAtOnce) changes->push_back({inner, "create"});
      struct stat info;
      bool is_directory = entry->d_type == DT_DIR;
      if (entry->d_type == DT_UNKNOWN)
        is_directory = ::lstat(path_of(inner).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
      if (!is_directory) continue;
      Result<void> added = add(inner, kMask);
      if (!added && added.error().code == Code::exhausted) return added.error();
      if (added) TRY(add_beneath(inner, changes, depth + 1));
    }
    return {};
  }

  // A directory that was moved away keeps its watches, whose names would be wrong from now on.
  void forget_beneath(const std::string& name) {
    for (const auto& [number, directory] : directories_)
      // Each removal is followed by an IN_IGNORED event, which takes it out of the table.
      if (directory == name || starts_with(directory, name + "/"))
        (void)::inotify_rm_watch(socket.get(), number);
  }

  void take(const inotify_event& event, const std::string& child, std::vector<Change>& changes) {
    if (event.mask & IN_Q_OVERFLOW) {
      changes.push_back({"", "overflow"});
      return;
    }
    auto found = directories_.find(event.wd);
    if (found == directories_.end()) return;
    if (event.mask & IN_IGNORED) {
      directories_.erase(found);
      --guest_.watched;
      return;
    }
    bool own = event.mask & (IN_DELETE_SELF | IN_MOVE_SELF) || child.empty();
    std::string name =
        own ? (found->second.empty() ? "." : found->second) : beneath(found->second, child);
    if (own && !found->second.empty()) return;  // its parent tells of it
    bool is_directory = event.mask & IN_ISDIR && !own;
    if (event.mask & (IN_CREATE | IN_MOVED_TO)) changes.push_back({name, "create"});
    if (event.mask & IN_MODIFY) changes.push_back({name, "write"});
    if (event.mask & IN_ATTRIB) changes.push_back({name, "chmod"});
    if (event.mask & (IN_MOVED_FROM | IN_MOVE_SELF)) changes.push_back({name, "rename"});
    if (event.mask & (IN_DELETE | IN_DELETE_SELF)) changes.push_back({name, "remove"});
    if (!recursive_ || !is_directory) return;
    if (event.mask & IN_MOVED_FROM) forget_beneath(name);
    if (!(event.mask & (IN_CREATE | IN_MOVED_TO))) return;
    Result<void> added = add(name, kMask);
    if (added) added = add_beneath(name, event.mask & IN_CREATE ? &changes : nullptr, 0);
    if (!added && added.error().code == Code::exhausted) changes.push_back({"", "overflow"});
  }

  Guest& guest_;
  std::string root_;
  bool recursive_;
  std::map<int, std::string> directories_;  // relative; "" is the root
};

// What was removed or renamed has no entry any more.
Value message_of(const Watch& watch, const Change& change, Describer* describer) {
  Value message;
  message.set("name", change.name);
  message.set("type", change.type);
  std::string_view type = change.type;
  if (!describer || (type != "create" && type != "write" && type != "chmod")) return message;
  Result<Value> entry = describer->at(watch.path_of(change.name == "." ? "" : change.name));
  if (entry) message.set("entry", std::move(entry).value());
  return message;
}

// Checked first, so that the error names what is wrong with the path.
Result<void> check_watchable(const std::string& path, bool network_mounts) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return refuse(Code::not_found, cat("path '", path, "' does not exist"));
    return refuse_errno(errno, cat("watch '", path, "'"));
  }
  if (!S_ISDIR(info.st_mode)) return refuse(Code::invalid, cat("path is not a directory: ", path));
  if (!network_mounts && is_on_network(path))
    return refuse(Code::invalid, cat("cannot watch path on network filesystem: ", path));
  return {};
}

}  // namespace

Answer watch_directory(Guest& guest, CallPointer call) {
  Result<Place> place = place_in(guest, call->request);
  if (!place) co_return place.error();
  Result<bool> recursive = flag_of(call->request, "recursive"),
               entries = flag_of(call->request, "entries"),
               network = flag_of(call->request, "network_mounts");
  if (!recursive) co_return recursive.error();
  if (!entries) co_return entries.error();
  if (!network) co_return network.error();
  Result<void> usable = check_watchable(place.value().path, network.value());
  if (!usable) co_return usable.error();
  auto watch = std::make_shared<Watch>(guest, place.value().path, recursive.value());
  Result<void> begun = watch->begin();
  if (!begun) co_return begun.error();
  std::weak_ptr<Watch> weak = watch;
  call->on_change = [weak, call_pointer = call.get()] {
    std::shared_ptr<Watch> watch = weak.lock();
    if (watch && call_pointer->cancelled()) watch->socket.nudge();
  };
  Value started;
  started.set("started", true);
  (void)co_await call->message(std::move(started));
  while (!call->cancelled()) {
    alignas(inotify_event) char bytes[4096];
    ssize_t count = ::read(watch->socket.get(), bytes, sizeof bytes);
    if (count <= 0) {
      watch->socket.not_readable();
      (void)co_await watch->socket.readable();
      continue;
    }
    std::vector<Change> changes;
    watch->read(bytes, static_cast<size_t>(count), changes);
    std::unique_ptr<Describer> describer =
        entries.value() ? std::make_unique<Describer>() : nullptr;
    for (const Change& change : changes) {
      Value message = message_of(*watch, change, describer.get());
      (void)co_await call->message(std::move(message));
    }
    co_await guest.loop.yield();
  }
  co_return Value();
}

}  // namespace paddock::guest
