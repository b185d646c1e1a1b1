// Which changes would make the host run something later: git hooks, editor tasks, shell start-up
// files. They are never applied in passing. docs/changes.md lists them for people; the table is in
// host_executes.cc.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace paddock::store {

struct Candidate {
  std::string path;  // relative to the workspace
  bool is_directory = false;
  bool is_link = false;
  // The git directory that the path lies in (".git", "sub/.git", or one without that name; "." is
  // the workspace itself), empty if none;
  // and whether the host has no repository there yet.
  std::string git_directory;
  bool git_is_new = false;
  // core.hooksPath of the workspace's own repository, relative; empty if not set.
  std::string hooks_directory;
  // Contents, asked for only where a rule needs them; "" when there is none, nothing when they are
  // too large.
  std::function<std::optional<std::string>()> before, after;
};

// Why the host would execute it; empty if it would not. Letter case is ignored, and so is what
// Windows filesystems ignore in names.
std::vector<std::string> host_executes(const Candidate& candidate);

// The value of core.hooksPath in the text of a git config; empty if not set.
std::string git_hooks_path(const std::string& config);

}  // namespace paddock::store
