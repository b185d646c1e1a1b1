// One call of a built-in tool, and what all their functions need.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manager/running_sandbox.h"
#include "tools/builtin/builtin_tools.h"
#include "tools/builtin/choose_sandbox.h"

namespace paddock::tools::builtin {

// What all calls share. The manager may be started by the first of them.
struct Shared {
  Shared(io::Loop& on, BuiltinOptions given) : loop(on), options(std::move(given)) {}
  void use(manager::Manager& manager) {
    options.manager = &manager;
    sandboxes = std::make_unique<SandboxChooser>(manager, options.sandbox);
  }

  io::Loop& loop;
  BuiltinOptions options;
  // Null as long as there is no manager.
  std::unique_ptr<SandboxChooser> sandboxes;
  // Null unless a manager is being started.
  std::shared_ptr<io::Event> starting;
  // Why the manager did not start the last time.
  std::optional<Error> failed;
  io::Milliseconds failed_at = 0;
};

// One call. It is passed by value, so that a coroutine owns all that it uses.
struct Job {
  std::shared_ptr<Shared> shared;
  // Always an object.
  Value arguments;
  std::shared_ptr<const CallerPrincipal> principal;
  // With this call as the cause, so that events name it.
  manager::Caller caller;
  std::shared_ptr<mcp::Context> context;

  manager::Manager& manager() const { return *shared->options.manager; }
  io::Loop& loop() const { return manager().loop(); }

  // Members of the arguments, which were checked against their schema.
  std::string text(std::string_view name) const { return text_in(arguments, name); }
  std::optional<std::string> text_if(std::string_view name) const;  // unset: it is missing
  bool flag(std::string_view name, bool otherwise) const {
    return flag_in(arguments, name, otherwise);
  }
  int64_t number(std::string_view name, int64_t otherwise) const;
  // Seconds, which may have a fraction, as milliseconds.
  int64_t seconds(std::string_view name, int64_t otherwise_ms) const;
  std::vector<std::string> texts(std::string_view name) const { return texts_in(arguments, name); }
  std::map<std::string, std::string> pairs(std::string_view name) const;
};

// Gives a CallToolResult. An error is told to the model in words.
using Function = io::Task<Result<Value>> (*)(Job job);

// The sandbox that the call means. It runs.
io::Task<Result<Chosen>> choose(const Job& job);

io::Task<Result<Value>> run_code(Job job);
io::Task<Result<Value>> run_command(Job job);
io::Task<Result<Value>> read_file(Job job);
io::Task<Result<Value>> write_file(Job job);
io::Task<Result<Value>> list_files(Job job);
io::Task<Result<Value>> search_files(Job job);
io::Task<Result<Value>> create_sandbox(Job job);
io::Task<Result<Value>> list_sandboxes(Job job);
io::Task<Result<Value>> kill_sandbox(Job job);
io::Task<Result<Value>> network_log(Job job);
io::Task<Result<Value>> explain_denial(Job job);

}  // namespace paddock::tools::builtin
