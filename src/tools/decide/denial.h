// What the caller is told when a call is not made, and what is remembered of it.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "tools/decide/desk_call.h"

namespace paddock::tools {

policy::Decision denial(std::string rule, std::string why, std::string hint);
Value denial_value(const DeskCall& call, const policy::Decision& decision);
mcp::Answer denial_answer(const DeskCall& call, const policy::Decision& decision, bool is_unknown);
mcp::Answer rehearsal_answer(const DeskCall& call, const policy::Decision& decision);
std::string in_words(int64_t milliseconds);  // "12s"

// The recent denials of each caller.
class DenialMemory {
 public:
  static constexpr size_t kOfEach = 256, kCallers = 64;
  void add(const CallerPrincipal& caller, const std::string& id, Value denial);
  Value find(const CallerPrincipal& caller, const std::string& id) const;

 private:
  struct Memory {
    std::deque<std::pair<std::string, Value>> denials;
    uint64_t used = 0;
  };
  std::map<std::string, Memory> callers_;
  uint64_t uses_ = 0;
};

}  // namespace paddock::tools
