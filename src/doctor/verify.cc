#include "doctor/verify.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "base/value.h"
#include "doctor/limits.h"
#include "doctor/runtime.h"
#include "doctor/stage.h"
#include "launch/launcher.h"
#include "policy/path.h"
#include "wall/container/root_plan.h"
#include "wall/oci/runtime.h"

namespace paddock::doctor {

namespace {

// Places that hold what is personal, secret or the machine's.
constexpr const char* kPlaces[] = {"/etc/shadow", "/etc/ssh", "/etc/ssl/private",
                                   "/root",       "/home",    "/var",
                                   "/var/log",    "/run",     "/sys",
                                   "/boot",       "/srv",     "/opt",
                                   "/mnt"};

// Room that the checks themselves need, whatever the policy gives. The limits are exceeded in runs
// of their own.
constexpr uint64_t kCheckTime = 60'000, kCheckPids = 16, kCheckFiles = 64;

// Without "..": the path is looked up inside the new root, where such a step can fail for an
// instant (openat2(2), EAGAIN).
Result<std::string> find_prober() {
  std::string path = TRY(launch::find_program("paddock-probe"));
  std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  return real ? Result<std::string>(real.get()) : errno_error(errno, cat("look at '", path, "'"));
}

// The policy with what the prober itself needs: it must be visible and allowed to be called.
Policy with_prober(Policy policy, const std::string& prober) {
  if (!policy.files.read) policy.files.read.emplace();
  policy.files.read->push_back(prober);
  policy.commands.reset();
  return policy;
}

// Lifts the limits that would end the checks early.
Policy with_room(Policy policy) {
  Limits& limits = policy.limits;
  limits[LimitKind::wall_time] = kCheckTime;
  for (LimitKind kind :
       {LimitKind::cpu_time, LimitKind::idle_time, LimitKind::output, LimitKind::file_size})
    limits[kind].reset();
  if (limits[LimitKind::pids])
    limits[LimitKind::pids] = std::max(*limits[LimitKind::pids], kCheckPids);
  if (limits[LimitKind::open_files])
    limits[LimitKind::open_files] = std::max(*limits[LimitKind::open_files], kCheckFiles);
  return policy;
}

// Runs the checks in one sandbox and each limit in another, and collects the answers.
class Verifier {
 public:
  explicit Verifier(const VerifyInput& input) : input_(input) {}

  Result<Verification> run_all() {
    std::string prober = TRY(find_prober());
    input_.policy = with_prober(input_.policy, prober);
    runs::Prepared whole =
        TRY(runs::prepare({.argv = {prober}, .env = input_.env}, input_.policy, {}));
    // Only the plan is wanted.
    if (whole.change_set) TRY(store::discard_change_set(std::move(*whole.change_set)));
    result_.wall = whole.wall;
    TRY(run_checks(prober, whole));
    std::vector<Probe> limits = TRY(verify_limits(input_, prober, whole));
    result_.probes.insert(result_.probes.end(), limits.begin(), limits.end());
    return std::move(result_);
  }

 private:
  // The prober says what it could do. Then the host is asked as well, and its word counts: a signal
  // or connection that arrived is a failure, whatever the prober said.
  Result<void> run_checks(const std::string& prober, const runs::Prepared& whole) {
    Stage stage = TRY(Stage::create());
    Command command{.argv = {prober, "check"}, .env = input_.env};
    for (std::string& word : stage.words()) command.argv.push_back(std::move(word));
    add_places(command.argv, whole);
    for (const std::string& entry : whole.compiled.plan.env)
      command.argv.push_back(cat("environment=", entry.substr(0, entry.find('='))));
    command.argv.push_back(
        cat("tmp_exec=", whole.request.policy.files.tmp_exec.value_or(false) ? "true" : "false"));
    command.argv.push_back(cat("egress=", wall::has_network(whole.request) ? "true" : "false"));
    runs::Prepared prepared = TRY(runs::prepare(command, with_room(input_.policy), {}));
    if (input_.edit) TRY(input_.edit(prepared));
    bool privileged = prepared.facts.privileged;
    RunResult run = TRY(run_probe(std::move(prepared), !input_.edit));
    take_answers(run, privileged);
    if (stage.signal_arrived()) overrule("signal a process of the host", "the signal arrived");
    if (stage.was_connected(AF_INET))
      overrule("connect to the host's 127.0.0.1", "the connection arrived");
    if (stage.was_connected(AF_INET6))
      overrule("connect to the host's ::1", "the connection arrived");
    return {};
  }

  // Adds host places that must be out of reach, and what the policy hides, as it would be seen
  // inside.
  void add_places(std::vector<std::string>& words, const runs::Prepared& whole) {
    std::vector<std::string> places(std::begin(kPlaces), std::end(kPlaces));
    if (const char* home = std::getenv("HOME"); home && *home == '/' && home[1])
      places.insert(places.begin(), home);
    std::vector<std::string> seen;
    for (const std::string& place : places) {
      struct stat info;
      if (std::find(seen.begin(), seen.end(), place) != seen.end() ||
          ::stat(place.c_str(), &info) != 0)
        continue;
      seen.push_back(place);
      if (is_granted(place, whole))
        result_.probes.push_back({Probe::State::not_applicable, "files", cat("read ", place),
                                  "the policy or the system shows it"});
      else
        words.push_back(cat("denied=", place, ":", info.st_dev, ":", info.st_ino));
    }
    for (const std::string& denied : whole.request.denied) {
      std::vector<std::string> places = whole.wall != WallKind::process
                                            ? wall::inside_paths(whole.request, whole.facts, denied)
                                            : std::vector<std::string>{};
      if (places.empty()) places = {denied};
      for (const std::string& place : places) words.push_back(cat("hidden=", place));
    }
  }

