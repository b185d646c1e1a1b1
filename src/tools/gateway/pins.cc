#include "tools/gateway/pins.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/event.h"
#include "base/fd.h"
#include "base/text.h"
#include "store/durable.h"
#include "tools/private_directory.h"

namespace paddock::tools {

namespace {

constexpr char kFormat[] = "paddock pins";

// The number of identities of one server that are remembered.
constexpr size_t kMostSets = 32;

// In bytes: as much as a record may have.
constexpr size_t kLargestFile = 4 << 20;

// A hash may be shortened to so many digits on the command line.
constexpr size_t kShortestHash = 12;
// Milliseconds for the lock; the gateway's loop waits for all of it.
constexpr int64_t kMostWait = 500;

std::string now_text() { return rfc3339(wall_clock_us(), 0); }

// The name comes from a policy or a command line, and must not lead to another directory.
Result<std::string> file_name(const std::string& server) {
  bool plain = !server.empty() && server.size() <= 64;
  for (char c : server)
    plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-');
  if (!plain)
    return Error{Code::invalid, cat("'", printable(server), "' is not a server's name"),
                 "letters, digits, '_' and '-'"};
  return server + ".json";
}

// Any set that cannot be read makes the whole file unreadable: fail closed.
Result<std::vector<PinSet>> read_sets(int directory, const std::string& name) {
  Result<Value> record = store::read_record(directory, name, kFormat);
  if (!record) return record.error();
  const Value* listed = record.value().find("sets");
  if (!listed || !listed->as_array())
    return Error{Code::invalid, cat("read '", name, "': no sets of pins in it"), ""};
  std::vector<PinSet> sets;
  for (const Value& value : *listed->as_array()) sets.push_back(TRY(pin_set_of(value)));
  return sets;
}

// Written durably before anybody is told that a change is accepted.
Result<void> write_sets(int directory, const std::string& server, const std::vector<PinSet>& sets) {
  Value record, listed = Value::Array{};
  for (const PinSet& set : sets) listed.as_array()->push_back(to_value(set));
  record.set("format", kFormat);
  record.set("version", 1);
  record.set("server", server);
  record.set("sets", std::move(listed));
  if (to_json(record).size() >= kLargestFile)
    return Error{Code::exhausted,
                 cat("keep the pins of '", server, "': more than 4M of definitions"),
                 cat("start afresh: paddock mcp forget ", server)};
  return store::write_record(directory, server + ".json", record, store::Durability::on_disk);
}

// One process at a time reads and writes; held for as long as that takes.
struct Locked {
  Fd directory, lock;
};

// The lock is a file of its own, because the files with pins are replaced by renaming.
Result<Locked> lock_pins(const std::string& path) {
  Locked locked{TRY(open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)), {}};
  locked.lock = Fd(
      ::openat(locked.directory.get(), ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!locked.lock) return errno_error(errno, "open the lock of the pins");
  int failed = wait_for_lock(locked.lock.get(), kMostWait);
  if (failed != 0) return not_locked(failed, "lock the pins");
  return locked;
}

// Each identity has its own set, so that a policy can change between two commands.
PinSet* set_of(std::vector<PinSet>& sets, const Value& identity) {
  std::string wanted = definition_hash(identity);
  for (PinSet& set : sets)
    if (definition_hash(set.identity) == wanted) return &set;
  return nullptr;
}

// All pins of one snapshot have the same time.
std::map<std::string, Pin> pins_from(const std::map<std::string, Value>& definitions) {
  std::map<std::string, Pin> pins;
  std::string since = now_text();
  for (const auto& [name, definition] : definitions)
    pins[name] = {definition_hash(definition), since, definition};
  return pins;
}

// What of the definitions is not what was pinned. Says in `verdict` what must not be used, and what
// has gone.
std::map<std::string, Pin> compare(PinChange::Kind kind, const std::map<std::string, Pin>& pinned,
                                   const std::map<std::string, Value>& seen,
                                   std::map<std::string, PinChange>& withheld,
                                   std::vector<PinChange>& removed) {
  std::map<std::string, Pin> pending;
  for (auto& [name, pin] : pins_from(seen)) {
    auto before = pinned.find(name);
    if (before != pinned.end() && before->second.hash == pin.hash) continue;
    withheld[name] = change_between(
        kind, name, before == pinned.end() ? Value() : before->second.definition, pin.definition);
    pending[name] = pin;
  }
  for (const auto& [name, pin] : pinned)
    if (!seen.count(name)) removed.push_back(change_between(kind, name, pin.definition, Value()));
  return pending;
}

// By hash: the times do not matter.
bool same_pins(const std::map<std::string, Pin>& a, const std::map<std::string, Pin>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.hash == y.second.hash;
  });
}

