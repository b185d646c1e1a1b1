// What a sandbox used, and what happened in it.
#include <algorithm>
#include <cmath>

#include "api/e2b/control.h"
#include "api/http/all_routes.h"
#include "base/text.h"

namespace paddock::api::e2b {
namespace {

using io::Task;
using SandboxPointer = std::shared_ptr<manager::Sandbox>;

constexpr size_t kMostBulk = 100, kMostLines = 1000;

// A sample as E2B's SandboxMetric. Its percentage is of all cores together.
Value metric_json(const manager::SandboxInfo& info, const UsageSample& metric) {
  uint64_t cores = std::max<uint64_t>(1, (info.cpu_millicores + 999) / 1000);
  double percent = std::round(metric.cpu_percent / static_cast<double>(cores) * 100) / 100;
  return Value::Object{{"timestamp", time_text(metric.time_ms)},
                       {"timestampUnix", metric.time_ms / 1000},
                       {"cpuCount", cores},
                       {"cpuUsedPct", percent},
                       {"memUsed", metric.memory},
                       {"memTotal", info.memory_bytes},
                       {"memCache", metric.memory_file},
                       {"diskUsed", metric.disk},
                       {"diskTotal", info.disk_bytes}};
}

// A line of the log as E2B's entry, and as the line of JSON that its command line reads: a level,
// who says it, what, and the rest as fields. What is not a string is shown as JSON.
struct Entry {
  int64_t time = 0;
  std::string level;
  Value json;
  std::string line;
};

// Denials are warnings; limits and errors are errors.
std::string level_of(const std::string& kind, const Value& fields) {
  if (kind == "limit" || kind == "monitor.kill") return "error";
  const Value *verdict = fields.find("verdict"), *error = fields.find("error");
  if (error && error->as_string() && !error->as_string()->empty()) return "error";
  bool denied =
      kind == "denial" || (verdict && verdict->as_string() && *verdict->as_string() == "deny");
  return denied || kind == "weakening" || starts_with(kind, "monitor.") ? "warn" : "info";
}

// Reads a line of the sandbox's log. None: it is not one of ours.
std::optional<Entry> parse_line(const std::string& line) {
  Result<Value> parsed = parse_json(line, "log");
  if (!parsed || !parsed.value().as_object()) return {};
  Entry entry;
  Value fields = Value::Object{};
  std::string message;
  for (const auto& [name, value] : *parsed.value().as_object()) {
    std::string text = value.as_string() ? *value.as_string() : to_json(value);
    if (name == "time_ms" && value.as_int())
      entry.time = *value.as_int();
    else if (name == "kind")
      message = text;
    else
      fields.set(name, text);
  }
  // The logger of "exec.start" is "exec", that of "limit" is "sandbox".
  size_t dot = message.find('.');
  std::string logger = dot == std::string::npos ? "sandbox" : message.substr(0, dot);
  entry.level = level_of(message, fields);
  Value shown = Value::Object{{"timestamp", time_text(entry.time)},
                              {"level", entry.level},
                              {"logger", logger},
                              {"message", message}};
  for (const auto& [name, value] : *fields.as_object())
    if (!shown.find(name)) shown.set(name, value);
  entry.line = to_json(shown);
  fields.set("logger", logger);
  entry.json = Value::Object{{"timestamp", time_text(entry.time)},
                             {"level", entry.level},
                             {"message", message},
                             {"fields", std::move(fields)}};
  return entry;
}

// Entries of this level and of worse ones are asked for.
bool is_wanted(const std::string& level, const std::string& least) {
  auto rank = [](const std::string& name) {
    return name == "error" ? 3 : name == "warn" ? 2 : name == "debug" ? 0 : 1;
  };
  return least.empty() || rank(level) >= rank(least);
}

// How many lines are asked for, within bounds.
size_t limit_of(const Call& call) {
  return static_cast<size_t>(
      std::clamp<int64_t>(number_in_query(call, "limit").value_or(kMostLines), 1, kMostLines));
}

// The samples of the last hour, between start and end where those are given.
Task<Result<Reply>> metrics(Call& call) {
  CO_TRY(SandboxPointer sandbox, call.manager.find(call.caller, sandbox_id(call)));
  int64_t start = number_in_query(call, "start").value_or(0),
          end = number_in_query(call, "end").value_or(INT64_MAX / 1000);
  Value::Array list;
  for (const UsageSample& metric : sandbox->history().hour())
    if (metric.time_ms / 1000 >= start && metric.time_ms / 1000 <= end)
      list.push_back(metric_json(sandbox->info(), metric));
  co_return Reply::json(200, std::move(list));
}

// The last sample of each sandbox that is named. Those that are unknown are left out.
Task<Result<Reply>> bulk_metrics(Call& call) {
  std::vector<std::string> ids = split(call.query("sandbox_ids"), ',');
  if (ids.size() > kMostBulk)
    co_return Error{Code::invalid, cat("sandbox_ids: more than ", kMostBulk)};
  Value sandboxes = Value::Object{};
  for (const std::string& id : ids) {
    Result<SandboxPointer> found = call.manager.find(call.caller, id.substr(0, id.find('-')));
    const UsageSample* usage = found ? found.value()->usage() : nullptr;
    if (usage && !sandboxes.find(id)) sandboxes.set(id, metric_json(found.value()->info(), *usage));
  }
  co_return Reply::json(200, Value::Object{{"sandboxes", std::move(sandboxes)}});
}

// The log from `start` on, twice: as lines of JSON, and as entries.
Task<Result<Reply>> logs_v1(Call& call) {
  CO_TRY(SandboxPointer sandbox, call.manager.find(call.caller, sandbox_id(call)));
  int64_t start = number_in_query(call, "start").value_or(0);
  size_t limit = limit_of(call);
  Value::Array lines, entries;
  for (const std::string& line : sandbox->log()) {
    std::optional<Entry> entry = parse_line(line);
    if (!entry || entry->time < start || lines.size() >= limit) continue;
    lines.push_back(Value::Object{{"timestamp", time_text(entry->time)}, {"line", entry->line}});
    entries.push_back(std::move(entry->json));
  }
  co_return Reply::json(
      200, Value::Object{{"logs", std::move(lines)}, {"logEntries", std::move(entries)}});
}

// The log by pages, forward or backward from `cursor`, filtered by level and text.
Task<Result<Reply>> logs_v2(Call& call) {
  CO_TRY(SandboxPointer sandbox, call.manager.find(call.caller, sandbox_id(call)));
  bool backward = call.query("direction") == "backward";
  int64_t cursor = number_in_query(call, "cursor").value_or(backward ? INT64_MAX : 0);
  std::string search = call.query("search"), least = call.query("level");
  size_t limit = limit_of(call);
  std::vector<std::string> lines = sandbox->log();
  if (backward) std::reverse(lines.begin(), lines.end());
  Value::Array entries;
  for (const std::string& line : lines) {
    if (entries.size() >= limit) break;
    if (!search.empty() && line.find(search) == std::string::npos) continue;
    std::optional<Entry> entry = parse_line(line);
    if (!entry || !is_wanted(entry->level, least) ||
        (backward ? entry->time > cursor : entry->time < cursor))
      continue;
    entries.push_back(std::move(entry->json));
  }
  co_return Reply::json(200, Value::Object{{"logs", std::move(entries)}});
}

}  // namespace

std::vector<Route> metrics_routes() {
  return {
      {"GET", "/sandboxes/metrics", "read", bulk_metrics},
      {"GET", "/sandboxes/{id}/metrics", "read", metrics},
      {"GET", "/sandboxes/{id}/logs", "read", logs_v1},
      {"GET", "/v2/sandboxes/{id}/logs", "read", logs_v2},
  };
}

}  // namespace paddock::api::e2b
