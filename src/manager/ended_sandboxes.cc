#include "manager/ended_sandboxes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "monitor/judge.h"

namespace paddock::manager {

namespace {

constexpr char kFile[] = "ended.jsonl", kNewFile[] = "ended.jsonl.new";
constexpr size_t kMostBytes = 8 << 20;
constexpr WallTime kSameMs = 1000;  // between the start and the moment its time began to count

std::string line_of(const EndedSandbox& ended_sandbox) {
  Value value = Value::Object{{"id", ended_sandbox.id},
                              {"tenant", ended_sandbox.tenant},
                              {"name", ended_sandbox.name},
                              {"template", ended_sandbox.template_name},
                              {"created_ms", ended_sandbox.created},
                              {"ended_ms", ended_sandbox.ended},
                              {"because", ended_sandbox.because},
                              {"timeout_ms", ended_sandbox.timeout_ms},
                              {"idle_timeout_ms", ended_sandbox.idle_timeout_ms},
                              {"memory_peak_bytes", ended_sandbox.memory_peak},
                              {"disk_bytes", ended_sandbox.disk}};
  if (ended_sandbox.limit) {
    const LimitHit& hit = *ended_sandbox.limit;
    Value limit =
        Value::Object{{"limit", info(hit.limit).name}, {"value", hit.value}, {"peak", hit.peak}};
    if (!hit.rule.empty()) limit.set("rule", hit.rule), limit.set("text", hit.text);
    value.set("limit", std::move(limit));
  }
  return to_json(value) + "\n";
}

std::optional<EndedSandbox> epitaph_from(const std::string& line) {
  Result<Value> parsed = parse_json(line, kFile);
  if (!parsed || text_in(parsed.value(), "id").empty()) return std::nullopt;
  const Value& value = parsed.value();
  EndedSandbox ended_sandbox{.id = text_in(value, "id"),
                             .tenant = text_in(value, "tenant"),
                             .name = text_in(value, "name"),
                             .template_name = text_in(value, "template")};
  ended_sandbox.created = number_in(value, "created_ms");
  ended_sandbox.ended = number_in(value, "ended_ms");
  ended_sandbox.because = text_in(value, "because");
  ended_sandbox.timeout_ms = number_in(value, "timeout_ms");
  ended_sandbox.idle_timeout_ms = number_in(value, "idle_timeout_ms");
  ended_sandbox.memory_peak = static_cast<uint64_t>(number_in(value, "memory_peak_bytes"));
  ended_sandbox.disk = static_cast<uint64_t>(number_in(value, "disk_bytes"));
  if (const Value* limit = value.find("limit")) ended_sandbox.limit = living::limit_from(*limit);
  return ended_sandbox;
}

}  // namespace

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

std::string ending_words(const EndedSandbox& ended_sandbox) {
  if (ended_sandbox.limit) return limit_words(*ended_sandbox.limit);
  auto duration = [](int64_t ms) {
    return ms > 0 ? cat(" (", format_duration(static_cast<uint64_t>(ms)), ")") : std::string();
  };
  if (ended_sandbox.because == "timeout")
    return cat("reached its time to live", duration(ended_sandbox.timeout_ms));
  if (ended_sandbox.because == "idle timeout")
    return cat("was idle for as long as it may be", duration(ended_sandbox.idle_timeout_ms));
  if (ended_sandbox.because == "killed") return "it was killed";
  return ended_sandbox.because;
}

EndedSandbox ended_sandbox_of(const SandboxInfo& info, const std::string& because, WallTime ended) {
  EndedSandbox ended_sandbox{
      .id = info.id,
      .tenant = info.tenant,
      .name = info.name,
      .template_name = info.template_alias.empty() ? info.template_id : info.template_alias};
  ended_sandbox.created = info.created;
  ended_sandbox.ended = ended;
  ended_sandbox.because = because;
  // Its time may have been moved since.
  WallTime lived = info.ends - info.started;
  bool moved = info.ends != 0 && info.started != 0 &&
               (lived < info.timeout_ms || lived - info.timeout_ms > kSameMs);
  ended_sandbox.timeout_ms = moved ? std::max<WallTime>(1, lived / 1000) * 1000 : info.timeout_ms;
  ended_sandbox.idle_timeout_ms = info.idle_timeout_ms;
  ended_sandbox.limit = info.ended_by;
  return ended_sandbox;
}

std::string describe(const EndedSandbox& ended_sandbox, WallTime now) {
  int64_t seconds = std::max<int64_t>(0, (now - ended_sandbox.ended) / 1000);
  auto count = [](int64_t number, const char* unit) {
    return cat(number, " ", unit, number == 1 ? "" : "s");
  };
  std::string age = seconds < 120    ? count(seconds, "second")
                    : seconds < 7200 ? count(seconds / 60, "minute")
                                     : count(seconds / 3600, "hour");
  return cat("ended ", age, " ago: ", ending_words(ended_sandbox));
}

EndedSandboxes::EndedSandboxes(int directory) : directory_(directory) {
  Fd file(::openat(directory, kFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  Result<std::string> all =
      file ? read_all(file.get(), kMostBytes) : Result<std::string>(std::string());
  if (all)
    for (const std::string& line : split(all.value(), '\n'))
      if (std::optional<EndedSandbox> ended_sandbox = epitaph_from(line))
        known_.push_back(std::move(*ended_sandbox));
  prune();
  if (file) rewrite();
}

void EndedSandboxes::prune() {
  WallTime oldest = wall_time_now() - kKeepMs;
  while (!known_.empty() && (known_.size() > kMost || known_.front().ended < oldest))
    known_.pop_front();
}

void EndedSandboxes::rewrite() {
  std::string all;
  for (const EndedSandbox& ended_sandbox : known_) all += line_of(ended_sandbox);
  Fd file(
      ::openat(directory_, kNewFile, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  bool written = file && write_all(file.get(), all) &&
                 ::renameat(directory_, kNewFile, directory_, kFile) == 0;
  if (!written) (void)::unlinkat(directory_, kNewFile, 0);
  lines_ = known_.size();
}

void EndedSandboxes::add(EndedSandbox ended_sandbox) {
  std::string line = line_of(ended_sandbox);
  known_.push_back(std::move(ended_sandbox));
  prune();
  if (++lines_ > 2 * kMost) return rewrite();
  Fd file(
      ::openat(directory_, kFile, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file) (void)write_all(file.get(), line);
}

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
