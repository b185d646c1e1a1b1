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
#include <utility>

#include "base/random_name.h"
#include "base/text.h"
#include "io/bell.h"
#include "store/state.h"
#include "tools/private_directory.h"

namespace paddock::tools {

namespace {

using io::Task;

constexpr int64_t kMillisecond = 1'000'000;

// How often a waiting call reads its file.
constexpr io::Milliseconds kLookAgain = 200;
constexpr size_t kIdLength = 8, kLargestFile = 256 << 10;
constexpr const char* kSuffix = ".json";

// In milliseconds. A holder of the lock keeps it for a few.
constexpr int64_t kMostWait = 1500;

// An approval as its file has it, with the boot that its time counts from.
struct StoredApproval {
  Approval approval;
  std::string boot;
};

// Checked before an id becomes part of a file name.
bool is_id(std::string_view text) {
  return text.size() == kIdLength &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567") == std::string_view::npos;
}

Value to_file(const StoredApproval& kept) {
  Value value = to_value(kept.approval);
  value.set("boot", kept.boot);
  value.set("ends_since_boot_ms", kept.approval.ends_since_boot_ms);
  return value;
}

// Unset: the file is damaged, or not an approval.
std::optional<StoredApproval> from_file(const std::string& text) {
  Result<Value> parsed = parse_json(text, "approval");
  StoredApproval kept;
  Approval& approval = kept.approval;
  if (!parsed || !read_record(kApprovalFields, parsed.value(), approval, "an approval"))
    return std::nullopt;
  kept.boot = text_in(parsed.value(), "boot");
  approval.ends_since_boot_ms = number_in(parsed.value(), "ends_since_boot_ms");
  bool is_sound = approval.state != Approval::State::expired && is_id(approval.id) &&
                  approval.hash.size() == 64;
  return is_sound ? std::optional(std::move(kept)) : std::nullopt;
}

Error no_such(const std::string& id) {
  return {Code::not_found,
          cat("there is no approval '", printable(id.substr(0, 100)),
              "': it was used, its time is over, or it never was"),
          "see what waits: paddock approve"};
}

}  // namespace

// Approvers must know that they do not see everything they approve.
std::string hidden_words(const Approval& approval) {
  int64_t parts = number_in(approval.hidden, "parts");
  if (parts == 0) return "";
  return cat(parts, parts == 1 ? " part is" : " parts are",
             " hidden here: it looks like a secret. The call has all of it, ",
             number_in(approval.hidden, "bytes"), " bytes of arguments");
}

struct Approvals::State {
  std::string path;
  Clocks clocks;
  Fd directory, lock;
  // The waiters of this process, by id.
  std::multimap<std::string, io::Bell*> bells;
  // Files that were read before and have not changed since; without arguments. A word is always
  // taken from the file itself.
  struct Known {
    ino_t inode = 0;
    off_t size = 0;
    timespec changed{};
    std::optional<StoredApproval> kept;
  };
  mutable std::map<std::string, Known> known;  // by id

  int64_t of_day_ms() const { return clocks.time_of_day_ns() / kMillisecond; }
  int64_t since_boot_ms() const { return clocks.since_boot_ns() / kMillisecond; }
  // An approval ends by whichever clock is over first, and with the boot, because the clock of
  // another boot means nothing.
  bool is_over(const StoredApproval& kept) const {
    return kept.boot != clocks.boot || since_boot_ms() >= kept.approval.ends_since_boot_ms ||
           of_day_ms() >= kept.approval.expires_ms;
  }
  // Sets the end of the approval by both clocks.
  void holds_for(StoredApproval& kept, int64_t duration_ms) const {
    duration_ms = std::max<int64_t>(0, duration_ms);
    kept.approval.expires_ms = of_day_ms() + duration_ms;
    kept.approval.ends_since_boot_ms = since_boot_ms() + duration_ms;
    kept.boot = clocks.boot;
  }

