#include <algorithm>

#include "base/event.h"
#include "base/text.h"
#include "tools/builtin/job.h"
#include "tools/builtin/result.h"

namespace paddock::tools::builtin {

namespace {

using io::Task;

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

Task<Value> network_log(Job job) {
  std::string named = job.text("sandbox");
  std::shared_ptr<manager::Sandbox> sandbox =
      named.empty() ? job.shared->boxes->own_of(job.caller, job.principal->id) : nullptr;
  if (!named.empty()) {
    Result<std::shared_ptr<manager::Sandbox>> found = job.manager().find(job.caller, named);
    if (!found) co_return refusal(found.error());
    sandbox = found.value();
  }
  if (!sandbox) {
    Error error{Code::not_found, "you have no sandbox yet, so nothing was asked of the network",
                "the first call of run_code or run_command makes one"};
    co_return refusal(error);
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
  Told told;
  std::vector<std::string> hosts =
      sandbox->info().policy.network.allow.value_or(std::vector<std::string>());
  told.text =
      hosts.empty()
          ? "This sandbox has no network at all: nothing is let through, and nothing is logged.\n"
          : cat("Allowed: ", join(hosts, ", "), "\n");
  for (const Value& entry : entries) told.text += words_of(entry);
  if (entries.empty() && !hosts.empty())
    told.text += denied_only ? "(nothing was denied)" : "(nothing was asked for yet)";
  told.data.set("sandbox", sandbox->info().id);
  told.data.set("allow_hosts", text_list(hosts));
  told.data.set("entries", Value::Array(entries.begin(), entries.end()));
  told.data.set("truncated", more || sandbox->log_dropped() > 0);
  co_return to_result(std::move(told));
}

}  // namespace paddock::tools::builtin
