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

Result<manager::CreateOptions> asked_for(const Job& job) {
  manager::CreateOptions options = job.shared->boxes->made_of();
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

Task<Value> create_sandbox(Job job) {
  Result<manager::CreateOptions> options = asked_for(job);
  if (!options) co_return refusal(options.error());
  Result<std::shared_ptr<Sandbox>> made =
      co_await job.shared->boxes->make(job.caller, options.value());
  if (!made) co_return refusal(made.error());
  const Sandbox& sandbox = *made.value();
  Told told;
  told.notes = sandbox.info().notes;  // what was asked for and narrowed
  told.text = cat(words_of(sandbox, false), "\nName it in further calls: \"sandbox\": \"",
                  sandbox.info().id, "\".");
  told.data = described(sandbox, false);
  co_return to_result(std::move(told));
}

Task<Value> list_sandboxes(Job job) {
  manager::ListOptions options;
  options.limit = static_cast<size_t>(job.number("limit", 100));
  Result<manager::Page> page = job.manager().list(job.caller, options);
  if (!page) co_return refusal(page.error());
  std::shared_ptr<Sandbox> own = job.shared->boxes->own_of(job.caller, job.principal->id);
  Told told;
  Value::Array all;
  for (const std::shared_ptr<Sandbox>& sandbox : page.value().sandboxes) {
    all.push_back(described(*sandbox, sandbox == own));
    told.text += cat(words_of(*sandbox, sandbox == own), "\n");
  }
  if (all.empty()) told.text = "There is no sandbox yet: the first call that needs one makes it.";
  told.data.set("sandboxes", std::move(all));
  told.data.set("truncated", !page.value().next.empty());
  co_return to_result(std::move(told));
}

Task<Value> kill_sandbox(Job job) {
  std::string named = job.text("sandbox");
  Result<std::shared_ptr<Sandbox>> found = job.manager().find(job.caller, named);
  if (!found) co_return refusal(found.error());
  std::string id = found.value()->info().id;
  Result<void> killed = co_await job.manager().kill(job.caller, id);
  if (!killed) co_return refusal(killed.error());
  Told told{.text = cat("The sandbox ", id, " has ended; everything in it is gone.")};
  told.data.set("sandbox", id);
  told.data.set("killed", true);
  co_return to_result(std::move(told));
}

}  // namespace paddock::tools::builtin