  // A place that the policy or the system shows is not a breach.
  static bool is_granted(const std::string& place, const runs::Prepared& whole) {
    const wall::Request& request = whole.request;
    auto covers = [&](const wall::HostPath& granted) {
      return policy::contains_path(granted.path, place);
    };
    bool by_workspace =
        request.workspace && whole.wall == WallKind::process && covers(*request.workspace);
    bool by_system = std::any_of(whole.facts.root.begin(), whole.facts.root.end(),
                                 [&](const wall::RootEntry& entry) {
                                   return policy::contains_path("/" + entry.name, place);
                                 });
    return by_workspace || by_system ||
           std::any_of(request.read.begin(), request.read.end(), covers) ||
           std::any_of(request.write.begin(), request.write.end(), covers);
  }

  // Each line is one answer. Without the last line the prober did not finish, which is a failure.
  void take_answers(const RunResult& run, bool privileged) {
    bool done = false;
    for (const std::string& line : split(run.out, '\n')) {
      Result<Value> value =
          line.empty() ? Result<Value>(Value()) : parse_json(line, "paddock-probe");
      if (!value || line.empty()) continue;
      done = done || value.value().find("done");
      std::string fields[4];
      const char* names[] = {"group", "probe", "answer", "detail"};
      for (size_t i = 0; i < 4; ++i)
        if (const Value* field = value.value().find(names[i]); field && field->as_string())
          fields[i] = *field->as_string();
      if (fields[1].empty()) continue;
      Probe probe{Probe::State::failed, fields[0], fields[1], fields[3]};
      if (fields[2] == "held") probe.state = Probe::State::held;
      if (fields[2] == "untried") probe.state = Probe::State::not_applicable;
      std::string why = not_claimed(probe, privileged);
      if (!why.empty()) probe = {Probe::State::not_claimed, probe.group, probe.name, why};
      result_.probes.push_back(std::move(probe));
    }
    if (done) return;
    std::string notes = run.notes.empty() ? "" : cat("; ", join(run.notes, "; "));
    result_.probes.push_back({Probe::State::failed, "checks", "finish all checks",
                              cat("the prober ended early with status ", exit_status(run.outcome),
                                  notes, " ", printable(run.err.substr(0, 200)))});
  }

  // Why the wall does not promise this, as its documentation says; empty if it is promised.
  std::string not_claimed(const Probe& probe, bool privileged) const {
    bool own_kernel = result_.wall == WallKind::gvisor;
    bool is_root_inside = wall::is_oci(result_.wall) && (!privileged || own_kernel);
    if (is_root_inside && (probe.name == "be root" || probe.name == "become root"))
      return own_kernel ? "it is root for a kernel of its own, and nobody on the host"
                        : "runtimes need a root inside, and an ordinary user has one id: it is the "
                          "caller's";
    if (own_kernel && (probe.name == "open /dev/fuse" || probe.name == "open /dev/net/tun"))
      return "it is a device of that kernel, which reaches nothing of the host";
    if (own_kernel && probe.name == "look into process 1")
      return "it only carries what is the program's own";
    if (own_kernel &&
        (probe.name == "hold a capability" || probe.name == "gain privileges by exec"))
      return "that kernel does not tell";
    if (result_.wall != WallKind::process) return "";
    if (starts_with(probe.name, "share the ")) return "the process wall has no namespaces";
    if (probe.name == "see that a file of the host exists")
      return "Landlock guards what is in files, not that they exist";
    if (probe.name == "see a process of the host")
      return "the process wall keeps hands off other processes, not eyes";
    if (probe.name == "hold a capability in the bounding set" && !privileged)
      return "only root can empty it; no_new_privs keeps anyone from gaining out of it";
    return "";
  }

  // Changes an answer after the fact.
  void overrule(const char* name, const char* detail) {
    for (Probe& probe : result_.probes)
      if (probe.name == name) probe.state = Probe::State::failed, probe.detail = detail;
  }

  VerifyInput input_;
  Verification result_;
};

}  // namespace

const char* to_string(Probe::State state) {
  switch (state) {
    case Probe::State::held: return "held";
    case Probe::State::failed: return "failed";
    case Probe::State::not_applicable: return "not applicable";
    case Probe::State::not_claimed: return "not claimed";
  }
  return "";
}

size_t Verification::count(Probe::State state) const {
  return static_cast<size_t>(std::count_if(
      probes.begin(), probes.end(), [&](const Probe& probe) { return probe.state == state; }));
}

Result<Verification> verify(const VerifyInput& input) { return Verifier(input).run_all(); }

}  // namespace paddock::doctor
