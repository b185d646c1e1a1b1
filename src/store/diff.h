// What a change set would change in its workspace.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "paddock/error.h"
#include "store/change_set.h"

namespace paddock::store {

enum class ChangeKind : uint8_t { added, changed, removed, mode };
enum class EntryType : uint8_t { none, file, directory, symlink, special };

// For example "added".
const char* to_string(ChangeKind kind);

// "none", "file", "dir", "symlink" or "special".
const char* to_string(EntryType type);

struct Change {
  // Relative to the workspace; raw bytes, show it through printable().
  std::string path;
  ChangeKind kind = ChangeKind::changed;
  // The type after the change; for what was removed, the type before.
  EntryType type = EntryType::file;
  EntryType type_before = EntryType::none;
  uint64_t size_before = 0, size_after = 0;
  // Permission bits. `mode_after` is as it would be applied.
  unsigned mode_before = 0, mode_after = 0;
  // Why the host would later execute it.
  std::vector<std::string> flags;
  // Why it cannot be applied. Empty: it can.
  std::string conflict;
  // What stood there when we looked. All zero: nothing.
  struct stat host {};
};

// Sorted by path. Reads only. What was copied up but is the same again is no change; a removed
// directory stands together with everything that was in it; what was applied earlier is left out.
Result<std::vector<Change>> diff(const ChangeSet& set);

// The permission bits under which something is taken over: no setuid, setgid or sticky bit, not
// writable by others.
inline unsigned scrubbed_mode(unsigned mode) { return mode & 0775; }

// Empty if a link at `path` with this target stays inside the workspace; else why not.
std::string link_problem(const std::string& path, const std::string& target);

// True if a change at `path` was asked for: no paths given, the path itself, or a directory above
// it.
bool is_selected(const std::string& path, const std::vector<std::string>& paths);

// A unified diff of one file for people to read: control characters are shown, not sent. Says so
// when a file is binary or too large.
Result<std::string> text_diff(const ChangeSet& set, const Change& change);

// The same between two texts, without the names; empty: they are the same.
std::string line_diff(std::string_view before, std::string_view after);

}  // namespace paddock::store
