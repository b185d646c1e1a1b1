// The contexts of one sandbox: stateful interpreters, made when they are first needed. They outlive
// the server: the programs are processes of the sandbox, and a new server finds them by their tags.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "code/kernel.h"

namespace paddock::code {

class Interpreter {
 public:
  static constexpr size_t kMostContexts = 64;

  // The sandbox's own; kept in its parts. Fails when the sandbox does not run.
  static io::Task<Result<std::shared_ptr<Interpreter>>> of(
      std::shared_ptr<manager::Sandbox> sandbox, io::Loop& loop);
  ~Interpreter();

  // In the order they were made; the default ones of python and javascript first.
  std::vector<ContextInfo> contexts() const;
  // `language` and `cwd` may be empty: python, and the user's home.
  io::Task<Result<ContextInfo>> create(std::string language, std::string cwd);
  io::Task<Result<void>> remove(std::string id);
  // Code::not_found: "Context ID not found".
  io::Task<Result<void>> restart(std::string id);

  // Begins a cell, in a context or in the default one of a language (both empty: python). It runs
  // when it is its turn.
  struct Where {
    std::string context, language;
  };
  io::Task<Result<std::shared_ptr<Cell>>> run(Where where, CellRequest request);

 private:
  Interpreter(std::shared_ptr<manager::Sandbox> sandbox, io::Loop& loop);
  io::Task<Result<void>> recover();
  std::shared_ptr<Kernel> add(ContextInfo info);
  std::shared_ptr<Kernel> find(const std::string& id) const;
  Result<std::shared_ptr<Kernel>> choose(const Where& where);
  std::shared_ptr<Kernel> default_of(const std::string& language);

  io::Loop& loop_;
  std::weak_ptr<manager::Sandbox> sandbox_;
  std::string sandbox_id_, home_ = "/home/user";
  std::shared_ptr<LineBudget> budget_ = std::make_shared<LineBudget>();
  std::vector<std::shared_ptr<Kernel>> kernels_;
  bool recovered_ = false;
  io::Mutex recovering_;
  uint64_t next_cell_;
};

}  // namespace paddock::code
