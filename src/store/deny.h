// Which paths of a workspace a policy's deny patterns forbid.
#pragma once

#include <string>
#include <vector>

namespace paddock::store {

// The first pattern (policy/glob.h) that covers `relative` or a directory above it; empty if none
// does. A pattern is an absolute path or glob (on the host, or inside as /workspace/…), or a glob
// relative to the workspace. Letter case is ignored: on a case-folding filesystem .ENV is .env.
std::string denying_pattern(const std::vector<std::string>& patterns, const std::string& workspace,
                            const std::string& relative);

// Names as the most forgiving filesystem sees them: without letter case, and without what Windows
// ignores.
std::string lower_ascii(std::string text);
std::string folded_name(const std::string& name);  // ".GIT. " → ".git"

}  // namespace paddock::store