  // Returns nothing if the file is not an approval. The error arm: it is missing, or could not be
  // read now.
  Result<std::optional<StoredApproval>> read_file(const std::string& id) const {
    Fd file(::openat(directory.get(), (id + kSuffix).c_str(),
                     O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!file) return errno_error(errno, cat("read the approval '", id, "'"));
    Result<std::string> text = read_all(file.get(), kLargestFile);
    if (!text) return text.error();
    std::optional<StoredApproval> kept = from_file(text.value());
    if (kept && kept->approval.id != id) kept.reset();
    return kept;
  }
  // Returns nothing for an approval that is over, as if it were not there.
  std::optional<StoredApproval> read(const std::string& id) const {
    if (!is_id(id)) return std::nullopt;
    Result<std::optional<StoredApproval>> kept = read_file(id);
    if (!kept || !kept.value() || is_over(*kept.value())) return std::nullopt;
    return std::move(kept.value());
  }
  Result<void> write(const StoredApproval& kept) const {
    return store::write_file(directory.get(), kept.approval.id + kSuffix,
                             to_json(to_file(kept)) + "\n");
  }
  Result<void> remove(const std::string& id) const {
    if (::unlinkat(directory.get(), (id + kSuffix).c_str(), 0) != 0 && errno != ENOENT)
      return errno_error(errno, cat("remove the approval '", id, "'"));
    return {};
  }

  // All that are valid now, without their arguments. With `clean`, which needs the lock, expired
  // ones and other files are removed. What could not be read now stays.
  Result<std::vector<StoredApproval>> all(bool clean) const {
    Fd again(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* entries = again ? ::fdopendir(again.get()) : nullptr;
    if (!entries) return errno_error(errno, cat("list '", printable(path), "'"));
    (void)again.release();
    std::vector<StoredApproval> found;
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
    std::sort(found.begin(), found.end(), [](const StoredApproval& a, const StoredApproval& b) {
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
    Result<std::optional<StoredApproval>> kept = read_file(id);
    bool may_be_one = S_ISREG(info.st_mode) && info.st_size <= static_cast<off_t>(kLargestFile);
    if (!kept && may_be_one) return nullptr;  // too many open files, say
    if (kept && kept.value()) fresh.kept = std::move(kept.value());
    if (fresh.kept) fresh.kept->approval.arguments = Value();
    return &(seen[id] = std::move(fresh));
  }
  // The one about this call, as it is now.
  Result<std::optional<StoredApproval>> about(const std::string& hash) const {
    std::vector<StoredApproval> everything = TRY(all(false));
    for (const StoredApproval& kept : everything) {
      if (kept.approval.hash != hash) continue;
      std::optional<StoredApproval> now = read(kept.approval.id);
      if (now && now->approval.hash == hash) return now;
    }
    return std::optional<StoredApproval>();
  }
};

namespace {

// Everything that changes a file is done by one process at a time. The kernel releases the lock
// when that process dies; each change is one rename or unlink.
class Locked {
 public:
  static Result<Locked> take(int file) {
    int failed = wait_for_lock(file, kMostWait);
    if (failed != 0) return not_locked(failed, "lock the approvals");
    return Locked(file);
  }
  Locked(Locked&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Locked& operator=(Locked&&) = delete;
  ~Locked() {
    if (file_ >= 0) (void)::flock(file_, LOCK_UN);
  }

 private:
  explicit Locked(int file) : file_(file) {}
  int file_;
};

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

// Under the lock, so that two processes with the same call ask once.
Result<Approval> Approvals::ask(Approval asked) {
  Locked locked = TRY(Locked::take(state_->lock.get()));
  std::vector<StoredApproval> all = TRY(state_->all(true));
  size_t waiting = 0, of_agent = 0;
  for (const StoredApproval& kept : all) {
    if (kept.approval.hash == asked.hash)
      if (std::optional<StoredApproval> now = state_->read(kept.approval.id))
        return std::move(now->approval);
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
  StoredApproval kept{.approval = std::move(asked)};
  kept.approval.id = TRY(store::random_name(kIdLength));
  kept.approval.state = Approval::State::waiting;
  int64_t duration = kept.approval.expires_ms - kept.approval.asked_ms;
  kept.approval.asked_ms = state_->of_day_ms();
  state_->holds_for(kept, duration);
  TRY(state_->write(kept));
  return kept.approval;
}

// Another process may decide, so the file is read several times a second.
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
    std::optional<StoredApproval> kept = state_->read(id);
    if (!kept && last && last->expires_ms <= state_->of_day_ms()) {
      last->state = Approval::State::expired;
      co_return std::move(*last);
    }
    if (!kept) co_return no_such(id);
    if (kept->approval.state != Approval::State::waiting) co_return std::move(kept->approval);
    if (given_up && given_up()) {
      // Nobody should be asked about a call that nobody waits for. Others that wait for the same
      // call ask again.
      if (Result<Locked> locked = Locked::take(state_->lock.get())) {
        std::optional<StoredApproval> now = state_->read(id);
        if (now && now->approval.state == Approval::State::waiting) (void)state_->remove(id);
      }
      co_return Error{Code::conflict, "wait for an approval: the call was given up", ""};
    }
    last = std::move(kept->approval);
    (void)co_await bell.wait(loop.now() + kLookAgain);
  }
}

// Removed in the same step, unless it is remembered: then it can be used again until its time is
// over.
Result<std::optional<Approval>> Approvals::use(const std::string& hash) {
  Locked locked = TRY(Locked::take(state_->lock.get()));
  std::optional<StoredApproval> kept = TRY(state_->about(hash));
  if (!kept || kept->approval.state != Approval::State::approved) return std::optional<Approval>();
  if (kept->approval.remember_ms == 0) TRY(state_->remove(kept->approval.id));
  return std::optional<Approval>(std::move(kept->approval));
}

Result<void> Approvals::put_back(const Approval& used) {
  if (used.remember_ms != 0) return {};  // it is still there
  Locked locked = TRY(Locked::take(state_->lock.get()));
  // With the end that it had.
  return state_->write({.approval = used, .boot = state_->clocks.boot});
}

// Also finds denied ones, unlike use().
Result<std::optional<Approval>> Approvals::about(const std::string& hash) const {
  std::optional<StoredApproval> kept = TRY(state_->about(hash));
  return kept ? std::optional<Approval>(std::move(kept->approval)) : std::nullopt;
}

// Reads every file again, because a listing without arguments may be older than a decision.
Result<std::vector<Approval>> Approvals::list() const {
  std::vector<StoredApproval> all = TRY(state_->all(false));
  std::vector<Approval> approvals;
  for (const StoredApproval& kept : all)
    if (std::optional<StoredApproval> now = state_->read(kept.approval.id))
      approvals.push_back(std::move(now->approval));
  return approvals;
}

// What is over counts as not found.
Result<Approval> Approvals::find(const std::string& id) const {
  std::optional<StoredApproval> kept = state_->read(id);
  if (!kept) return no_such(id);
  return std::move(kept->approval);
}

// Wakes the calls of this process at once; others see it when they read the file again.
Result<void> Approvals::decide(const std::string& id, bool approve, const std::string& by,
                               const std::string& why) {
  Locked locked = TRY(Locked::take(state_->lock.get()));
  std::optional<StoredApproval> kept = state_->read(id);
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
