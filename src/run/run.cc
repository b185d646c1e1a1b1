#include "run/run.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"
#include "launch/keeper.h"
#include "launch/launcher.h"
#include "launch/watch.h"
#include "run/environment.h"
#include "run/hints.h"
#include "run/monitor.h"
#include "run/secrets.h"
#include "run/supervisor.h"
#include "store/diff.h"
#include "wall/report.h"

namespace paddock::runs {

namespace {

// The two ends of the program's streams: for the keeper, and for us.
struct Plumbing {
  Streams ours;
  std::vector<Fd> theirs;  // stdin, stdout, stderr
};

// A file could be opened again inside with more rights. A pipe gives nothing more.
Result<Fd> own_pipe(int number) {
  struct stat info;
  if (::fstat(number, &info) != 0 || !S_ISFIFO(info.st_mode))
    return Error{Code::invalid, cat("use descriptor ", number, " as it is: it is no pipe"), ""};
  Fd copy(::fcntl(number, F_DUPFD_CLOEXEC, 3));
  if (!copy) return errno_error(errno, "copy a standard stream");
  return copy;
}

// Closes our copies, because the process at the other ends waits for the program to close them.
Result<void> let_go_of_own_pipes() {
  Fd null = TRY(open_file("/dev/null", O_RDWR));
  for (int number : {STDIN_FILENO, STDOUT_FILENO})
    if (::dup2(null.get(), number) < 0) return errno_error(errno, "let go of a standard stream");
  return {};
}

// Makes a pipe for each stream. The caller's own descriptor is never used, unless it is a pipe made
// for this.
Result<Plumbing> connect(const wall::Request& request, bool raw) {
  Plumbing plumbing;
  plumbing.ours.stdin_is_terminal = request.terminal[0];
  plumbing.ours.stdout_is_terminal = request.terminal[1];
  plumbing.ours.stderr_is_terminal = request.terminal[2];
  for (int i = 0; i < 3; ++i) {
    if (request.terminal[i]) {  // a placeholder keeps the indices
      plumbing.theirs.push_back(TRY(open_file("/dev/null", O_RDWR)));
      continue;
    }
    if (raw && i < 2) {
      plumbing.theirs.push_back(TRY(own_pipe(i)));
      continue;
    }
    Pipe pipe = TRY(make_pipe());
    plumbing.theirs.push_back(std::move(i == 0 ? pipe.read : pipe.write));
    (i == 0   ? plumbing.ours.in
     : i == 1 ? plumbing.ours.out
              : plumbing.ours.err) = std::move(i == 0 ? pipe.write : pipe.read);
  }
  return plumbing;
}

void add_hit(RunResult& result, LimitKind kind, uint64_t value, uint64_t peak) {
  result.limits_hit.push_back({kind, value, peak});
}

// Collects every limit that was hit, from what the keeper and the supervisor saw.
void collect_hits(RunResult& result, const Supervised& run, const wall::LimitPlan& limits) {
  const launch::Ended& ended = run.ended;
  auto value_of = [&](LimitKind kind) {
    return limits.limits.count(kind) ? limits.limits.at(kind).value : 0;
  };
  bool pids_full =
      ended.pids_refused || (limits.watch.kernel_pids && ended.pids_peak != launch::kUnmeasured &&
                             ended.pids_peak >= limits.watch.kernel_pids);
  auto killed_by = [&](LimitKind kind) { return ended.killed_by == static_cast<int32_t>(kind); };
  bool memory_over = limits.watch.memory && ended.memory_peak > limits.watch.memory;
  if (ended.oom_kills || memory_over || killed_by(LimitKind::memory))
    add_hit(result, LimitKind::memory, value_of(LimitKind::memory), ended.memory_peak);
  if (pids_full || killed_by(LimitKind::pids))
    add_hit(result, LimitKind::pids, value_of(LimitKind::pids), ended.pids_peak);
  // What was measured in the workspace and the grants counts together with the tmpfs, which may
  // also be full by itself.
  auto cap = [&](LimitKind kind, uint64_t measured, uint64_t own) {
    return measured && (killed_by(kind) || own > measured) ? measured : own;
  };
  if (ended.disk_full || killed_by(LimitKind::disk))
    add_hit(result, LimitKind::disk, cap(LimitKind::disk, limits.watch.measured_disk, limits.disk),
            ended.disk_bytes);
  if (ended.inodes_full || killed_by(LimitKind::inodes))
    add_hit(result, LimitKind::inodes,
            cap(LimitKind::inodes, limits.watch.measured_inodes, limits.inodes), ended.disk_inodes);
  if (killed_by(LimitKind::cpu_time))
    add_hit(result, LimitKind::cpu_time, value_of(LimitKind::cpu_time), ended.cpu_us / 1000);
  if (killed_by(LimitKind::wall_time))
    add_hit(result, LimitKind::wall_time, value_of(LimitKind::wall_time), ended.wall_us / 1000);
  if (killed_by(LimitKind::idle_time))
    add_hit(result, LimitKind::idle_time, value_of(LimitKind::idle_time),
            value_of(LimitKind::idle_time));
  if (run.output_hit)
    add_hit(result, LimitKind::output, value_of(LimitKind::output), run.output_bytes);
  if (WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGXFSZ &&
      value_of(LimitKind::file_size))
    add_hit(result, LimitKind::file_size, value_of(LimitKind::file_size),
            value_of(LimitKind::file_size));
}

// A limit is the outcome only if it ended the program; otherwise it is listed in limits_hit alone.
Outcome outcome_of(const RunResult& result, const Supervised& run, bool own_kernel) {
  const launch::Ended& ended = run.ended;
  auto hit = [&](LimitKind kind) -> const LimitHit* {
    for (const LimitHit& limit : result.limits_hit)
      if (limit.limit == kind) return &limit;
    return nullptr;
  };
  auto by_limit = [&](LimitKind kind) {
    return Outcome{.kind = Outcome::Kind::limit, .limit = *hit(kind)};
  };
  if (ended.killed_by >= 0 && hit(static_cast<LimitKind>(ended.killed_by)))
    return by_limit(static_cast<LimitKind>(ended.killed_by));
  bool signaled = WIFSIGNALED(ended.status);
  if (signaled && WTERMSIG(ended.status) == SIGKILL && hit(LimitKind::memory))
    return by_limit(LimitKind::memory);
  // Another kernel cannot go on without a thread that it asks the host for.
  if (signaled && WTERMSIG(ended.status) == SIGKILL && own_kernel && hit(LimitKind::pids))
    return by_limit(LimitKind::pids);
  if (signaled && hit(LimitKind::file_size)) return by_limit(LimitKind::file_size);
  if (signaled) return Outcome{.kind = Outcome::Kind::signaled, .signal = WTERMSIG(ended.status)};
  return Outcome{.kind = Outcome::Kind::exited, .code = WEXITSTATUS(ended.status)};
}

std::string current_directory() {
  char path[PATH_MAX];
  return ::getcwd(path, sizeof path) ? path : "/";
}

// A program that could not be started has an outcome like any other: status 127 if it was not
// found, 126 if it cannot be executed, as in shells.
void explain_not_run(RunResult& result, const Supervised& run, const Prepared& prepared) {
  if (!run.not_run) return;
  bool missing = run.not_run == ENOENT;
  result.outcome = Outcome{.kind = Outcome::Kind::exited, .code = missing ? 127 : 126};
  const std::string& name = prepared.compiled.plan.argv[0];
  std::string text =
      cat("'", printable(name), "' could not be started: ",
          missing ? "not found inside the sandbox" : std::string(std::strerror(run.not_run)));
  if (std::string hint = missing ? missing_program_hint(prepared.request, current_directory()) : "";
      !hint.empty())
    text += cat(": ", hint);
  if (run.not_run == EACCES && starts_with(name, "/tmp"))
    text += " (/tmp does not run programs; files.tmp_exec = true in a policy allows it)";
  result.notes.push_back(std::move(text));
}

// What accompanies a run while it lasts.
struct Watch {
  RunRedaction redaction;
  std::optional<RunRecord> record;
};

// Connects the network's log to its readers; they get it redacted.
void watch_network(Egress& egress, Watch& watch) {
  egress.on_entry = [&watch, written = std::move(egress.on_entry)](const std::string& line) {
    if (written) written(watch.redaction.clean_json(line));
    if (watch.record) watch.record->connection(line);
  };
}

// Compares what the run uses with the rules of [monitor] while it lasts.
void watch_usage(RunMonitor& monitor, Prepared& prepared, SupervisorOptions& supervisor,
                 Watch& watch) {
  monitor.on_finding = [&watch](const char* kind, const LimitHit& hit) {
    if (watch.record) watch.record->event(kind, to_value(hit));
  };
  monitor.begin();
  supervisor.sample_every_ms = monitor.every_ms();
  supervisor.on_usage = [&monitor, &prepared](const launch::LivingUsage& usage) {
    return monitor.take(usage, prepared.egress ? &prepared.egress->live() : nullptr);
  };
}

void add_findings(RunResult& result, const RunMonitor& monitor) {
  result.history = monitor.history();
  for (const std::string& warning : monitor.warnings()) result.notes.push_back(warning);
  bool was_killed =
      result.outcome.kind == Outcome::Kind::signaled && result.outcome.signal == SIGKILL;
  if (!monitor.ended_by() || !was_killed) return;  // it may have ended by itself in that instant
  result.limits_hit.push_back(*monitor.ended_by());
  result.outcome = Outcome{.kind = Outcome::Kind::limit, .limit = *monitor.ended_by()};
}

// The body of a run. The plan is complete when this begins; only the caller's options are added to
// it. From send_plan() on the keeper acts, and if this fails, closing its socket ends everything.
Result<RunResult> run_prepared(Prepared& prepared, launch::KeeperProcess keeper,
                               const RunOptions& options, Watch& watch) {
  RunResult result;
  launch::Plan& plan = prepared.compiled.plan;
  result.id = plan.id;
  result.wall = prepared.wall;
  result.weakened = prepared.compiled.weakened;
  result.notes = options.notes;
  result.notes.insert(result.notes.end(), prepared.compiled.notes.begin(),
                      prepared.compiled.notes.end());
  plan.hold = options.report;
  if (options.discard && prepared.change_set)
    plan.discard =
        prepared.change_set->upper.substr(0, prepared.change_set->upper.rfind("/layers"));

  Plumbing plumbing = TRY(connect(prepared.request, options.raw));
  std::vector<int> descriptors;
  for (const Fd& fd : plumbing.theirs) descriptors.push_back(fd.get());
  Fd to_egress = prepared.egress ? prepared.egress->take_sandbox_socket() : Fd();
  if (to_egress) descriptors.push_back(to_egress.get());
  if (prepared.uid) descriptors.push_back(prepared.uid->lock.get());
  if (prepared.change_set) descriptors.push_back(prepared.change_set->directory.get());
  TRY(launch::send_plan(keeper.control.get(), launch::encode(plan), descriptors));
  plumbing.theirs.clear();
  to_egress.reset();
  if (options.raw) TRY(let_go_of_own_pipes());

  // The third process that can inherit the program's processes, after the keeper and its parent.
  // Not in a library, where the application's own children would be among them.
  if (!plan.container && options.only_run) (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  uint64_t output_limit =
      options.raw ? 0 : prepared.request.policy.limits[LimitKind::output].value_or(0);
  SupervisorOptions supervisor{
      .capture = options.capture,
      .output_limit = output_limit,
      .caller = options.caller,
      .rules = [&] { return watch.redaction.rules(); },
      .tell_output = prepared.request.policy.limits[LimitKind::idle_time].has_value()};
  if (prepared.egress) {
    watch_network(*prepared.egress, watch);
    supervisor.network = prepared.egress->events();
    supervisor.on_network = [&] { return prepared.egress->read_events(); };
  }
  supervisor.on_ready = [&](const launch::Record& ready) -> Result<void> {
    result.enforced = TRY(wall::read_back(prepared.request, prepared.facts, prepared.compiled,
                                          ready.number, ready.numbers));
    if (options.raw) result.enforced.erase("output");  // that is the caller's to hold
    return {};
  };
  std::optional<RunMonitor> monitor;
  if (!prepared.request.policy.monitor.rules.empty())
    watch_usage(monitor.emplace(prepared.request.policy, plan), prepared, supervisor, watch);
  Result<Supervised> supervised =
      supervise(std::move(keeper), std::move(plumbing.ours), supervisor);
  if (!supervised) {
    if (prepared.change_set) (void)store::discard_change_set(std::move(*prepared.change_set));
    return std::move(supervised.error());
  }
  const Supervised& run = supervised.value();
  if (run.keeper_died) {
    if (!plan.container && options.only_run) launch::end_descendants({});
    launch::clean_up_after(plan);
    return Error{Code::internal, "the keeper died, and the sandbox with it",
                 "see the kernel log for an out-of-memory kill"};
  }
  result.out = run.out;
  result.err = run.err;
  result.out_truncated = run.out_truncated;
  result.err_truncated = run.err_truncated;
  result.redacted = run.redacted;
  result.redactions = redact::total(run.redacted);
  result.usage = {static_cast<double>(run.ended.wall_us) / 1000,
                  static_cast<double>(run.ended.cpu_us) / 1000, run.ended.memory_peak,
                  // The network's come from egress.
                  run.ended.pids_peak, run.ended.disk_bytes, 0, 0};
  collect_hits(result, run, prepared.compiled.limits);
  if (prepared.egress) prepared.egress->finish(result);
  if (prepared.egress && watch.record)
    watch.record->connections_lost(prepared.egress->entries_lost());
  result.outcome = outcome_of(result, run, plan.boot.carried);
  if (monitor) add_findings(result, *monitor);
  explain_not_run(result, run, prepared);
  bool failed =
      !run.not_run && result.outcome.kind == Outcome::Kind::exited && result.outcome.code != 0;
  std::string_view said = options.capture ? std::string_view(run.err) : std::string_view(run.tail);
  if (failed)
    for (std::string& hint : failure_hints(prepared.request, current_directory(), said))
      result.notes.push_back(std::move(hint));
  for (std::string& note : environment_notes(prepared.request.command, prepared.request.policy))
    result.notes.push_back(std::move(note));
  if (prepared.change_set) {
    Result<std::vector<store::Change>> changes = store::diff(*prepared.change_set);
    bool is_empty = changes && changes.value().empty();
    if (options.discard || is_empty)
      TRY(store::discard_change_set(std::move(*prepared.change_set)));
    else
      result.change_set = prepared.change_set->id;
  }
  return result;
}

// Everything that must not be seen in what the run prints, reports or records.
Secrets secrets_of(const Prepared& prepared, const RunOptions& options) {
  Secrets secrets = prepared.request.command.secrets;
  if (prepared.egress) prepared.egress->add_secrets(secrets);  // should one come back all the same
  if (options.record)
    for (const auto& [name, value] : options.record->telemetry.headers)
      secrets.emplace(cat("telemetry ", name), value);
  return secrets;
}

}  // namespace

Result<RunResult> run(Prepared prepared, const RunOptions& options) {
  if (!prepared.keeper)
    return Error{Code::internal, "the run was prepared for a keeper that the caller has", ""};
  launch::KeeperProcess keeper = std::move(*prepared.keeper);
  prepared.keeper.reset();
  return run(std::move(prepared), std::move(keeper), options);
}

Result<RunResult> run(Prepared prepared, launch::KeeperProcess keeper, const RunOptions& options) {
  Watch watch{.redaction =
                  TRY(RunRedaction::create(prepared.request.policy, secrets_of(prepared, options))),
              .record = {}};
  if (options.record) {
    watch.record.emplace(prepared, *options.record, watch.redaction);
    // The record comes before anything happens; without it nothing happens.
    Result<void> recorded = watch.record->start(prepared);
    if (!recorded && prepared.change_set)
      (void)store::discard_change_set(std::move(*prepared.change_set));
    if (!recorded) return watch.redaction.clean(recorded.error());
  }
  Result<RunResult> result = run_prepared(prepared, std::move(keeper), options, watch);
  if (!result) {
    if (watch.record) watch.record->failed(result.error());
    return watch.redaction.clean(result.error());
  }
  watch.redaction.clean(result.value());
  if (watch.record) watch.record->end(result.value());
  return result;
}

}  // namespace paddock::runs
