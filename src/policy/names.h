// The words that stand for each choice in a policy file and on the command line.
#pragma once

#include <string>
#include <vector>

#include "paddock/policy.h"

namespace paddock {

template <class Kind>
struct Named {
  Kind kind;
  const char* name;
};

inline constexpr Named<WallKind> kWallNames[] = {
    {WallKind::process, "process"}, {WallKind::container, "container"},
    {WallKind::runc, "runc"},       {WallKind::crun, "crun"},
    {WallKind::gvisor, "gvisor"},   {WallKind::docker, "docker"},
    {WallKind::vm, "vm"},           {WallKind::automatic, "auto"},
};

inline constexpr Named<WorkspaceMode> kWorkspaceModeNames[] = {
    {WorkspaceMode::read_only, "ro"},
    {WorkspaceMode::read_write, "rw"},
    {WorkspaceMode::copy, "copy"},
};

inline constexpr Named<ScratchBacking> kScratchNames[] = {
    {ScratchBacking::automatic, "auto"},
    {ScratchBacking::memory, "memory"},
    {ScratchBacking::disk, "disk"},
};

inline constexpr Named<AuditFull> kAuditFullNames[] = {
    {AuditFull::refuse, "refuse"},
    {AuditFull::gap, "gap"},
};

inline constexpr Named<MonitorAction> kMonitorActionNames[] = {
    {MonitorAction::warn, "warn_if"},
    {MonitorAction::pause, "pause_if"},
    {MonitorAction::kill, "kill_if"},
};

// All names of a table, for error messages and schemas.
template <class Kind, size_t count>
std::vector<std::string> words(const Named<Kind> (&table)[count]) {
  std::vector<std::string> names;
  for (const Named<Kind>& entry : table) names.push_back(entry.name);
  return names;
}

}  // namespace paddock