// What is seen first is trusted.
PinSet first_set(const Snapshot& snapshot) {
  PinSet set{.identity = snapshot.identity,
             .accepted = true,
             .since = now_text(),
             .instructions = snapshot.instructions};
  set.tools = pins_from(snapshot.tools);
  set.prompts = pins_from(snapshot.prompts);
  return set;
}

// Room for a set that nobody has accepted yet: the oldest of its kind goes.
Result<PinSet*> add_pending_set(std::vector<PinSet>& sets, const Value& identity,
                                const std::string& server) {
  if (sets.size() >= kMostSets) {
    auto oldest =
        std::find_if(sets.begin(), sets.end(), [](const PinSet& set) { return !set.accepted; });
    if (oldest == sets.end())
      return Error{Code::exhausted,
                   cat("keep the pins of '", server, "': ", kMostSets,
                       " commands or URLs under this name were accepted already"),
                   cat("start afresh: paddock mcp forget ", server)};
    sets.erase(oldest);
  }
  sets.push_back({.identity = identity, .since = now_text()});
  return &sets.back();
}

}  // namespace

// Makes the directories, so that later errors are about the files alone.
Result<Pins> Pins::open(const std::string& state_directory) {
  Fd top = TRY(open_file(state_directory, O_RDONLY | O_DIRECTORY));
  Fd tools = TRY(store::open_directory(top.get(), "tools"));
  (void)TRY(store::open_directory(tools.get(), "pins"));
  return Pins(state_directory + "/tools/pins");
}

// The file is written only when something has changed.
Result<Verdict> Pins::see(const std::string& server, const Snapshot& snapshot) const {
  std::string name = TRY(file_name(server));
  Locked locked = TRY(lock_pins(directory_));
  Result<std::vector<PinSet>> found = read_sets(locked.directory.get(), name);
  if (!found && found.error().code != Code::not_found) return found.error();
  Verdict verdict;
  if (!found) {
    verdict.first_sight = true;
    TRY(write_sets(locked.directory.get(), server, {first_set(snapshot)}));
    return verdict;
  }
  std::vector<PinSet>& sets = found.value();
  PinSet* set = set_of(sets, snapshot.identity);
  bool added = !set;
  if (!set) set = TRY(add_pending_set(sets, snapshot.identity, server));
  PinSet before = *set;
  set->pending_instructions.reset();
  if (set->instructions != snapshot.instructions) {
    verdict.instructions =
        change_between(PinChange::Kind::instructions, "", set->instructions, snapshot.instructions);
    set->pending_instructions = snapshot.instructions;
  }
  set->pending_tools =
      compare(PinChange::Kind::tool, set->tools, snapshot.tools, verdict.tools, verdict.removed);
  set->pending_prompts = compare(PinChange::Kind::prompt, set->prompts, snapshot.prompts,
                                 verdict.prompts, verdict.removed);
  if (!set->accepted)
    verdict.all =
        "it is not the server that was pinned under this name (another command or URL, or it calls "
        "itself something else)";
  if (added || before.pending_instructions != set->pending_instructions ||
      !same_pins(before.pending_tools, set->pending_tools) ||
      !same_pins(before.pending_prompts, set->pending_prompts))
    TRY(write_sets(locked.directory.get(), server, sets));
  return verdict;
}

