#include "store/change_set.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/record.h"
#include "base/text.h"
#include "linux/tree.h"
#include "store/state.h"

namespace paddock::store {

namespace {

constexpr size_t kIdLength = 10;
constexpr char kMeta[] = "meta.json";
constexpr auto kMetaFields =
    std::make_tuple(field("started_seconds", &ChangeSet::started_seconds),
                    field("started_nanoseconds", &ChangeSet::started_nanoseconds),
                    field("owner_uid", &ChangeSet::owner_uid),
                    field("owner_gid", &ChangeSet::owner_gid), field("deny", &ChangeSet::deny));

// Checked before an id becomes part of a path.
bool is_id(const std::string& id) {
  return id.size() == kIdLength &&
         id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos;
}

// An id that is malformed gets the same answer as one that is unknown.
Error unknown(const std::string& id) {
  return Error{Code::not_found,
               cat("open change set '", printable(id), "': there is none of that name"),
               "list them with: paddock diff"};
}

// The record of the set is JSON, which has UTF-8 only.
Result<void> must_be_text(const std::string& text, std::string_view what) {
  bool changed = false;
  (void)to_utf8(text, &changed);
  if (changed)
    return Error{Code::invalid,
                 cat(what, " '", printable(text), "': not UTF-8, which a change set cannot record"),
                 ""};
  return {};
}

// An upper directory below the lower one is refused by the kernel (ELOOP); say so in words.
Result<void> must_not_contain(const struct stat& workspace, int state) {
  Fd here(::openat(state, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (struct stat last{}; here;) {
    struct stat info;
    if (::fstat(here.get(), &info) != 0) return errno_error(errno, "stat the state directory");
    if (info.st_dev == workspace.st_dev && info.st_ino == workspace.st_ino)
      return Error{Code::invalid,
                   "make a change set: Paddock's state directory lies inside the workspace",
                   "set PADDOCK_STATE to a directory outside"};
    if (info.st_dev == last.st_dev && info.st_ino == last.st_ino) break;
    last = info;
    here = Fd(::openat(here.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return {};
}

// The overlay shows the mode of `upper` as the mode of the workspace's root.
Result<void> make_layer(int directory, const std::string& name, unsigned mode,
                        const NewChangeSet& wanted) {
  if (::mkdirat(directory, name.c_str(), 0700) != 0)
    return errno_error(errno, cat("make '", name, "'"));
  Fd fd = TRY(kernel::open_beneath(directory, name, O_RDONLY | O_DIRECTORY));
  bool give_away = wanted.owner_uid >= 0 && static_cast<uid_t>(wanted.owner_uid) != ::geteuid();
  if (give_away && ::fchown(fd.get(), static_cast<uid_t>(wanted.owner_uid),
                            static_cast<gid_t>(wanted.owner_gid)) != 0)
    return errno_error(errno, cat("give '", name, "' to user ", wanted.owner_uid));
  if (::fchmod(fd.get(), (mode & 0777) | 0700) != 0)
    return errno_error(errno, cat("set the mode of '", name, "'"));
  return {};
}

std::string meta_of(const ChangeSet& set) {
  Value meta = Value::Object{{"version", 1}, {"id", set.id}, {"workspace", set.workspace}};
  meta.set("device", std::to_string(set.device));  // 64 bits do not fit a JSON number
  meta.set("inode", std::to_string(set.inode));
  write_fields(kMetaFields, set, meta);
  return to_json(meta, true) + "\n";
}

// Numbers of 64 bits are kept as texts.
Result<uint64_t> wide_number(const Value& meta, const char* key) {
  std::string text = text_in(meta, key);
  uint64_t number = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size())
    return Error{Code::invalid, cat(kMeta, ": '", key, "' is not a number"), ""};
  return number;
}

// A record of another version is refused: a wrong guess could overwrite somebody's files.
Result<void> read_meta(const std::string& text, ChangeSet& set) {
  Value meta = TRY(parse_json(text, kMeta));
  if (number_in(meta, "version") != 1)
    return Error{Code::unsupported, cat(kMeta, ": made by another version of Paddock"), ""};
  set.workspace = text_in(meta, "workspace");
  if (set.workspace.empty())
    return Error{Code::invalid, cat(kMeta, ": 'workspace' is missing"), ""};
  set.device = TRY(wide_number(meta, "device"));
  set.inode = TRY(wide_number(meta, "inode"));
  return read_record(kMetaFields, meta, set, kMeta);
}

// The run holds the lock for as long as it lives.
bool in_use(int directory) {
  if (::flock(directory, LOCK_SH | LOCK_NB) != 0) return true;
  (void)::flock(directory, LOCK_UN);
  return false;
}

bool is_later(const timespec& time, const ChangeSet& set) {
  return time.tv_sec != set.started_seconds ? time.tv_sec > set.started_seconds
                                            : time.tv_nsec > set.started_nanoseconds;
}

// Files are stamped by a clock that moves in ticks (1 to 10 ms). Waiting for the next one makes the
// start exact: what was written before is stamped no later, what is written while the program runs
// is stamped later.
Result<void> take_start_time(ChangeSet& set) {
  timespec now;
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0) return errno_error(errno, "read the clock");
  set.started_seconds = now.tv_sec;
  set.started_nanoseconds = now.tv_nsec;
  for (int tries = 0; tries < 200; ++tries) {
    if (::clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0)
      return errno_error(errno, "read the clock");
    if (is_later(now, set)) return {};
    timespec pause{0, 200'000};
    (void)::nanosleep(&pause, nullptr);
  }
  return Error{Code::io, "make a change set: the clock does not move", ""};
}

// Fills a set whose directory exists; what fails leaves the directory to the caller.
Result<void> fill(ChangeSet& set, const NewChangeSet& wanted, const struct stat& workspace) {
  if (::flock(set.directory.get(), LOCK_EX | LOCK_NB) != 0)
    return errno_error(errno, "lock the change set");
  // Both layers have to be on one mount, so the launcher binds `layers`: the program's user may
  // pass through it, but sees nothing else of the set.
  if (::mkdirat(set.directory.get(), "layers", 0700) != 0)
    return errno_error(errno, "make 'layers'");
  Fd layers = TRY(kernel::open_beneath(set.directory.get(), "layers", O_RDONLY | O_DIRECTORY));
  if (wanted.owner_uid >= 0 && ::fchmod(layers.get(), 0711) != 0)
    return errno_error(errno, "set the mode of 'layers'");
  TRY(make_layer(layers.get(), "upper", workspace.st_mode, wanted));
  TRY(make_layer(layers.get(), "work", 0700, wanted));
  TRY(take_start_time(set));
  return write_file(set.directory.get(), kMeta, meta_of(set));
}

}  // namespace

// The workspace is identified by device and inode, so that a directory that is swapped later is
// noticed. Nothing is left behind if this fails.
Result<ChangeSet> create_change_set(const NewChangeSet& wanted) {
  if (!starts_with(wanted.workspace, "/"))
    return Error{Code::invalid,
                 cat("workspace '", printable(wanted.workspace), "': not an absolute path"), ""};
  TRY(must_be_text(wanted.workspace, "workspace"));
  for (const std::string& pattern : wanted.deny) TRY(must_be_text(pattern, "deny"));
  Fd workspace = TRY(open_file(wanted.workspace, O_PATH | O_DIRECTORY));
  struct stat info;
  if (::fstat(workspace.get(), &info) != 0)
    return errno_error(errno, cat("stat '", printable(wanted.workspace), "'"));
  StateDirectory state = TRY(open_state("changes"));
  TRY(must_not_contain(info, state.fd.get()));

  ChangeSet set;
  set.id = TRY(random_name(kIdLength));
  set.workspace = wanted.workspace;
  set.upper = cat(state.path, "/", set.id, "/layers/upper");
  set.work = cat(state.path, "/", set.id, "/layers/work");
  set.device = info.st_dev;
  set.inode = info.st_ino;
  set.owner_uid = info.st_uid;
  set.owner_gid = info.st_gid;
  set.deny = wanted.deny;
  if (wanted.about_to_make) wanted.about_to_make(cat(state.path, "/", set.id));
  if (::mkdirat(state.fd.get(), set.id.c_str(), 0700) != 0)
    return errno_error(errno, "make a change set");
  set.directory = TRY(kernel::open_beneath(state.fd.get(), set.id, O_RDONLY | O_DIRECTORY));
  Result<void> filled = fill(set, wanted, info);
  if (!filled) {
    (void)kernel::remove_tree(state.fd.get(), set.id);
    return filled.error();
  }
  return set;
}

// The paths are made from the id again, since the state directory may have been moved.
Result<ChangeSet> open_change_set(const std::string& id) {
  if (!is_id(id)) return unknown(id);
  StateDirectory state = TRY(open_state("changes"));
  Result<Fd> directory = kernel::open_beneath(state.fd.get(), id, O_RDONLY | O_DIRECTORY);
  if (!directory)
    return directory.error().code == Code::not_found ? unknown(id) : directory.error();
  ChangeSet set;
  set.id = id;
  set.directory = std::move(directory).value();
  set.upper = cat(state.path, "/", id, "/layers/upper");
  set.work = cat(state.path, "/", id, "/layers/work");
  Fd meta = TRY(kernel::open_beneath(set.directory.get(), kMeta, O_RDONLY));
  Result<void> read = read_meta(TRY(read_all(meta.get(), 1 << 20)), set);
  if (!read) {
    read.error().message = cat("open change set '", id, "': ", read.error().message);
    return read.error();
  }
  return set;
}

// A set that cannot be read is listed with its problem, so that it can be discarded.
Result<std::vector<ChangeSetInfo>> list_change_sets() {
  StateDirectory state = TRY(open_state("changes"));
  std::vector<ChangeSetInfo> sets;
  for (const std::string& id : TRY(kernel::list_directory(state.fd.get()))) {
    if (!is_id(id)) continue;
    Result<ChangeSet> set = open_change_set(id);
    if (set) {
      sets.push_back({id, set.value().workspace, set.value().started_seconds,
                      in_use(set.value().directory.get()), ""});
    } else {
      sets.push_back({id, "", 0, false, set.error().message});
    }
  }
  std::stable_sort(sets.begin(), sets.end(), [](const ChangeSetInfo& a, const ChangeSetInfo& b) {
    return a.started_seconds < b.started_seconds;
  });
  return sets;
}

// Takes the lock first, so that a run that is under way keeps its files.
Result<void> discard_change_set(const std::string& id) {
  if (!is_id(id)) return unknown(id);
  StateDirectory state = TRY(open_state("changes"));
  Result<Fd> directory = kernel::open_beneath(state.fd.get(), id, O_RDONLY | O_DIRECTORY);
  if (!directory)
    return directory.error().code == Code::not_found ? unknown(id) : directory.error();
  if (::flock(directory.value().get(), LOCK_EX | LOCK_NB) != 0)
    return Error{Code::conflict, cat("discard change set '", id, "': its run has not ended"), ""};
  return kernel::remove_tree(state.fd.get(), id);
}

// The caller holds the lock, so there is nothing to wait for.
Result<void> discard_change_set(ChangeSet&& set) {
  StateDirectory state = TRY(open_state("changes"));
  Result<void> removed = kernel::remove_tree(state.fd.get(), set.id);
  set.directory.reset();
  return removed;
}

Result<void> lock_change_set(const ChangeSet& set) {
  if (::flock(set.directory.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK)
    return Error{
        Code::conflict,
        cat("lock change set '", set.id, "': its run has not ended, or it is being applied"),
        "wait for it"};
  return errno_error(errno, cat("lock change set '", set.id, "'"));
}

// Everything below is reached through these descriptors.
Result<Trees> open_trees(const ChangeSet& set) {
  Trees trees;
  trees.upper =
      TRY(kernel::open_beneath(set.directory.get(), "layers/upper", O_RDONLY | O_DIRECTORY));
  trees.workspace = TRY(open_file(set.workspace, O_RDONLY | O_DIRECTORY));
  struct stat info;
  if (::fstat(trees.workspace.get(), &info) != 0)
    return errno_error(errno, cat("stat '", printable(set.workspace), "'"));
  if (info.st_dev != set.device || info.st_ino != set.inode)
    return Error{Code::conflict,
                 cat("open the workspace '", printable(set.workspace),
                     "': it is not the directory the run saw"),
                 "move the original back, or copy what you need out of the change set by hand"};
  return trees;
}

// The ctime shows every change, since no program can set it. A later mtime counts as well, to be on
// the safe side.
bool changed_since_start(const ChangeSet& set, const struct stat& host) {
  return is_later(host.st_ctim, set) || is_later(host.st_mtim, set);
}

// Paths are separated by NUL, the only byte that cannot be part of one.
Result<std::vector<std::string>> applied_paths(const ChangeSet& set) {
  Result<Fd> file = kernel::open_beneath(set.directory.get(), "applied", O_RDONLY);
  if (!file && file.error().code == Code::not_found) return std::vector<std::string>();
  if (!file) return file.error();
  std::vector<std::string> paths = split(TRY(read_all(file.value().get(), size_t{1} << 30)), '\0');
  paths.pop_back();  // empty, or cut short by a crash
  return paths;
}

// Appended after each file, so that an interrupted `apply` goes on where it stopped.
Result<void> remember_applied(const ChangeSet& set, const std::string& path) {
  Fd file = TRY(
      kernel::open_beneath(set.directory.get(), "applied", O_WRONLY | O_CREAT | O_APPEND, 0600));
  return write_all(file.get(), path + '\0');
}

}  // namespace paddock::store
