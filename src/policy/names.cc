#include "paddock/policy.h"

#include "policy/names.h"

namespace paddock {

namespace {

// The tables are short, so they are searched in order.
template <class Kind, size_t count>
std::optional<Kind> find(const Named<Kind> (&table)[count], const std::string& name) {
  for (const Named<Kind>& entry : table)
    if (name == entry.name) return entry.kind;
  return std::nullopt;
}

template <class Kind, size_t count>
const char* name_of(const Named<Kind> (&table)[count], Kind kind) {
  for (const Named<Kind>& entry : table)
    if (entry.kind == kind) return entry.name;
  return "unknown";
}

}  // namespace

const char* to_string(WallKind wall) { return name_of(kWallNames, wall); }
std::optional<WallKind> wall_from_string(const std::string& name) { return find(kWallNames, name); }

const char* to_string(WorkspaceMode mode) { return name_of(kWorkspaceModeNames, mode); }
std::optional<WorkspaceMode> workspace_mode_from_string(const std::string& name) {
  return find(kWorkspaceModeNames, name);
}

const char* to_string(ScratchBacking scratch) { return name_of(kScratchNames, scratch); }
std::optional<ScratchBacking> scratch_from_string(const std::string& name) {
  return find(kScratchNames, name);
}

const char* to_string(AuditFull full) { return name_of(kAuditFullNames, full); }
std::optional<AuditFull> audit_full_from_string(const std::string& name) {
  return find(kAuditFullNames, name);
}

const char* to_string(MonitorAction action) { return name_of(kMonitorActionNames, action); }

}  // namespace paddock
