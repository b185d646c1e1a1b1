// What a line of the log tells of itself, for who looks for it. Nothing is taken for granted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace paddock::audit {

struct Told {
  bool readable = false;  // it is an object with a number and a kind; else only `damage` is set
  uint64_t seq = 0;
  int64_t time_us = 0;
  std::string kind, sandbox, tenant, agent, trace, verdict;
  std::string damage;  // why it is not what was written; empty: its hash is right
};
Told told_by(std::string_view line);

}  // namespace paddock::audit
