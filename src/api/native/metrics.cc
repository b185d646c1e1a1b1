// GET /metrics, for Prometheus: what the sandboxes use, and what the server does. Labels are ids,
// names of routes, rules and kinds; never a text that somebody chose freely, as secrets hide in
// those.
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "api/http/all_routes.h"
#include "api/http/server.h"
#include "base/fd.h"
#include "base/text.h"
#include "monitor/prometheus.h"
#include "record/events.h"

namespace paddock::api {

namespace {

using io::Task;
using monitor::Exposition;
using Type = Exposition::Type;

// A number of a sandbox's usage.
struct Gauge {
  const char* name;
  Type type;
  const char* help;
  uint64_t UsageSample::*value;
};

constexpr Gauge kGauges[] = {
    {"paddock_sandbox_memory_bytes", Type::gauge, "Memory in use.", &UsageSample::memory},
    {"paddock_sandbox_memory_peak_bytes", Type::gauge, "The most memory that was ever in use.",
     &UsageSample::memory_peak},
    {"paddock_sandbox_processes", Type::gauge, "Processes and threads.", &UsageSample::pids},
    {"paddock_sandbox_disk_bytes", Type::gauge, "Bytes that it wrote and that are still there.",
     &UsageSample::disk},
    {"paddock_sandbox_disk_read_bytes_per_second", Type::gauge, "Bytes read from disk.",
     &UsageSample::disk_read_rate},
    {"paddock_sandbox_disk_written_bytes_per_second", Type::gauge, "Bytes written to disk.",
     &UsageSample::disk_write_rate},
    {"paddock_sandbox_network_sent_bytes_total", Type::counter, "Bytes sent so far.",
     &UsageSample::net_up},
    {"paddock_sandbox_network_received_bytes_total", Type::counter, "Bytes received so far.",
     &UsageSample::net_down},
    {"paddock_sandbox_network_connections", Type::gauge, "Open connections.",
     &UsageSample::connections},
    {"paddock_sandbox_throttled_total", Type::counter, "How often its CPU limit held it back.",
     &UsageSample::throttled},
    {"paddock_sandbox_oom_kills_total", Type::counter, "Processes killed for want of memory.",
     &UsageSample::oom_kills},
};

// A sandbox and its last sample.
struct Labelled {
  const manager::SandboxInfo& info;
  const UsageSample& usage;
};

// What has one more label than the gauges above.
void add_kinds(Exposition& out, const std::vector<Labelled>& all) {
  out.metric("paddock_sandbox_memory_kind_bytes", Type::gauge,
             "Memory in use by kind; shared memory counts as file as well.");
  for (const auto& [info, usage] : all) {
    const std::pair<const char*, uint64_t> kinds[] = {{"anon", usage.memory_anon},
                                                      {"file", usage.memory_file},
                                                      {"shmem", usage.memory_shmem},
                                                      {"kernel", usage.memory_kernel},
                                                      {"sockets", usage.memory_sockets}};
    for (const auto& [kind, bytes] : kinds)
      out.sample({{"sandbox", info.id},
                  {"tenant", info.tenant},
                  {"template", info.template_id},
                  {"kind", kind}},
                 bytes);
  }
  out.metric("paddock_sandbox_pressure_ratio", Type::gauge,
             "Part of the last ten seconds in which something waited (PSI).");
  for (const auto& [info, usage] : all) {
    const std::pair<const char*, double> kinds[] = {
        {"cpu", usage.pressure_cpu}, {"memory", usage.pressure_memory}, {"io", usage.pressure_io}};
    for (const auto& [resource, percent] : kinds)
      if (percent >= 0)
        out.sample({{"sandbox", info.id},
                    {"tenant", info.tenant},
                    {"template", info.template_id},
                    {"resource", resource}},
                   percent / 100);
  }
}

void add_sandboxes(Exposition& out,
                   const std::vector<std::shared_ptr<manager::Sandbox>>& sandboxes) {
  std::map<std::string, uint64_t> states;
  for (int state = 0; state <= static_cast<int>(manager::SandboxState::ending); ++state)
    states[manager::to_string(static_cast<manager::SandboxState>(state))] = 0;
  std::vector<Labelled> all;
  for (const std::shared_ptr<manager::Sandbox>& sandbox : sandboxes) {
    ++states[manager::to_string(sandbox->info().state)];
    if (const UsageSample* usage = sandbox->usage()) all.push_back({sandbox->info(), *usage});
  }
  out.metric("paddock_sandboxes", Type::gauge, "Sandboxes by state.");
  for (const auto& [state, count] : states) out.sample({{"state", state}}, count);
  out.metric("paddock_sandbox_cpu_percent", Type::gauge, "CPU in use: 100 is one core.");
  for (const auto& [info, usage] : all)
    out.sample({{"sandbox", info.id}, {"tenant", info.tenant}, {"template", info.template_id}},
               usage.cpu_percent);
  for (const Gauge& gauge : kGauges) {
    out.metric(gauge.name, gauge.type, gauge.help);
    for (const auto& [info, usage] : all)
      out.sample({{"sandbox", info.id}, {"tenant", info.tenant}, {"template", info.template_id}},
                 static_cast<double>(usage.*gauge.value));
  }
  out.metric("paddock_sandbox_memory_limit_bytes", Type::gauge, "Memory that it may use.");
  for (const auto& [info, usage] : all)
    if (info.memory_bytes)
      out.sample({{"sandbox", info.id}, {"tenant", info.tenant}, {"template", info.template_id}},
                 info.memory_bytes);
  add_kinds(out, all);
}

// One number without labels.
template <class Number>
void add_number(Exposition& out, const char* name, Type type, const char* help, Number number) {
  out.metric(name, type, help);
  out.sample({}, number);
}

// One counter with one label.
void add_counts(Exposition& out, const char* name, const char* help, const char* label,
                const std::map<std::string, uint64_t>& counts) {
  out.metric(name, Type::counter, help);
  for (const auto& [which, count] : counts) out.sample({{label, which}}, count);
}

void add_events(Exposition& out, manager::Manager& manager) {
  const record::EventCounters& tally = manager.counters();
  std::map<std::string, uint64_t> events = manager.events().counts();
  add_number(out, "paddock_sandboxes_created_total", Type::counter,
             "Sandboxes that were to be made.", events["sandbox.create"]);
  add_counts(out, "paddock_sandboxes_ended_total", "Sandboxes that ended, by reason.", "reason",
             tally.ends());
  add_counts(out, "paddock_events_total", "Events, by kind.", "kind", events);
  add_counts(out, "paddock_limits_total", "Limits that ended a sandbox or a command, by name.",
             "limit", tally.limits());
  add_counts(out, "paddock_monitor_rules_total", "Rules of [monitor] that came to hold, by name.",
             "rule", tally.rules());
  add_counts(out, "paddock_denials_total", "What was denied by a policy, by layer.", "layer",
             tally.denials());
  add_counts(out, "paddock_redactions_total", "Secrets that were taken out, by kind.", "kind",
             tally.redactions());
  audit::Journal::Health health = manager.events().health();
  add_number(out, "paddock_audit_failing", Type::gauge, "1 while the audit log cannot be written.",
             static_cast<uint64_t>(health.failing));
  add_number(out, "paddock_audit_records_total", Type::counter, "Records written to the audit log.",
             health.records);
  add_number(out, "paddock_audit_syncs_total", Type::counter,
             "How often that was brought to the disk.", health.syncs);
  add_number(out, "paddock_audit_missing_total", Type::counter,
             "Records that could not be written of what happened all the same.", health.missing);
}

void add_requests(Exposition& out, const Server& server) {
  out.metric("paddock_http_requests_total", Type::counter,
             "Requests that were answered, by route and class of status.");
  for (const auto& [key, sum] : server.requests().sums()) {
    uint64_t all = 0;
    for (uint64_t count : sum.counts) all += count;
    out.sample({{"route", key.route}, {"method", key.method}, {"status", key.status}}, all);
  }
  // Without the status: each label more is sixteen series more.
  struct Both {
    std::vector<uint64_t> counts;
    double seconds = 0;
  };
  std::map<std::pair<std::string, std::string_view>, Both> by_route;
  for (const auto& [key, sum] : server.requests().sums()) {
    Both& both = by_route[{key.route, key.method}];
    both.counts.resize(sum.counts.size());
    for (size_t i = 0; i < sum.counts.size(); ++i) both.counts[i] += sum.counts[i];
    both.seconds += sum.seconds;
  }
  out.metric("paddock_http_request_duration_seconds", Type::histogram,
             "From a request's head to the last byte of its answer.");
  for (const auto& [key, both] : by_route)
    out.histogram({{"route", key.first}, {"method", key.second}}, RequestStats::bounds(),
                  both.counts, both.seconds);
  add_number(out, "paddock_http_connections", Type::gauge, "Connections to the server.",
             static_cast<uint64_t>(server.connections()));
}

// What this process itself uses, under the names that Prometheus' own libraries have for it.

// Counts the entries of /proc/self/fd.
uint64_t open_descriptors() {
  DIR* entries = ::opendir("/proc/self/fd");
  if (!entries) return 0;
  uint64_t count = 0;
  while (::readdir(entries)) ++count;
  ::closedir(entries);
  return count > 3 ? count - 3 : 0;  // ".", ".." and this one
}

// Field `number` of /proc/self/stat, numbered as in proc(5).
double stat_field(const std::string& stat, size_t number) {
  size_t end = stat.rfind(") ");
  if (end == std::string::npos) return 0;
  std::vector<std::string> fields = words_in(stat.substr(end + 2));
  return number - 3 < fields.size() ? std::strtod(fields[number - 3].c_str(), nullptr) : 0;
}

// Seconds since 1970 at which the host was started: "btime N" in /proc/stat.
double boot_time() {
  Result<std::string> stat = read_file("/proc/stat", 4 << 20);
  size_t at = stat ? stat.value().find("\nbtime ") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtod(stat.value().c_str() + at + 7, nullptr);
}

void add_process(Exposition& out) {
  Result<std::string> read = read_file("/proc/self/stat", 1 << 16);
  std::string stat = read ? read.value() : "";
  double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK)),
         page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  rlimit files{};
  (void)::getrlimit(RLIMIT_NOFILE, &files);
  add_number(out, "process_cpu_seconds_total", Type::counter,
             "User and system CPU time of the server, in seconds.",
             (stat_field(stat, 14) + stat_field(stat, 15)) / ticks);
  add_number(out, "process_resident_memory_bytes", Type::gauge, "Resident memory of the server.",
             stat_field(stat, 24) * page);
  add_number(out, "process_virtual_memory_bytes", Type::gauge, "Virtual memory of the server.",
             stat_field(stat, 23));
  add_number(out, "process_open_fds", Type::gauge, "Descriptors that the server has open.",
             open_descriptors());
  add_number(out, "process_max_fds", Type::gauge, "Descriptors that it may have open.",
             static_cast<uint64_t>(files.rlim_cur));
  static const double booted = boot_time();
  add_number(out, "process_start_time_seconds", Type::gauge,
             "When the server was started, in seconds since 1970.",
             booted + stat_field(stat, 22) / ticks);
}

Task<Result<Reply>> metrics(Call& call) {
  Exposition out;
  out.metric("paddock_build_info", Type::gauge, "Which server this is.");
  out.sample({{"version", PADDOCK_VERSION}}, uint64_t{1});
  add_sandboxes(out, call.manager.all());
  add_events(out, call.manager);
  add_requests(out, call.server);
  add_process(out);
  co_return Reply::text(200, "text/plain; version=0.0.4; charset=utf-8", out.text());
}

}  // namespace

std::vector<Route> metrics_routes() {
  return {
      {"GET", "/metrics", "metrics", metrics,
       "what everything uses and does, of all tenants, for Prometheus", "", "", "text"},
  };
}

}  // namespace paddock::api
