// One context: a program inside the sandbox that keeps the state of a language between cells. It is
// an ordinary process of the sandbox, and what it says is believed only as far as its own client's
// results go.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "code/cell.h"
#include "io/mutex.h"
#include "manager/sandbox.h"

namespace paddock::code {

struct ContextInfo {
  std::string id, language, cwd;
  // The one that calls of its language share.
  bool is_default = false;
};

// What all contexts of a sandbox may hold in our memory together.
struct LineBudget {
  static constexpr size_t kMost = 64 << 20;
  size_t used = 0;
};

class Kernel : public std::enable_shared_from_this<Kernel> {
 public:
  Kernel(io::Loop& loop, std::weak_ptr<manager::Sandbox> sandbox, ContextInfo info,
         std::shared_ptr<LineBudget> budget);

  const ContextInfo info;
  static std::string tag_of(const ContextInfo& info);
  // Except for cwd.
  static bool parse_tag(const std::string& tag, ContextInfo& info);

  // Found among the sandbox's processes: start() attaches to it instead of starting another.
  int64_t lives_as = 0;

  // Returns when it is ready for cells. Code::unsupported: what it needs is not installed inside.
  static io::Task<Result<void>> start(std::shared_ptr<Kernel> self);
  // Runs a cell when it is its turn. Everything that goes wrong is told to the cell.
  static io::Task<void> run(std::shared_ptr<Kernel> self, std::shared_ptr<Cell> cell);
  // Ends the process; a cell that runs is told `why`.
  static io::Task<void> end(std::shared_ptr<Kernel> self, std::string why);
  // The process lives on, and we hear no more of it.
  void let_go();

 private:
  enum class State : uint8_t { down, starting, ready };

  static io::Task<Result<void>> start_alone(std::shared_ptr<Kernel> self, bool as_root);
  static io::Task<bool> attach(std::shared_ptr<Kernel> self);
  static io::Task<Result<void>> wait_ready(std::shared_ptr<Kernel> self, io::Milliseconds patience);
  static io::Task<void> read(std::shared_ptr<Kernel> self, std::shared_ptr<guest::Channel> channel);
  static io::Task<void> await_reason(std::shared_ptr<Kernel> self);
  static io::Task<void> stop(std::shared_ptr<Kernel> self, std::shared_ptr<Cell> cell);
  io::Task<void> take(std::string line);
  io::Task<bool> signal(std::string name);
  void down(std::string why);
  std::shared_ptr<guest::Client> guest() const;

  io::Loop& loop_;
  std::weak_ptr<manager::Sandbox> sandbox_;
  std::shared_ptr<LineBudget> budget_;
  State state_ = State::down;
  std::shared_ptr<guest::Channel> channel_;
  int64_t pid_ = 0;
  std::shared_ptr<Cell> current_;
  // Of the last time.
  std::string why_down_;
  // Set when the guest refused to start it.
  std::optional<Error> refused_;
  // What it printed on stderr before it was ready.
  std::string last_words_;
  // Why we end it.
  std::string ending_;
  // It died by SIGKILL.
  bool killed_ = false;
  struct Failure {
    std::string name, words;
  };
  Failure why_cell_failed() const;
  io::Mutex starting_, mutex_;
  // They ring for the state, and for the cell that ran.
  io::Bell changed_, ended_;
};

}  // namespace paddock::code
