#include "tools/decide/approvals.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/random_name.h"
#include "base/text.h"
#include "io/bell.h"
#include "mcp/edit.h"
#include "store/state.h"
#include "tools/private_directory.h"

namespace paddock::tools {

namespace {

using io::Task;

constexpr int64_t kMillisecond = 1'000'000;
constexpr io::Milliseconds kLookAgain = 200;
constexpr size_t kIdLength = 8, kLargestFile = 256 << 10;
constexpr const char* kSuffix = ".json";
constexpr int64_t kMostWait = 1500;  // milliseconds; who holds the lock does so for a few

// As it stands in its file.
struct Kept {
  Approval approval;
  std::string boot;
};

bool is_id(std::string_view text) {
  return text.size() == kIdLength &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567") == std::string_view::npos;
}

Value to_file(const Kept& kept) {
  Value value = to_value(kept.approval);
  value.set("boot", kept.boot);
  value.set("ends_since_boot_ms", kept.approval.ends_since_boot_ms);
  return value;
}

std::optional<Kept> from_file(const std::string& text) {
  Result<Value> parsed = parse_json(text, "approval");
  if (!parsed || !parsed.value().as_object()) return std::nullopt;
  const Value& value = parsed.value();
  Kept kept;
  Approval& approval = kept.approval;
  std::string state = text_in(value, "state");
  if (state == "waiting")
    approval.state = Approval::State::waiting;
  else if (state == "approved")
    approval.state = Approval::State::approved;
  else if (state == "denied")
    approval.state = Approval::State::denied;
  else
    return std::nullopt;
  approval.id = text_in(value, "id");
  approval.tool = text_in(value, "tool");
  approval.agent = text_in(value, "agent");
  if (const Value* arguments = value.find("arguments")) approval.arguments = *arguments;
  if (const Value* hidden = value.find("hidden")) approval.hidden = *hidden;
  approval.hash = text_in(value, "hash");
  approval.why = text_in(value, "why");
  approval.asked_ms = number_in(value, "asked_ms");
  approval.expires_ms = number_in(value, "expires_ms");
  approval.remember_ms = number_in(value, "remember_ms");
  kept.boot = text_in(value, "boot");
  approval.ends_since_boot_ms = number_in(value, "ends_since_boot_ms");
  if (!is_id(approval.id) || approval.hash.size() != 64) return std::nullopt;
  return kept;
}

Error no_such(const std::string& id) {
  return {Code::not_found,
          cat("there is no approval '", printable(id.substr(0, 100)),
              "': it was used, its time is over, or it never was"),
          "see what waits: paddock approve"};
}

}  // namespace

const char* to_string(Approval::State state) {
  switch (state) {
    case Approval::State::waiting: return "waiting";
    case Approval::State::approved: return "approved";
    case Approval::State::denied: return "denied";
    case Approval::State::expired: return "expired";
  }
  return "unknown";
}

std::string hidden_words(const Approval& approval) {
  const Value* parts = approval.hidden.as_object() ? approval.hidden.find("parts") : nullptr;
  if (!parts || !parts->as_int()) return "";
  return cat(*parts->as_int(), *parts->as_int() == 1 ? " part is" : " parts are",
             " hidden here: it looks like a secret. The call has all of it, ",
             number_in(approval.hidden, "bytes"), " bytes of arguments");
}

Value to_value(const Approval& approval) {
  Value value;
  value.set("id", approval.id);
  value.set("state", to_string(approval.state));
  value.set("tool", approval.tool);
  value.set("agent", approval.agent);
  value.set("arguments", approval.arguments);
  if (!approval.hidden.is_null()) value.set("hidden", approval.hidden);
  value.set("hash", approval.hash);
  if (!approval.why.empty()) value.set("why", approval.why);
  value.set("asked_ms", approval.asked_ms);
  value.set("expires_ms", approval.expires_ms);
  if (approval.remember_ms) value.set("remember_ms", approval.remember_ms);
  return value;
}

struct Approvals::State {
  std::string path;
  Clocks clocks;
  Fd directory, lock;
  std::multimap<std::string, io::Bell*> bells;  // of who waits in this process, by id
  // Files that were read before and have not changed since; without arguments. A word is always
  // taken from the file itself.
  struct Known {
    ino_t inode = 0;
    off_t size = 0;
    timespec changed{};
    std::optional<Kept> kept;
  };
  mutable std::map<std::string, Known> known;  // by id

