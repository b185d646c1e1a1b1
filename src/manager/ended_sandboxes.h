// What is remembered of sandboxes that have ended: why and when, for a day. In `ended.jsonl` of the
// server's directory, a line each, so that a server that was started later knows it, too
// (docs/formats/sandbox_record.md).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "manager/sandbox.h"

namespace paddock::manager {

struct EndedSandbox {
  std::string id, tenant, name, template_name;
  WallTime created = 0, ended = 0;
  // As in SandboxInfo::ended_because.
  std::string because;
  int64_t timeout_ms = 0, idle_timeout_ms = 0;
  std::optional<LimitHit> limit;
  // In bytes.
  uint64_t memory_peak = 0, disk = 0;
};

// "memory limit of 64M reached (peak 65M)"
std::string limit_words(const LimitHit& hit);
// Why it ended, for people: "reached its time to live (5m)", "memory limit of 64M reached (peak
// 65M)", "it was killed".
std::string ending_words(const EndedSandbox& sandbox);
EndedSandbox ended_sandbox_of(const SandboxInfo& info, const std::string& because, WallTime ended);
// "ended 3m ago: reached its time to live (5m)"
std::string describe(const EndedSandbox& sandbox, WallTime now);

class EndedSandboxes {
 public:
  static constexpr size_t kMost = 1000;
  static constexpr WallTime kKeepMs = 24 * 3600 * 1000;

  // Reads what is there. What cannot be read is not known; nothing depends on it.
  explicit EndedSandboxes(int directory);

  void add(EndedSandbox sandbox);
  // The last one of this id or name; null: none is known.
  const EndedSandbox* find(const std::string& tenant, const std::string& id_or_name) const;
  // The newest one first.
  std::vector<EndedSandbox> of(const std::string& tenant) const;

 private:
  void prune();
  void rewrite();

  int directory_;
  // Oldest first.
  std::deque<EndedSandbox> known_;
  // In the file.
  size_t lines_ = 0;
};

}  // namespace paddock::manager
