// The sandbox of a tool's command or of an MCP server: what its entry says, with a preset for what
// it leaves open.
#pragma once

#include <vector>

#include "base/value.h"
#include "paddock/error.h"
#include "paddock/policy.h"
#include "policy/intersect.h"

namespace paddock::policy {

enum class SandboxKind : uint8_t { tool, mcp_server };  // the presets `tool` and `mcp-server`

// A layer that did not bring the entry.
struct Bound {
  const Policy* policy;
  bool named;  // as of a Layer
};
// Whether it says anything that could matter to this sandbox.
bool narrows(const Bound& bound, const Policy& own);

// `own` is decoded and not combined; what it `extends` narrows it. What it leaves unset comes from
// the kind's preset, then from `default`. `bounds` narrow and never grant: their files, hosts,
// variables and secrets stay theirs.
Result<Combined> make_sandbox(const Policy& own, SandboxKind kind,
                              const std::vector<Bound>& bounds);

// As it stands in an entry, with its secrets; null: nothing is said.
Value sandbox_value(const Policy& own);
// Keys in order, so that the same entry written differently is the same text.
Value sorted(const Value& value);

}  // namespace paddock::policy
