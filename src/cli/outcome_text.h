// Lines for people about how a command ended, the same for `paddock run` and `paddock exec`.
#pragma once

#include <map>
#include <string>

#include "paddock/sandbox.h"

namespace paddock::cli {

// "paddock: stopped by a limit: limit=memory value=64M peak=64M", or "a limit was reached: …" when
// it did not end the command.
std::string limit_line(const LimitHit& hit, bool ended);
// "paddock: redacted: 2 (API_KEY 1, github-token 1)"; empty when nothing was.
std::string redaction_line(uint64_t count, const std::map<std::string, uint64_t>& by_kind);

}  // namespace paddock::cli
