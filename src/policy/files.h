// What stands in [files]: grants, denials, the workspace and the root filesystem.
#pragma once

#include "policy/narrowing.h"
#include "policy/types.h"

namespace paddock::policy {

Type<std::vector<std::string>> granted_paths();
Type<std::vector<std::string>> denied_paths();  // also patterns
Type<Workspace> workspace();
Type<std::string> root_filesystem();
Type<std::string> audit_directory();

// What a layer's files.read and files.write cover. A path that may be written may also be read.
Covers readable_paths(const Policy& layer);
Covers writable_paths(const Policy& layer);

// The same directory, and never a wider mode than a layer before.
struct NarrowestWorkspace : NarrowingRule {
  const char* words() const {
    return "the same directory, and never a wider mode (`ro` < `copy` < `rw`); otherwise nothing "
           "runs";
  }
  Result<void> combine(const auto& key, const Layers& layers, Policy& result) const {
    return narrow(key.path, layers, result);
  }

 private:
  static Result<void> narrow(const std::string& path, const Layers& layers, Policy& result);
};

std::string explain_workspace(const std::optional<Workspace>& workspace);

}  // namespace paddock::policy
