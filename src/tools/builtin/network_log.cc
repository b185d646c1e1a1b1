#include <algorithm>

#include "base/event.h"
#include "base/text.h"
#include "tools/builtin/job.h"
#include "tools/builtin/result.h"

namespace paddock::tools::builtin {

namespace {

using io::Task;

// A line of the egress log as the output schema has it. Empty members are left out.
Value entry_of(const Value& line) {
  Value entry;
  entry.set("time", rfc3339(number_in(line, "time_ms") * 1000, 3));
  entry.set("host", text_in(line, "name"));
  entry.set("port", number_in(line, "port"));
  for (const char* key : {"protocol", "method", "path", "verdict", "rule", "why", "error"})
    if (!text_in(line, key).empty()) entry.set(key, text_in(line, key));
  for (const char* key : {"status", "bytes_up", "bytes_down"})
    if (number_in(line, key) != 0) entry.set(key, number_in(line, key));
  return entry;
}

// The same on one line, for the model.
std::string words_of(const Value& entry) {
  std::string why = text_in(entry, "why"), error = text_in(entry, "error"),
              method = text_in(entry, "method");
  return cat(text_in(entry, "time"), " ", text_in(entry, "verdict"), " ",
             text_in(entry, "protocol"), " ", text_in(entry, "host"), ":", number_in(entry, "port"),
             method.empty() ? "" : cat(" ", method, " ", text_in(entry, "path")),
             number_in(entry, "status") ? cat(" ", number_in(entry, "status")) : std::string(),
             " by ", text_in(entry, "rule"), why.empty() ? "" : cat(": ", why),
             error.empty() ? "" : cat(" (failed: ", error, ")"), "\n");
}

}  // namespace

// Reads the log of the sandbox from its end, so that the latest entries are the ones that are
// kept.
Task<Result<Value>> network_log(Job job) {
  std::string named = job.text("sandbox");
  std::shared_ptr<manager::Sandbox> sandbox =
      named.empty() ? job.shared->sandboxes->default_of(job.caller, job.principal->id) : nullptr;
  if (!named.empty()) {
    CO_TRY(sandbox, job.manager().find(job.caller, named));
  }
  if (!sandbox) {
    co_return Error{Code::not_found, "you have no sandbox yet, so nothing was asked of the network",
                    "the first call of run_code or run_command makes one"};
  }
  size_t most = static_cast<size_t>(job.number("limit", 100));
  bool denied_only = job.flag("denied_only", false), more = false;
  std::vector<Value> entries;  // the latest first
  const std::vector<std::string>& log = sandbox->log();
  for (auto line = log.rbegin(); line != log.rend() && !more; ++line) {
    if (line->find("\"connection\"") == std::string::npos) continue;
    Result<Value> event = parse_json(*line, "log");
    if (!event || text_in(event.value(), "kind") != "connection" ||
        (denied_only && text_in(event.value(), "verdict") != "deny"))
      continue;
    more = entries.size() >= most;
    if (!more) entries.push_back(entry_of(event.value()));
  }
  std::reverse(entries.begin(), entries.end());
  ToolReport report;
  std::vector<std::string> hosts =
      sandbox->info().policy.network.allow.value_or(std::vector<std::string>());
  report.text =
      hosts.empty()
          ? "This sandbox has no network at all: nothing is let through, and nothing is logged.\n"
          : cat("Allowed: ", join(hosts, ", "), "\n");
  for (const Value& entry : entries) report.text += words_of(entry);
  if (entries.empty() && !hosts.empty())
    report.text += denied_only ? "(nothing was denied)" : "(nothing was asked for yet)";
  report.data.set("sandbox", sandbox->info().id);
  report.data.set("allow_hosts", text_list(hosts));
  report.data.set("entries", Value::Array(entries.begin(), entries.end()));
  report.data.set("truncated", more || sandbox->log_dropped() > 0);
  co_return to_result(std::move(report));
}

}  // namespace paddock::tools::builtin
