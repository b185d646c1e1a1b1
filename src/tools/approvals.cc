#include "tools/approvals.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "io/bell.h"
#include "store/state.h"
#include "tools/private_directory.h"

namespace paddock::tools {

namespace {

using io::Task;

constexpr int64_t kMillisecond = 1'000'000;
constexpr io::Milliseconds kLookAgain = 200;
constexpr size_t kIdLength = 8, kLargestFile = 256 << 10;
constexpr const char* kSuffix = ".json";

// As it stands in its file: the approval, and until when it holds by the clock that nobody can set.
struct Kept {
  Approval approval;
  std::string boot;
  int64_t ends_since_boot_ms = 0;
};

bool is_id(std::string_view text) {
  return text.size() == kIdLength && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567") == std::string_view::npos;
}

Value to_file(const Kept& kept) {
  Value value = to_value(kept.approval);
  value.set("boot", kept.boot);
  value.set("ends_since_boot_ms", kept.ends_since_boot_ms);
  return value;
}

std::string text_at(const Value& value, const char* key) {
  const Value* found = value.find(key);
  return found && found->as_string() ? *found->as_string() : "";
}

int64_t number_at(const Value& value, const char* key) {
  const Value* found = value.find(key);
  return found && found->as_int() ? *found->as_int() : 0;
}

std::optional<Kept> from_file(const std::string& text) {
  Result<Value> parsed = parse_json(text, "approval");
  if (!parsed || !parsed.value().as_object()) return std::nullopt;
  const Value& value = parsed.value();
  Kept kept;
  Approval& approval = kept.approval;
  std::string state = text_at(value, "state");
  if (state == "waiting") approval.state = Approval::State::waiting;
  else if (state == "approved") approval.state = Approval::State::approved;
  else if (state == "denied") approval.state = Approval::State::denied;
  else return std::nullopt;
  approval.id = text_at(value, "id");
  approval.tool = text_at(value, "tool");
  approval.agent = text_at(value, "agent");
  if (const Value* arguments = value.find("arguments")) approval.arguments = *arguments;
  approval.hash = text_at(value, "hash");
  approval.why = text_at(value, "why");
  approval.asked_ms = number_at(value, "asked_ms");
  approval.expires_ms = number_at(value, "expires_ms");
  approval.remember_ms = number_at(value, "remember_ms");
  kept.boot = text_at(value, "boot");
  kept.ends_since_boot_ms = number_at(value, "ends_since_boot_ms");
  if (!is_id(approval.id) || approval.hash.size() != 64) return std::nullopt;
  return kept;
}

Error no_such(const std::string& id) {
  return {Code::not_found, cat("there is no approval '", printable(id.substr(0, 100)), "': it was used, its time is over, or it never was"), "see what waits: paddock approve"};
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

Value to_value(const Approval& approval) {
  Value value;
  value.set("id", approval.id);
  value.set("state", to_string(approval.state));
  value.set("tool", approval.tool);
  value.set("agent", approval.agent);
  value.set("arguments", approval.arguments);
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

  int64_t of_day_ms() const { return clocks.time_of_day_ns() / kMillisecond; }
  int64_t since_boot_ms() const { return clocks.since_boot_ns() / kMillisecond; }
  bool is_over(const Kept& kept) const {
    return kept.boot != clocks.boot || since_boot_ms() >= kept.ends_since_boot_ms || of_day_ms() >= kept.approval.expires_ms;
  }
  void holds_for(Kept& kept, int64_t duration_ms) const {
    duration_ms = std::max<int64_t>(0, duration_ms);
    kept.approval.expires_ms = of_day_ms() + duration_ms;
    kept.ends_since_boot_ms = since_boot_ms() + duration_ms;
    kept.boot = clocks.boot;
  }

  std::optional<Kept> read(const std::string& id) const {
    if (!is_id(id)) return std::nullopt;
    Fd file(::openat(directory.get(), (id + kSuffix).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    Result<std::string> text = file ? read_all(file.get(), kLargestFile) : Result<std::string>(Error{});
    std::optional<Kept> kept = text ? from_file(text.value()) : std::nullopt;
    if (!kept || kept->approval.id != id || is_over(*kept)) return std::nullopt;
    return kept;
  }
  Result<void> write(const Kept& kept) const { return store::write_file(directory.get(), kept.approval.id + kSuffix, to_json(to_file(kept)) + "\n"); }
  Result<void> remove(const std::string& id) const {
    if (::unlinkat(directory.get(), (id + kSuffix).c_str(), 0) != 0 && errno != ENOENT) return errno_error(errno, cat("remove the approval '", id, "'"));
    return {};
  }

  // All that hold. With `clean`, what is over or cannot be read is removed; only under the lock.
  Result<std::vector<Kept>> all(bool clean) const {
    Fd again(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* entries = again ? ::fdopendir(again.get()) : nullptr;
    if (!entries) return errno_error(errno, cat("list '", printable(path), "'"));
    (void)again.release();
    std::vector<Kept> found;
    std::vector<std::string> over;
    while (dirent* entry = ::readdir(entries)) {
      std::string name = entry->d_name;
      if (name == "." || name == ".." || name == ".lock") continue;
      std::string id = ends_with(name, kSuffix) ? name.substr(0, name.size() - 5) : "";
      std::optional<Kept> kept = read(id);
      if (kept) found.push_back(std::move(*kept));
      else over.push_back(name);
    }
    ::closedir(entries);
    if (clean)
      for (const std::string& name : over) (void)::unlinkat(directory.get(), name.c_str(), 0);
    std::sort(found.begin(), found.end(), [](const Kept& a, const Kept& b) { return std::tie(a.approval.asked_ms, a.approval.id) < std::tie(b.approval.asked_ms, b.approval.id); });
    return found;
  }
};

namespace {

// Everything that changes a file is done by one process at a time. Let go of by the kernel when that one dies; each change is one
// rename or unlink.
struct Held {
  int lock;
  ~Held() {
    if (lock >= 0) (void)::flock(lock, LOCK_UN);
  }
};
Result<void> take_lock(int lock) {
  while (::flock(lock, LOCK_EX) != 0)
    if (errno != EINTR) return errno_error(errno, "lock the approvals");
  return {};
}

}  // namespace

Approvals::Approvals(std::unique_ptr<State> state) : state_(std::move(state)) {}
Approvals::~Approvals() = default;

Result<std::unique_ptr<Approvals>> Approvals::open(const std::string& directory) { return open(directory, TRY(Clocks::of_this_host())); }

Result<std::unique_ptr<Approvals>> Approvals::open(const std::string& directory, Clocks clocks) {
  auto state = std::make_unique<State>();
  state->path = directory;
  state->clocks = std::move(clocks);
  state->directory = TRY(open_private_directory(directory));
  state->lock = Fd(::openat(state->directory.get(), ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!state->lock) return errno_error(errno, cat("open '", printable(directory), "/.lock'"));
  return std::unique_ptr<Approvals>(new Approvals(std::move(state)));
}

Result<Approval> Approvals::ask(Approval asked) {
  TRY(take_lock(state_->lock.get()));
  Held held{state_->lock.get()};
  std::vector<Kept> all = TRY(state_->all(true));
  size_t waiting = 0, of_agent = 0;
  for (const Kept& kept : all) {
    if (kept.approval.hash == asked.hash) return kept.approval;
    if (kept.approval.state != Approval::State::waiting) continue;
    ++waiting;
    if (kept.approval.agent == asked.agent) ++of_agent;
  }
  if (waiting >= kMostWaiting || of_agent >= kMostOfAnAgent)
    return Error{Code::exhausted, cat("ask for an approval: ", of_agent, " calls of this agent and ", waiting, " of all wait already"), "wait until they are decided (paddock approve)"};
  Kept kept{.approval = std::move(asked)};
  kept.approval.id = TRY(store::random_name(kIdLength));
  kept.approval.state = Approval::State::waiting;
  int64_t duration = kept.approval.expires_ms - kept.approval.asked_ms;
  kept.approval.asked_ms = state_->of_day_ms();
  state_->holds_for(kept, duration);
  TRY(state_->write(kept));
  return kept.approval;
}

Task<Result<Approval>> Approvals::wait(io::Loop& loop, std::string id, std::function<bool()> given_up) {
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
      // Nobody should be asked about what nobody wants any more. Others that wait for the same ask anew.
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
  std::vector<Kept> all = TRY(state_->all(false));
  for (const Kept& kept : all) {
    if (kept.approval.hash != hash || kept.approval.state != Approval::State::approved) continue;
    if (kept.approval.remember_ms == 0) TRY(state_->remove(kept.approval.id));
    return std::optional<Approval>(kept.approval);
  }
  return std::optional<Approval>();
}

Result<void> Approvals::put_back(const Approval& used) {
  if (used.remember_ms != 0) return {};  // it is still there
  TRY(take_lock(state_->lock.get()));
  Held held{state_->lock.get()};
  Kept kept{.approval = used};
  state_->holds_for(kept, used.expires_ms - state_->of_day_ms());
  return state_->write(kept);
}

Result<std::vector<Approval>> Approvals::list() const {
  std::vector<Kept> all = TRY(state_->all(false));
  std::vector<Approval> approvals;
  for (Kept& kept : all) approvals.push_back(std::move(kept.approval));
  return approvals;
}

Result<Approval> Approvals::find(const std::string& id) const {
  std::optional<Kept> kept = state_->read(id);
  if (!kept) return no_such(id);
  return std::move(kept->approval);
}

Result<void> Approvals::decide(const std::string& id, bool approve, const std::string& by, const std::string& why) {
  TRY(take_lock(state_->lock.get()));
  Held held{state_->lock.get()};
  std::optional<Kept> kept = state_->read(id);
  if (!kept) return no_such(id);
  Approval& approval = kept->approval;
  bool is_taken_back = approval.state == Approval::State::approved && !approve;
  if (approval.state != Approval::State::waiting && !is_taken_back)
    return Error{Code::conflict, cat("decide about '", id, "': it was ", to_string(approval.state), " before", approval.why.empty() ? "" : cat(" (", approval.why, ")")), ""};
  approval.state = approve ? Approval::State::approved : Approval::State::denied;
  approval.why = why.empty() ? cat("by ", by) : cat("by ", by, ": ", why);
  if (approve && approval.remember_ms > 0) state_->holds_for(*kept, approval.remember_ms);
  TRY(state_->write(*kept));
  auto [first, last] = state_->bells.equal_range(id);
  for (auto bell = first; bell != last; ++bell) bell->second->ring();
  return {};
}

}  // namespace paddock::tools