// Names of files are names of servers, which file_name() has checked.
Result<std::vector<std::string>> Pins::servers() const {
  std::vector<std::string> names;
  DIR* directory = ::opendir(directory_.c_str());
  if (!directory) return errno_error(errno, cat("open '", printable(directory_), "'"));
  while (dirent* entry = ::readdir(directory)) {
    std::string name = entry->d_name;
    if (name[0] != '.' && ends_with(name, ".json"))
      names.push_back(name.substr(0, name.size() - 5));
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<PinSet>> Pins::read(const std::string& server) const {
  std::string name = TRY(file_name(server));
  Locked locked = TRY(lock_pins(directory_));
  Result<std::vector<PinSet>> sets = read_sets(locked.directory.get(), name);
  if (!sets && sets.error().code == Code::not_found)
    return Error{Code::not_found, cat("nothing is pinned of '", server, "'"),
                 "see: paddock mcp pins"};
  return sets;
}

// Nothing is written unless all that was wanted could be accepted: a wrong name or hash leaves the
// file as it is.
Result<std::vector<PinChange>> Pins::accept(const std::string& server,
                                            const std::vector<std::string>& wanted) const {
  std::string file = TRY(file_name(server));
  Locked locked = TRY(lock_pins(directory_));
  Result<std::vector<PinSet>> found = read_sets(locked.directory.get(), file);
  if (!found && found.error().code == Code::not_found)
    return Error{Code::not_found, cat("nothing is pinned of '", server, "'"),
                 "see: paddock mcp pins"};
  if (!found) return found.error();
  std::vector<PinSet>& sets = found.value();
  std::vector<PinChange> accepted;
  std::vector<bool> used(wanted.size(), false);
  // What is pending by a wanted name, but with another hash than the one that was looked at.
  std::vector<std::string> other_hash(wanted.size());
  auto is_wanted = [&](const PinChange& change) {
    if (wanted.empty()) return true;
    for (size_t i = 0; i < wanted.size(); ++i) {
      size_t equals = wanted[i].find('=');
      if (wanted[i].substr(0, equals) != change.name) continue;
      std::string hash = equals == std::string::npos ? "" : wanted[i].substr(equals + 1);
      if (equals != std::string::npos &&
          (hash.size() < kShortestHash || !starts_with(change.hash, hash))) {
        other_hash[i] = change.hash.substr(0, kShortestHash);
        continue;
      }
      used[i] = true;
      return true;
    }
    return false;
  };
  auto take = [&](std::map<std::string, Pin>& pinned, std::map<std::string, Pin>& pending,
                  const std::string& name) {
    pinned[name] = pending[name];
    pinned[name].since = now_text();
    pending.erase(name);
  };
  for (PinSet& set : sets) {
    std::vector<PinChange> changes = set.changes();
    // A server that was not pinned is accepted as a whole, or with the tools that are named.
    bool any =
        wanted.empty() || std::any_of(changes.begin(), changes.end(), [&](const PinChange& change) {
          return !change.name.empty() && is_wanted(change);
        });
    for (PinChange& change : changes) {
      bool of_the_server =
          change.kind == PinChange::Kind::server || change.kind == PinChange::Kind::instructions;
      if (of_the_server ? !(wanted.empty() ||
                            (any && !set.accepted && change.kind == PinChange::Kind::server))
                        : !is_wanted(change))
        continue;
      if (change.kind == PinChange::Kind::server) set.accepted = true;
      if (change.kind == PinChange::Kind::instructions)
        set.instructions = *set.pending_instructions, set.pending_instructions.reset();
      if (change.kind == PinChange::Kind::tool) take(set.tools, set.pending_tools, change.name);
      if (change.kind == PinChange::Kind::prompt)
        take(set.prompts, set.pending_prompts, change.name);
      accepted.push_back(std::move(change));
    }
  }
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!used[i] && !other_hash[i].empty())
      return Error{Code::conflict,
                   cat("accept '", printable(wanted[i]), "': what is pending now has the hash ",
                       other_hash[i]),
                   cat("look at it again: paddock mcp pins ", server)};
    else if (!used[i])
      return Error{Code::not_found,
                   cat("accept '", printable(wanted[i]), "': no tool or prompt of '", server,
                       "' with this name waits for it"),
                   cat("see: paddock mcp pins ", server)};
  if (!accepted.empty()) TRY(write_sets(locked.directory.get(), server, sets));
  return accepted;
}

Result<void> Pins::forget(const std::string& server) const {
  std::string name = TRY(file_name(server));
  Locked locked = TRY(lock_pins(directory_));
  if (::unlinkat(locked.directory.get(), name.c_str(), 0) != 0) {
    if (errno == ENOENT)
      return Error{Code::not_found, cat("nothing is pinned of '", server, "'"),
                   "see: paddock mcp pins"};
    return errno_error(errno, cat("remove the pins of '", server, "'"));
  }
  return {};
}

// Cheap to compare: the gateway looks at it every second.
std::string Pins::stamp(const std::string& server) const {
  struct stat info;
  if (::lstat(cat(directory_, "/", server, ".json").c_str(), &info) != 0) return "none";
  return cat(info.st_ino, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ", info.st_size);
}

}  // namespace paddock::tools
