#include "doctor/limits.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "base/value.h"
#include "doctor/runtime.h"

namespace paddock::doctor {

namespace {

constexpr uint64_t kSafetyTime = 20'000;  // ms: ends a run whose limit does not

// How far a limit is lowered for its probe.
struct Narrowing {
  LimitKind kind;
  uint64_t most;  // in the limit's unit: enough for the prober, little for the host
  bool is_named;  // the result must name the limit; for the others only what was reached counts
};
constexpr Narrowing kNarrowings[] = {
    {LimitKind::memory, 64 << 20, true},    {LimitKind::cpu, 200, false},
    {LimitKind::cpu_time, 300, true},       {LimitKind::wall_time, 500, true},
    {LimitKind::idle_time, 500, true},      {LimitKind::pids, 12, true},
    {LimitKind::open_files, 64, false},     {LimitKind::file_size, 1 << 20, true},
    {LimitKind::disk, 8 << 20, true},       {LimitKind::inodes, 500, true},
    {LimitKind::output, 64 << 10, true},    {LimitKind::connections, 8, true},
    {LimitKind::net_total, 64 << 10, true},
};

// Whether the result names the limit as hit.
const LimitHit* find_hit(const RunResult& result, LimitKind kind) {
  for (const LimitHit& hit : result.limits_hit)
    if (hit.limit == kind) return &hit;
  return nullptr;
}

// {"reached":N}; nothing when the limit ended the prober before it could speak.
std::optional<uint64_t> reached(const RunResult& result) {
  for (const std::string& line : split(result.out, '\n')) {
    Result<Value> value = parse_json(line, "paddock-probe");
    const Value* number = value ? value.value().find("reached") : nullptr;
    if (number && number->as_int()) return static_cast<uint64_t>(*number->as_int());
  }
  return std::nullopt;
}

// How much may be reached: exactly the limit where the kernel counts, and somewhat more where a
// share is measured by the clock.
uint64_t tolerated(LimitKind kind, uint64_t value) {
  if (kind == LimitKind::cpu) return value + value / 2 + 50;
  return kind == LimitKind::net_total ? value + 4096 : value;  // the answer that was on its way
}

// A limit holds if the prober was stopped by it, or got no further than it. A limit that must be
// named in the result and is not counts as failed, even if nothing more was used.
Probe judge(const Narrowing& narrowing, uint64_t value, const RunResult& result,
            const Enforced& enforced) {
  const LimitInfo& limit = info(narrowing.kind);
  Probe probe{Probe::State::failed, "limits",
              cat("exceed ", limit.name, "=", format_limit(limit, value)), ""};
  const LimitHit* hit = find_hit(result, narrowing.kind);
  std::optional<uint64_t> most = reached(result);
  if (narrowing.is_named && !hit) {
    probe.detail = most ? cat("it got as far as ", format_limit(limit, *most),
                              ", and the result does not name the limit")
                        : cat("the prober ended with status ", exit_status(result.outcome),
                              ", and the result does not name the limit");
    return probe;
  }
  bool ended_by_it =
      result.outcome.kind == Outcome::Kind::limit && result.outcome.limit.limit == narrowing.kind;
  if (most && *most > tolerated(narrowing.kind, value)) {
    probe.detail = cat("it got as far as ", format_limit(limit, *most));
    return probe;
  }
  if (!most && !ended_by_it) {
    probe.detail =
        cat("the prober ended with status ", exit_status(result.outcome), " and said nothing");
    return probe;
  }
  probe.state = Probe::State::held;
  probe.detail = cat(ended_by_it ? "stopped" : cat("got as far as ", format_limit(limit, *most)),
                     ", held by: ", enforced.by, " (", to_string(enforced.strength), ")");
  return probe;
}

// Runs the prober once for each limit that the policy sets.
class LimitProber {
 public:
  LimitProber(const VerifyInput& input, const std::string& prober, const runs::Prepared& whole)
      : input_(input), prober_(prober), whole_(whole) {}

  Result<std::vector<Probe>> probe_all() {
    std::vector<Probe> probes;
    for (const LimitInfo& limit : kLimits) probes.push_back(TRY(probe(limit.kind)));
    return probes;
  }

 private:
  // Limits that cannot be tried here are reported with the reason, and never left out.
  Result<Probe> probe(LimitKind kind) {
    const LimitInfo& limit = info(kind);
    auto not_applicable = [&](const std::string& why) {
      return Probe{Probe::State::not_applicable, "limits", cat("exceed ", limit.name), why};
    };
    auto planned = whole_.compiled.limits.limits.find(kind);
    if (planned == whole_.compiled.limits.limits.end())
      return not_applicable("the policy does not set it");
    const Enforced& enforced = planned->second.enforced;
    if (starts_with(enforced.by, "not applicable: "))
      return not_applicable(enforced.by.substr(std::string("not applicable: ").size()));
    if (starts_with(enforced.by, "NOT ENFORCED"))
      return not_applicable("[danger] limits.unenforced accepts that nothing holds it");
    for (const Narrowing& narrowing : kNarrowings)
      if (narrowing.kind == kind)
        return exceed(narrowing, std::min(planned->second.value, narrowing.most), enforced);
    if (kind == LimitKind::net_up_rate || kind == LimitKind::net_down_rate)
      return not_applicable(
          "a rate needs a host to exchange bytes with; egress waits before each block");
    return not_applicable(
        "exceeding a rate of a real disk would disturb others; the kernel's setting was read back");
  }

  // All other limits are lifted, so that no other one can end the run first; only a time limit
  // stays as a safety net.
  Result<Probe> exceed(const Narrowing& narrowing, uint64_t value, const Enforced& enforced) {
    Policy policy = input_.policy;
    policy.limits = Limits();
    policy.limits[LimitKind::wall_time] = kSafetyTime;
    policy.limits[narrowing.kind] = value;
    // With smaller numbers the space could move from disk to memory, which is another mechanism.
    policy.files.scratch =
        whole_.compiled.limits.scratch_on_disk ? ScratchBacking::disk : ScratchBacking::memory;
    Command command{.argv = {prober_, "exceed", info(narrowing.kind).name, std::to_string(value)},
                    .env = input_.env};
    runs::Prepared prepared = TRY(runs::prepare(command, policy, {}));
    if (input_.edit) TRY(input_.edit(prepared));
    RunResult result = TRY(run_probe(std::move(prepared), !input_.edit));
    return judge(narrowing, value, result, enforced);
  }

  const VerifyInput& input_;
  const std::string& prober_;
  const runs::Prepared& whole_;
};

}  // namespace

Result<std::vector<Probe>> verify_limits(const VerifyInput& input, const std::string& prober,
                                         const runs::Prepared& whole) {
  return LimitProber(input, prober, whole).probe_all();
}

}  // namespace paddock::doctor
