// One call of one of Paddock's own tools, and what its function needs again and again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manager/running_sandbox.h"
#include "tools/builtin/builtin_tools.h"
#include "tools/builtin/choose_sandbox.h"

namespace paddock::tools::builtin {

struct Shared {
  OwnOptions options;
  std::unique_ptr<Boxes> boxes;
};

struct Job {
  std::shared_ptr<Shared> shared;
  Value arguments;  // an object
  std::shared_ptr<const CallerPrincipal> principal;
  manager::Caller caller;  // with this call as the cause
  std::shared_ptr<mcp::Context> context;

  manager::Manager& manager() const { return *shared->options.manager; }
  io::Loop& loop() const { return manager().loop(); }

  // Of the arguments, which their schema has been held against: empty where they are absent.
  std::string text(std::string_view name) const;
  std::optional<std::string> text_if(std::string_view name) const;
  bool flag(std::string_view name, bool otherwise) const;
  int64_t number(std::string_view name, int64_t otherwise) const;
  // May have fractions; in milliseconds.
  int64_t seconds(std::string_view name, int64_t otherwise_ms) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::map<std::string, std::string> pairs(std::string_view name) const;
};

using Function = io::Task<Value> (*)(Job job);  // gives a CallToolResult

// The sandbox that the call means, running.
io::Task<Result<Chosen>> choose(const Job& job);

io::Task<Value> run_code(Job job);
io::Task<Value> run_command(Job job);
io::Task<Value> read_file(Job job);
io::Task<Value> write_file(Job job);
io::Task<Value> list_files(Job job);
io::Task<Value> search_files(Job job);
io::Task<Value> create_sandbox(Job job);
io::Task<Value> list_sandboxes(Job job);
io::Task<Value> kill_sandbox(Job job);
io::Task<Value> network_log(Job job);
io::Task<Value> explain_denial(Job job);

}  // namespace paddock::tools::builtin
