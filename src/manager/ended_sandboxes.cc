#include "manager/ended_sandboxes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/record.h"
#include "base/text.h"
#include "base/units.h"
#include "monitor/judge.h"
#include "run/result.h"

namespace paddock::manager {

namespace {

constexpr char kEndedFile[] = "ended.jsonl", kNewFile[] = "ended.jsonl.new";

// In bytes of the file that is read.
constexpr size_t kMostBytes = 8 << 20;

// Between the start and the moment its time began to count, in milliseconds.
constexpr WallTime kSameMs = 1000;

constexpr auto kEndedFields = std::make_tuple(
    field("id", &EndedSandbox::id), field("tenant", &EndedSandbox::tenant, Presence::optional),
    field("name", &EndedSandbox::name, Presence::optional),
    field("template", &EndedSandbox::template_name, Presence::optional),
    field("created_ms", &EndedSandbox::created, Presence::optional),
    field("ended_ms", &EndedSandbox::ended, Presence::optional),
    field("because", &EndedSandbox::because, Presence::optional),
    field("timeout_ms", &EndedSandbox::timeout_ms, Presence::optional),
    field("idle_timeout_ms", &EndedSandbox::idle_timeout_ms, Presence::optional),
    field("memory_peak_bytes", &EndedSandbox::memory_peak, Presence::optional),
    field("disk_bytes", &EndedSandbox::disk, Presence::optional),
    field("limit", &EndedSandbox::limit, Presence::optional));

std::string line_of(const EndedSandbox& sandbox) {
  return to_json(write_record(kEndedFields, sandbox)) + "\n";
}

// Lines that cannot be read are skipped.
std::optional<EndedSandbox> ended_from(const std::string& line) {
  Result<Value> value = parse_json(line, kEndedFile);
  if (!value) return std::nullopt;
  EndedSandbox sandbox;
  // A number that was never measured does not fit; the rest counts all the same.
  (void)read_record(kEndedFields, value.value(), sandbox, kEndedFile);
  if (sandbox.id.empty()) return std::nullopt;
  return sandbox;
}

}  // namespace

// A rule of [monitor] has its own words; a limit is named with its value and the peak.
std::string limit_words(const LimitHit& hit) {
  if (!hit.rule.empty())
    return cat("rule ", hit.rule, " ", hit.text, " held (peak ",
               monitor::describe(hit.rule, hit.exact_peak), ")");
  std::string words = cat(info(hit.limit).name, " limit");
  if (hit.value) words += cat(" of ", format_limit(info(hit.limit), hit.value));
  words += " reached";
  if (hit.peak) words += cat(" (peak ", format_limit(info(hit.limit), hit.peak), ")");
  return words;
}

// Reasons that are not known here are shown as they are.
std::string ending_words(const EndedSandbox& sandbox) {
  if (sandbox.limit) return limit_words(*sandbox.limit);
  auto duration = [](int64_t ms) {
    return ms > 0 ? cat(" (", format_duration(static_cast<uint64_t>(ms)), ")") : std::string();
  };
  if (sandbox.because == "timeout")
    return cat("reached its time to live", duration(sandbox.timeout_ms));
  if (sandbox.because == "idle timeout")
    return cat("was idle for as long as it may be", duration(sandbox.idle_timeout_ms));
  if (sandbox.because == "killed") return "it was killed";
  return sandbox.because;
}

// A time that was changed later is shown as the one that it really had, in whole seconds.
EndedSandbox ended_sandbox_of(const SandboxInfo& info, const std::string& because, WallTime ended) {
  EndedSandbox sandbox{
      .id = info.id,
      .tenant = info.tenant,
      .name = info.name,
      .template_name = info.template_alias.empty() ? info.template_id : info.template_alias};
  sandbox.created = info.created;
  sandbox.ended = ended;
  sandbox.because = because;
  // Its time may have been moved since.
  WallTime lived = info.ends - info.started;
  bool moved = info.ends != 0 && info.started != 0 &&
               (lived < info.timeout_ms || lived - info.timeout_ms > kSameMs);
  sandbox.timeout_ms = moved ? std::max<WallTime>(1, lived / 1000) * 1000 : info.timeout_ms;
  sandbox.idle_timeout_ms = info.idle_timeout_ms;
  sandbox.limit = info.ended_by;
  return sandbox;
}

std::string describe(const EndedSandbox& sandbox, WallTime now) {
  int64_t seconds = std::max<int64_t>(0, (now - sandbox.ended) / 1000);
  auto count = [](int64_t number, const char* unit) {
    return cat(number, " ", unit, number == 1 ? "" : "s");
  };
  std::string age = seconds < 120    ? count(seconds, "second")
                    : seconds < 7200 ? count(seconds / 60, "minute")
                                     : count(seconds / 3600, "hour");
  return cat("ended ", age, " ago: ", ending_words(sandbox));
}

// Rewrites the file at once, so that it does not keep what is too old.
EndedSandboxes::EndedSandboxes(int directory) : directory_(directory) {
  Fd file(::openat(directory, kEndedFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  Result<std::string> all =
      file ? read_all(file.get(), kMostBytes) : Result<std::string>(std::string());
  if (all)
    for (const std::string& line : split(all.value(), '\n'))
      if (std::optional<EndedSandbox> sandbox = ended_from(line))
        known_.push_back(std::move(*sandbox));
  prune();
  if (file) rewrite();
}

void EndedSandboxes::prune() {
  WallTime oldest = wall_time_now() - kKeepMs;
  while (!known_.empty() && (known_.size() > kMost || known_.front().ended < oldest))
    known_.pop_front();
}

// Written under another name and renamed, so that a crash leaves the old file or the new one.
void EndedSandboxes::rewrite() {
  std::string all;
  for (const EndedSandbox& sandbox : known_) all += line_of(sandbox);
  Fd file(
      ::openat(directory_, kNewFile, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  bool written = file && write_all(file.get(), all) &&
                 ::renameat(directory_, kNewFile, directory_, kEndedFile) == 0;
  if (!written) (void)::unlinkat(directory_, kNewFile, 0);
  lines_ = known_.size();
}

// Appends a line. The file is rewritten when it has twice as many lines as are remembered.
void EndedSandboxes::add(EndedSandbox sandbox) {
  std::string line = line_of(sandbox);
  known_.push_back(std::move(sandbox));
  prune();
  if (++lines_ > 2 * kMost) return rewrite();
  Fd file(::openat(directory_, kEndedFile, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                   0600));
  if (file) (void)write_all(file.get(), line);
}

// The newest one wins: a name may have been used several times.
const EndedSandbox* EndedSandboxes::find(const std::string& tenant,
                                         const std::string& id_or_name) const {
  WallTime oldest = wall_time_now() - kKeepMs;
  for (auto at = known_.rbegin(); at != known_.rend() && at->ended >= oldest; ++at)
    if (at->tenant == tenant &&
        (!id_or_name.empty() && (at->id == id_or_name || at->name == id_or_name)))
      return &*at;
  return nullptr;
}

std::vector<EndedSandbox> EndedSandboxes::of(const std::string& tenant) const {
  std::vector<EndedSandbox> found;
  WallTime oldest = wall_time_now() - kKeepMs;
  for (auto at = known_.rbegin(); at != known_.rend() && at->ended >= oldest; ++at)
    if (at->tenant == tenant) found.push_back(*at);
  return found;
}

}  // namespace paddock::manager