  int64_t of_day_ms() const { return clocks.time_of_day_ns() / kMillisecond; }
  int64_t since_boot_ms() const { return clocks.since_boot_ns() / kMillisecond; }
  bool is_over(const Kept& kept) const {
    return kept.boot != clocks.boot || since_boot_ms() >= kept.approval.ends_since_boot_ms ||
           of_day_ms() >= kept.approval.expires_ms;
  }
  void holds_for(Kept& kept, int64_t duration_ms) const {
    duration_ms = std::max<int64_t>(0, duration_ms);
    kept.approval.expires_ms = of_day_ms() + duration_ms;
    kept.approval.ends_since_boot_ms = since_boot_ms() + duration_ms;
    kept.boot = clocks.boot;
  }

  // Empty: what is there is no approval. The error arm: it could not be read now, or is not there.
  Result<std::optional<Kept>> read_file(const std::string& id) const {
    Fd file(::openat(directory.get(), (id + kSuffix).c_str(),
                     O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!file) return errno_error(errno, cat("read the approval '", id, "'"));
    Result<std::string> text = read_all(file.get(), kLargestFile);
    if (!text) return text.error();
    std::optional<Kept> kept = from_file(text.value());
    if (kept && kept->approval.id != id) kept.reset();
    return kept;
  }
  std::optional<Kept> read(const std::string& id) const {
    if (!is_id(id)) return std::nullopt;
    Result<std::optional<Kept>> kept = read_file(id);
    if (!kept || !kept.value() || is_over(*kept.value())) return std::nullopt;
    return std::move(kept.value());
  }
  Result<void> write(const Kept& kept) const {
    return store::write_file(directory.get(), kept.approval.id + kSuffix,
                             to_json(to_file(kept)) + "\n");
  }
  Result<void> remove(const std::string& id) const {
    if (::unlinkat(directory.get(), (id + kSuffix).c_str(), 0) != 0 && errno != ENOENT)
      return errno_error(errno, cat("remove the approval '", id, "'"));
    return {};
  }

  // All that hold, without their arguments. With `clean`, what is over or is no approval is
  // removed; only under the lock. What could not be read now stays.
  Result<std::vector<Kept>> all(bool clean) const {
    Fd again(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* entries = again ? ::fdopendir(again.get()) : nullptr;
    if (!entries) return errno_error(errno, cat("list '", printable(path), "'"));
    (void)again.release();
    std::vector<Kept> found;
    std::vector<std::string> over;
    std::map<std::string, Known> seen;
    while (dirent* entry = ::readdir(entries)) {
      std::string name = entry->d_name;
      if (name == "." || name == ".." || name == ".lock") continue;
      std::string id = ends_with(name, kSuffix) ? name.substr(0, name.size() - 5) : "";
      const Known* about = is_id(id) ? look_at(id, seen) : nullptr;
      if (about && about->kept && !is_over(*about->kept))
        found.push_back(*about->kept);
      else if (about || is_unfinished(name))
        over.push_back(name);
    }
    ::closedir(entries);
    if (clean)
      for (const std::string& name : over) (void)::unlinkat(directory.get(), name.c_str(), 0);
    known = std::move(seen);
    std::sort(found.begin(), found.end(), [](const Kept& a, const Kept& b) {
      return std::tie(a.approval.asked_ms, a.approval.id) <
             std::tie(b.approval.asked_ms, b.approval.id);
    });
    return found;
  }
  // Null: it cannot be read now.
  const Known* look_at(const std::string& id, std::map<std::string, Known>& seen) const {
    struct stat info;
    if (::fstatat(directory.get(), (id + kSuffix).c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return nullptr;
    auto before = known.find(id);
    bool is_same = before != known.end() && before->second.inode == info.st_ino &&
                   before->second.size == info.st_size &&
                   before->second.changed.tv_sec == info.st_ctim.tv_sec &&
                   before->second.changed.tv_nsec == info.st_ctim.tv_nsec;
    if (is_same) return &(seen[id] = std::move(before->second));
    Known fresh{.inode = info.st_ino, .size = info.st_size, .changed = info.st_ctim};
    Result<std::optional<Kept>> kept = read_file(id);
    bool may_be_one = S_ISREG(info.st_mode) && info.st_size <= static_cast<off_t>(kLargestFile);
    if (!kept && may_be_one) return nullptr;  // too many open files, say
    if (kept && kept.value()) fresh.kept = std::move(kept.value());
    if (fresh.kept) fresh.kept->approval.arguments = Value();
    return &(seen[id] = std::move(fresh));
  }
  // The one about this call, as it is now.
  Result<std::optional<Kept>> about(const std::string& hash) const {
    std::vector<Kept> everything = TRY(all(false));
    for (const Kept& kept : everything) {
      if (kept.approval.hash != hash) continue;
      std::optional<Kept> now = read(kept.approval.id);
      if (now && now->approval.hash == hash) return now;
    }
    return std::optional<Kept>();
  }
};

namespace {

// Everything that changes a file is done by one process at a time. Let go of by the kernel when
// that one dies; each change is one rename or unlink.
struct Held {
  int lock;
  ~Held() {
    if (lock >= 0) (void)::flock(lock, LOCK_UN);
  }
};
Result<void> take_lock(int lock) {
  int failed = wait_for_lock(lock, kMostWait);
  if (failed != 0) return not_locked(failed, "lock the approvals");
  return {};
}

}  // namespace

Approvals::Approvals(std::unique_ptr<State> state) : state_(std::move(state)) {}
Approvals::~Approvals() = default;

Result<std::unique_ptr<Approvals>> Approvals::open(const std::string& directory) {
  return open(directory, TRY(Clocks::of_this_host()));
}

Result<std::unique_ptr<Approvals>> Approvals::open(const std::string& directory, Clocks clocks) {
  auto state = std::make_unique<State>();
  state->path = directory;
  state->clocks = std::move(clocks);
  state->directory = TRY(open_private_directory(directory));
  state->lock = Fd(
      ::openat(state->directory.get(), ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!state->lock) return errno_error(errno, cat("open '", printable(directory), "/.lock'"));
  return std::unique_ptr<Approvals>(new Approvals(std::move(state)));
}

Result<Approval> Approvals::ask(Approval asked) {
  TRY(take_lock(state_->lock.get()));
  Held held{state_->lock.get()};
  std::vector<Kept> all = TRY(state_->all(true));
  size_t waiting = 0, of_agent = 0;
  for (const Kept& kept : all) {
    if (kept.approval.hash == asked.hash)
      if (std::optional<Kept> now = state_->read(kept.approval.id)) return std::move(now->approval);
    if (kept.approval.agent != asked.agent) continue;
    ++of_agent;
    if (kept.approval.state == Approval::State::waiting) ++waiting;
  }
  if (waiting >= kMostOfAnAgent)
    return Error{Code::exhausted,
                 cat("ask for an approval: ", waiting, " calls of this agent wait already"),
                 "wait until they are decided (paddock approve)"};
  if (of_agent >= kMostKeptOfAnAgent || all.size() >= kMostKept)
    return Error{Code::exhausted,
                 cat("ask for an approval: ", of_agent, " of this agent and ", all.size(),
                     " of all are kept already"),
                 "wait until the time of some is over"};
  Kept kept{.approval = std::move(asked)};
  kept.approval.id = TRY(store::random_name(kIdLength));
  kept.approval.state = Approval::State::waiting;
  int64_t duration = kept.approval.expires_ms - kept.approval.asked_ms;
  kept.approval.asked_ms = state_->of_day_ms();
  state_->holds_for(kept, duration);
  TRY(state_->write(kept));
  return kept.approval;
}

Task<Result<Approval>> Approvals::wait(io::Loop& loop, std::string id,
                                       std::function<bool()> given_up) {
  io::Bell bell(loop);
  auto place = state_->bells.emplace(id, &bell);
  struct Leave {
    State& state;
    std::multimap<std::string, io::Bell*>::iterator place;
    ~Leave() { state.bells.erase(place); }
  } leave{*state_, place};
  std::optional<Approval> last;
  while (true) {
    std::optional<Kept> kept = state_->read(id);
    if (!kept && last && last->expires_ms <= state_->of_day_ms()) {
      last->state = Approval::State::expired;
      co_return std::move(*last);
    }
    if (!kept) co_return no_such(id);
    if (kept->approval.state != Approval::State::waiting) co_return std::move(kept->approval);
    if (given_up && given_up()) {
      // Nobody should be asked about what nobody wants any more. Others that wait for the same ask
      // anew.
      if (take_lock(state_->lock.get())) {
        Held held{state_->lock.get()};
        std::optional<Kept> now = state_->read(id);
        if (now && now->approval.state == Approval::State::waiting) (void)state_->remove(id);
      }
      co_return Error{Code::conflict, "wait for an approval: the call was given up", ""};
    }
    last = std::move(kept->approval);
    (void)co_await bell.wait(loop.now() + kLookAgain);
  }
}

Result<std::optional<Approval>> Approvals::use(const std::string& hash) {
  TRY(take_lock(state_->lock.get()));
  Held held{state_->lock.get()};
  std::optional<Kept> kept = TRY(state_->about(hash));
  if (!kept || kept->approval.state != Approval::State::approved) return std::optional<Approval>();
  if (kept->approval.remember_ms == 0) TRY(state_->remove(kept->approval.id));
  return std::optional<Approval>(std::move(kept->approval));
}

Result<void> Approvals::put_back(const Approval& used) {
  if (used.remember_ms != 0) return {};  // it is still there
  TRY(take_lock(state_->lock.get()));
  Held held{state_->lock.get()};
  // With the end that it had.
  return state_->write({.approval = used, .boot = state_->clocks.boot});
}

Result<std::optional<Approval>> Approvals::about(const std::string& hash) const {
  std::optional<Kept> kept = TRY(state_->about(hash));
  return kept ? std::optional<Approval>(std::move(kept->approval)) : std::nullopt;
}

Result<std::vector<Approval>> Approvals::list() const {
  std::vector<Kept> all = TRY(state_->all(false));
  std::vector<Approval> approvals;
  for (const Kept& kept : all)
    if (std::optional<Kept> now = state_->read(kept.approval.id))
      approvals.push_back(std::move(now->approval));
  return approvals;
}

Result<Approval> Approvals::find(const std::string& id) const {
  std::optional<Kept> kept = state_->read(id);
  if (!kept) return no_such(id);
  return std::move(kept->approval);
}

Result<void> Approvals::decide(const std::string& id, bool approve, const std::string& by,
                               const std::string& why) {
  TRY(take_lock(state_->lock.get()));
  Held held{state_->lock.get()};
  std::optional<Kept> kept = state_->read(id);
  if (!kept) return no_such(id);
  Approval& approval = kept->approval;
  bool is_taken_back = approval.state == Approval::State::approved && !approve;
  if (approval.state != Approval::State::waiting && !is_taken_back)
    return Error{Code::conflict,
                 cat("decide about '", id, "': it was ", to_string(approval.state), " before",
                     approval.why.empty() ? "" : cat(" (", approval.why, ")")),
                 ""};
  approval.state = approve ? Approval::State::approved : Approval::State::denied;
  approval.why = why.empty() ? cat("by ", by) : cat("by ", by, ": ", why);
  if (approve && approval.remember_ms > 0) state_->holds_for(*kept, approval.remember_ms);
  TRY(state_->write(*kept));
  auto [first, last] = state_->bells.equal_range(id);
  for (auto bell = first; bell != last; ++bell) bell->second->ring();
  return {};
}

}  // namespace paddock::tools
