#include "tools/builtin/builtin_tools.h"

#include "base/text.h"
#include "tools/builtin/table.h"

namespace paddock::tools {

namespace {

class Own : public Provider {
 public:
  explicit Own(OwnOptions options) : shared_(std::make_shared<builtin::Shared>()) {
    if (options.manager)
      shared_->boxes = std::make_unique<builtin::Boxes>(*options.manager, options.sandbox);
    shared_->options = std::move(options);
    for (const builtin::Entry& entry : builtin::entries())
      tools_.push_back(builtin::to_tool(entry));
  }

  const std::vector<ToolInfo>& tools() const override { return tools_; }

  io::Task<mcp::Answer> call(ToolCall call, std::shared_ptr<mcp::Context> context) override {
    const builtin::Entry* entry = nullptr;
    for (const builtin::Entry& one : builtin::entries())
      if (call.tool && call.tool->name == one.name) entry = &one;
    if (!entry || !shared_->boxes || !call.caller)
      co_return mcp::Answer::failed(mcp::kInternalError, "nobody here has this tool");
    builtin::Job job{shared_, call.arguments, call.caller, call.caller->caller, std::move(context)};
    job.caller.cause = call.cause;
    // Who may change them may look as well.
    bool may = job.caller.may(entry->scope) || job.caller.may("sandboxes");
    if (!may)
      co_return mcp::Answer::done(
          error_result(cat("Denied: the key that was shown has not the scope '", entry->scope,
                           "', which ", entry->name, " needs.")));
    Value result = co_await entry->function(std::move(job));
    co_return mcp::Answer::done(std::move(result));
  }

  // Asked by the desk before and after the call: the sandbox may be made by it.
  std::shared_ptr<const redact::Rules> redaction(const ToolCall& call) const override {
    if (!shared_->boxes || !call.caller) return nullptr;
    const Value* named = call.arguments.find("sandbox");
    std::shared_ptr<manager::Sandbox> sandbox;
    if (named && named->as_string()) {
      Result<std::shared_ptr<manager::Sandbox>> found =
          shared_->options.manager->find(call.caller->caller, *named->as_string());
      if (found) sandbox = found.value();
    } else {
      sandbox = shared_->boxes->own_of(call.caller->caller, call.caller->id);
    }
    return sandbox ? sandbox->redaction() : nullptr;
  }

 private:
  std::shared_ptr<builtin::Shared> shared_;
  std::vector<ToolInfo> tools_;
};

}  // namespace

const char* const kOwnInstructions =
    R"(Paddock gives you isolated Linux sandboxes to run code in. Nothing you do in them can harm the user's machine, so work freely inside.

- run_code keeps state: variables, imports and functions stay between calls, per language and context. The last expression is the result; plots come back as pictures.
- run_command runs one shell command: files and installed packages stay, the shell's variables and directory do not (give cwd, env).
- Without `sandbox` all tools use one default sandbox, made on the first call and kept. Should it end (time, limit), the next call gets a new one and says so: then variables, files and packages are lost.
- Files: relative paths begin in the working directory. If there is a /workspace, it is a directory of the user's machine: what you write there stays, everything else goes with the sandbox.
- The network is off unless hosts were allowed. Ask with create_sandbox and allow_hosts, name the new sandbox in your calls, and see network_log for what was denied and why.
- Limits (memory, time, processes, disk) end what exceeds them; the result names the limit, its value and the peak. Do less at once, or give a longer timeout.
- Long output is cut in the middle: write it to a file and use read_file or search_files.
- A call may be denied by a policy. The denial names the rule, the reason and what to do. Do not repeat it unchanged, and do not try to get around it: change the call, use explain_denial, or tell the user. Some calls wait until somebody approves them.
- Secrets are replaced by [redacted:…] in what comes back; do not try to recover them.)";

std::unique_ptr<Provider> make_own_tools(OwnOptions options) {
  return std::make_unique<Own>(std::move(options));
}

}  // namespace paddock::tools
