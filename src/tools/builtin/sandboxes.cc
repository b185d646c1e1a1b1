#include "base/event.h"
#include "base/text.h"
#include "base/units.h"
#include "tools/builtin/job.h"
#include "tools/builtin/result.h"

namespace paddock::tools::builtin {

namespace {

using io::Task;
using manager::Sandbox;
using manager::SandboxInfo;

// A sandbox as structured data: the members that the output schema names.
Value described(const Sandbox& sandbox, bool is_default) {
  const SandboxInfo& info = sandbox.info();
  Value value;
  value.set("sandbox", info.id);
  value.set("name", info.name);
  value.set("state", manager::to_string(info.state));
  value.set("template", info.template_alias.empty() ? info.template_id : info.template_alias);
  value.set("created", rfc3339(info.created * 1000, 0));
  value.set("ends", info.ends == 0 ? Value() : Value(rfc3339(info.ends * 1000, 0)));
  value.set("allow_hosts",
            text_list(info.policy.network.allow.value_or(std::vector<std::string>())));
  value.set("memory_bytes", info.memory_bytes);
  Value metadata(Value::Object{});
  for (const auto& [name, text] : info.metadata) metadata.set(name, text);
  value.set("metadata", std::move(metadata));
  value.set("is_default", is_default);
  return value;
}

// The same on one line, for the model.
std::string words_of(const Sandbox& sandbox, bool is_default) {
  const SandboxInfo& info = sandbox.info();
  std::vector<std::string> hosts = info.policy.network.allow.value_or(std::vector<std::string>());
  return cat(info.id, info.name.empty() ? "" : cat(" (", info.name, ")"), ": ",
             manager::to_string(info.state), ", template ",
             info.template_alias.empty() ? info.template_id : info.template_alias,
             hosts.empty() ? ", no network" : cat(", network: ", join(hosts, ", ")),
             info.ends == 0 ? "" : cat(", until ", rfc3339(info.ends * 1000, 0)),
             is_default ? ", used where a call names none" : "");
}

// What the caller asked for, on top of what all sandboxes of this process are made of.
Result<manager::CreateOptions> asked_for(const Job& job) {
  manager::CreateOptions options = job.shared->sandboxes->made_of();
  if (!job.text("template").empty()) options.template_name = job.text("template");
  options.name = job.text("name");
  for (const auto& [name, value] : job.pairs("env")) options.env[name] = value;
  for (const auto& [name, value] : job.pairs("metadata")) options.metadata[name] = value;
  options.timeout_ms = job.seconds("timeout", options.timeout_ms);
  if (job.arguments.find("allow_hosts")) options.policy.network.allow = job.texts("allow_hosts");
  if (!job.text("memory").empty())
    options.policy.limits[LimitKind::memory] = TRY(parse_size(job.text("memory")));
  return options;
}

}  // namespace

// What the policy does not allow is left out by the manager, which says so in the notes.
Task<Result<Value>> create_sandbox(Job job) {
  CO_TRY(manager::CreateOptions options, asked_for(job));
  CO_TRY(std::shared_ptr<Sandbox> made, co_await job.shared->sandboxes->make(job.caller, options));
  const Sandbox& sandbox = *made;
  ToolReport report;
  report.notes = sandbox.info().notes;  // what was asked for and narrowed
  report.text = cat(words_of(sandbox, false), "\nName it in further calls: \"sandbox\": \"",
                    sandbox.info().id, "\".");
  report.data = described(sandbox, false);
  co_return to_result(std::move(report));
}

// Lists the sandboxes of the caller's tenant, and marks the one that is used by default.
Task<Result<Value>> list_sandboxes(Job job) {
  manager::ListOptions options;
  options.limit = static_cast<size_t>(job.number("limit", 100));
  CO_TRY(manager::Page page, job.manager().list(job.caller, options));
  std::shared_ptr<Sandbox> own = job.shared->sandboxes->default_of(job.caller, job.principal->id);
  ToolReport report;
  Value::Array all;
  for (const std::shared_ptr<Sandbox>& sandbox : page.sandboxes) {
    all.push_back(described(*sandbox, sandbox == own));
    report.text += cat(words_of(*sandbox, sandbox == own), "\n");
  }
  if (all.empty()) report.text = "There is no sandbox yet: the first call that needs one makes it.";
  report.data.set("sandboxes", std::move(all));
  report.data.set("truncated", !page.next.empty());
  co_return to_result(std::move(report));
}

// The sandbox must be named: killing the default one by mistake would lose a model's work.
Task<Result<Value>> kill_sandbox(Job job) {
  std::string named = job.text("sandbox");
  CO_TRY(std::shared_ptr<Sandbox> found, job.manager().find(job.caller, named));
  std::string id = found->info().id;
  CO_TRY_VOID(co_await job.manager().kill(job.caller, id));
  ToolReport report{.text = cat("The sandbox ", id, " has ended; everything in it is gone.")};
  report.data.set("sandbox", id);
  report.data.set("killed", true);
  co_return to_result(std::move(report));
}

}  // namespace paddock::tools::builtin
