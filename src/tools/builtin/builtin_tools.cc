#include "tools/builtin/builtin_tools.h"

#include <cstdlib>
#include <span>

#include "base/text.h"
#include "presets/presets.h"
#include "tools/builtin/job.h"
#include "tools/builtin/result.h"
#include "tools/call_context.h"

namespace paddock::tools {

namespace {

using builtin::Shared;

// What failed would only fail again for a while.
constexpr io::Milliseconds kTryAgain = 2'000;

struct BuiltinFunction {
  const char* name;
  builtin::Function function;
};
constexpr BuiltinFunction kFunctions[] = {
    {"run_code", builtin::run_code},
    {"run_command", builtin::run_command},
    {"read_file", builtin::read_file},
    {"write_file", builtin::write_file},
    {"list_files", builtin::list_files},
    {"search_files", builtin::search_files},
    {"create_sandbox", builtin::create_sandbox},
    {"list_sandboxes", builtin::list_sandboxes},
    {"kill_sandbox", builtin::kill_sandbox},
    {"network_log", builtin::network_log},
    {"explain_denial", builtin::explain_denial},
};

// Returns null for a tool that has a description but no function, which is a mistake of the build.
builtin::Function function_of(std::string_view name) {
  for (const BuiltinFunction& each : kFunctions)
    if (name == each.name) return each.function;
  return nullptr;
}

std::span<const EmbeddedTool> embedded_tools() { return {kEmbeddedTools, kEmbeddedToolCount}; }

// The scope that a caller's key needs for this tool.
const char* scope_of(std::string_view name) {
  for (const EmbeddedTool& tool : embedded_tools())
    if (name == tool.name) return tool.scope;
  return "sandboxes";
}

// The build step has parsed the same text, so it cannot fail here.
ToolInfo tool_of(const EmbeddedTool& embedded) {
  Result<Value> definition = parse_json(embedded.definition, embedded.name);
  if (!definition) std::abort();
  ToolInfo tool;
  if (!read_record(kToolFields, definition.value(), tool, embedded.name)) std::abort();
  return tool;
}

// Only one start is under way at a time, and a failed one is not repeated at once.
bool may_start(const Shared& shared) {
  return shared.options.start_manager && !shared.sandboxes && !shared.starting &&
         (!shared.failed || shared.loop.now() >= shared.failed_at + kTryAgain);
}

// The first calls wait on `starting`. It is taken away before the result is stored, so that a call
// that comes later starts again if this one failed.
io::Task<void> start_manager(std::shared_ptr<Shared> shared) {
  auto started = shared->starting = std::make_shared<io::Event>(shared->loop);
  shared->failed.reset();
  Result<manager::Manager*> manager = co_await shared->options.start_manager();
  shared->starting = nullptr;
  if (manager) {
    shared->use(*manager.value());
  } else {
    shared->failed = manager.error();
    shared->failed_at = shared->loop.now();
  }
  started->happen();
}

// For the model: what keeps the tool from being called here.
std::string why_not_callable(const Shared& shared, const std::string& tool) {
  if (shared.failed)
    return cat("start the sandboxes: ", shared.failed->message,
               shared.failed->hint.empty() ? "" : cat(" (", shared.failed->hint, ")"));
  return cat("The tool '", tool,
             "' works in a living sandbox, and here is none: call it through `paddock mcp` or "
             "`paddock serve`.");
}

}  // namespace

BuiltinTools::BuiltinTools(io::Loop& loop, BuiltinOptions options)
    : shared_(std::make_shared<Shared>(loop, std::move(options))) {
  if (shared_->options.manager) shared_->use(*shared_->options.manager);
  for (const EmbeddedTool& embedded : embedded_tools()) tools_.push_back(tool_of(embedded));
}

bool BuiltinTools::can_call() const {
  return shared_->options.manager || shared_->options.start_manager;
}

// Safe to call at any time, since only one start is under way.
void BuiltinTools::prepare() {
  if (may_start(*shared_)) io::spawn(start_manager(shared_));
}

// Waits for the manager if it is being started. Errors of the tool itself become results, because a
// model can read those and act on them.
io::Task<mcp::Answer> BuiltinTools::call(ToolCall call, std::shared_ptr<CallContext> context) {
  std::shared_ptr<Shared> shared = shared_;
  prepare();
  std::shared_ptr<io::Event> starting = shared->starting;
  if (starting) co_await *starting;
  if (!shared->sandboxes)
    co_return mcp::Answer::done(error_result(why_not_callable(*shared, call.tool->name)));
  builtin::Function function = function_of(call.tool->name);
  if (!function || !call.caller)
    co_return mcp::Answer::failed(mcp::kInternalError, "nobody here has this tool");
  builtin::Job job{shared, call.arguments, call.caller, call.caller->caller, std::move(context)};
  job.caller.cause = call.cause;
  // Whoever may change sandboxes may look at them as well.
  const char* scope = scope_of(call.tool->name);
  if (!job.caller.may(scope) && !job.caller.may("sandboxes"))
    co_return mcp::Answer::done(
        error_result(cat("Denied: the key that was shown has not the scope '", scope, "', which ",
                         call.tool->name, " needs.")));
  Result<Value> result = co_await function(std::move(job));
  co_return mcp::Answer::done(result ? std::move(result).value()
                                     : builtin::refusal(result.error()));
}

// The desk asks before and after the call, because the call may make the sandbox.
std::shared_ptr<const redact::Rules> BuiltinTools::redaction(const ToolCall& call) const {
  if (!shared_->sandboxes || !call.caller) return nullptr;
  const manager::Caller& caller = call.caller->caller;
  const Value* named = call.arguments.find("sandbox");
  std::shared_ptr<manager::Sandbox> sandbox;
  if (!named || !named->as_string())
    sandbox = shared_->sandboxes->default_of(caller, call.caller->id);
  else if (Result<std::shared_ptr<manager::Sandbox>> found =
               shared_->options.manager->find(caller, *named->as_string()))
    sandbox = found.value();
  return sandbox ? sandbox->redaction() : nullptr;
}

const char* const kBuiltinInstructions =
    "Paddock gives you isolated Linux sandboxes to run code in. Nothing you do in them can harm "
    "the user's machine, so work freely inside.\n"
    "\n"
    "- run_code keeps state: variables, imports and functions stay between calls, per language "
    "and context. The last expression is the result; plots come back as pictures.\n"
    "- run_command runs one shell command: files and installed packages stay, the shell's "
    "variables and directory do not (give cwd, env).\n"
    "- Without `sandbox` all tools use one default sandbox, made on the first call and kept. "
    "Should it end (time, limit), the next call gets a new one and says so: then variables, files "
    "and packages are lost.\n"
    "- Files: relative paths begin in the working directory. If there is a /workspace, it is a "
    "directory of the user's machine: what you write there stays, everything else goes with the "
    "sandbox.\n"
    "- The network is off unless hosts were allowed. Ask with create_sandbox and allow_hosts, "
    "name the new sandbox in your calls, and see network_log for what was denied and why.\n"
    "- Limits (memory, time, processes, disk) end what exceeds them; the result names the limit, "
    "its value and the peak. Do less at once, or give a longer timeout.\n"
    "- Long output is cut in the middle: write it to a file and use read_file or search_files.\n"
    "- A call may be denied by a policy. The denial names the rule, the reason and what to do. "
    "Do not repeat it unchanged, and do not try to get around it: change the call, use "
    "explain_denial, or tell the user. Some calls wait until somebody approves them.\n"
    "- Secrets are replaced by [redacted:…] in what comes back; do not try to recover them.";

}  // namespace paddock::tools
