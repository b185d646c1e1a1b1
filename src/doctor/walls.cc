#include "doctor/walls.h"

#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/runtime.h"
#include "policy/presets.h"
#include "wall/oci/runtime.h"

namespace paddock::doctor {

namespace {

using wall::LimitSupport;
using wall::Support;

// A limit to try, with a value that /bin/true does not reach.
struct Wanted {
  LimitKind kind;
  uint64_t value;  // plenty for /bin/true
};
constexpr Wanted kWanted[] = {
    {LimitKind::memory, 64 << 20},        {LimitKind::cpu, 500},
    {LimitKind::cpu_time, 10'000},        {LimitKind::wall_time, 20'000},
    {LimitKind::idle_time, 10'000},       {LimitKind::pids, 16},
    {LimitKind::open_files, 64},          {LimitKind::file_size, 1 << 20},
    {LimitKind::disk, 8 << 20},           {LimitKind::inodes, 500},
    {LimitKind::disk_read_rate, 8 << 20}, {LimitKind::disk_write_rate, 8 << 20},
    {LimitKind::output, 64 << 10},
};
constexpr Wanted kWantedOfNetwork[] = {{LimitKind::net_up_rate, 1 << 20},
                                       {LimitKind::net_down_rate, 1 << 20},
                                       {LimitKind::net_total, 1 << 20},
                                       {LimitKind::connections, 4}};
constexpr char kSomeHost[] = "192.0.2.1";  // for documentation; nobody asks for it

// These need a run of their own, whose private space is on disk.
bool is_disk_rate(LimitKind kind) {
  return kind == LimitKind::disk_read_rate || kind == LimitKind::disk_write_rate;
}

// Tries a wall without limits, then with all that it takes together, then with those that need a
// disk or a network.
class WallProbe {
 public:
  explicit WallProbe(WallKind wall) { support_.wall = wall; }

  Support probe() {
    Result<RunResult> bare = run_with({});
    if (!bare) return failed(bare.error());
    support_.state = Support::State::works;
    support_.enforced = bare.value().enforced;
    std::vector<Wanted> together;
    for (const Wanted& wanted : kWanted)
      if (!is_disk_rate(wanted.kind) && check_alone(wanted)) together.push_back(wanted);
    Result<RunResult> all = run_with(together);
    for (const Wanted& wanted : together) take_limit(wanted, all ? all : run_with({wanted}));
    // A rate needs a disk: with the private space in memory it would not apply.
    for (const Wanted& wanted : kWanted)
      if (is_disk_rate(wanted.kind)) take_limit(wanted, run_with({wanted}, ScratchBacking::disk));
    network_ = true;
    std::vector<Wanted> of_network(std::begin(kWantedOfNetwork), std::end(kWantedOfNetwork));
    Result<RunResult> connected = run_with(of_network);
    for (const Wanted& wanted : of_network) take_limit(wanted, connected);
    for (const LimitSupport& limit : support_.limits)
      support_.enforced.erase(info(limit.kind).name);
    sort_limits();
    return std::move(support_);
  }

 private:
  // A program that fails counts as a failure of the wall, since `true` cannot fail by itself.
  Result<RunResult> run_with(const std::vector<Wanted>& limits,
                             ScratchBacking scratch = ScratchBacking::automatic) {
    RunResult result = TRY(run_probe(TRY(prepare_with(limits, scratch))));
    if (exit_status(result.outcome) == 0) return result;
    std::string why =
        result.notes.empty() ? printable(result.err.substr(0, 200)) : join(result.notes, "; ");
    return Error{Code::io,
                 cat("run 'true': it ended with status ", exit_status(result.outcome),
                     why.empty() ? "" : ": ", why),
                 ""};
  }

  // The default preset with nothing but these limits, so that each is judged by itself.
  Result<runs::Prepared> prepare_with(const std::vector<Wanted>& limits, ScratchBacking scratch) {
    Policy policy = TRY(policy::preset("default"));
    policy.wall = support_.wall;
    policy.limits = Limits();
    policy.files.scratch = scratch;
    for (const Wanted& wanted : limits) policy.limits[wanted.kind] = wanted.value;
    if (network_) policy.network.allow = {kSomeHost};
    return runs::prepare({.argv = {"true"}}, policy, {});
  }

  // The reason may be one level deeper: user namespaces that do not work explain many errors.
  Support failed(const Error& error) {
    support_.why = error.message;
    support_.fix = error.hint;
    std::optional<wall::Advice> trouble = support_.wall != WallKind::process && error.hint.empty()
                                              ? user_namespace_trouble()
                                              : std::nullopt;
    if (trouble) support_.why += cat("; ", trouble->why), support_.fix = trouble->fix;
    return std::move(support_);
  }

  // Whether the wall would take this limit at all; if not, the reason is noted.
  bool check_alone(const Wanted& wanted) {
    Result<runs::Prepared> prepared = prepare_with({wanted}, ScratchBacking::automatic);
    if (!prepared) refuse(wanted.kind, prepared.error());
    return static_cast<bool>(prepared);
  }

  // The message of a refused limit repeats its name; only the reason is kept.
  void refuse(LimitKind kind, const Error& error) {
    constexpr std::string_view kBehind = "cannot be enforced here: ";
    size_t at = error.message.find(kBehind);
    support_.limits.push_back(
        {.kind = kind,
         .why = at == std::string::npos ? error.message : error.message.substr(at + kBehind.size()),
         .fix = error.hint});
  }

  void take_limit(const Wanted& wanted, const Result<RunResult>& result) {
    if (!result) return refuse(wanted.kind, result.error());
    auto found = result.value().enforced.find(info(wanted.kind).name);
    if (found == result.value().enforced.end())
      return refuse(wanted.kind,
                    {Code::internal, "the run does not report it", "please report this"});
    support_.limits.push_back({.kind = wanted.kind, .works = true, .enforced = found->second});
  }

  // In the order of kLimits, whatever order they were tried in.
  void sort_limits() {
    std::vector<LimitSupport> sorted;
    for (const LimitInfo& limit : kLimits)
      for (LimitSupport& support : support_.limits)
        if (support.kind == limit.kind) sorted.push_back(std::move(support));
    support_.limits = std::move(sorted);
  }

  Support support_;
  bool network_ = false;  // the runs have one
};

}  // namespace

wall::Support probe_wall(WallKind wall) {
  bool is_built = wall == WallKind::process || wall == WallKind::container || wall::is_oci(wall);
  return is_built ? WallProbe(wall).probe() : probe_runtime(wall);
}

}  // namespace paddock::doctor
