// Names as the most forgiving filesystem sees them: without letter case, and without what Windows
// ignores.
#pragma once

#include <string>

namespace paddock::store {

std::string lower_ascii(std::string text);

std::string folded_name(const std::string& name);  // ".GIT. " → ".git"

}  // namespace paddock::store
