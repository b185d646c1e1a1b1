// Just enough of git's configuration format to see which settings differ between two files.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace paddock::store {

// "section.key" or "section.subsection.key" in lower case (but for the subsection), and the value.
using GitSettings = std::vector<std::pair<std::string, std::string>>;

// Empty when the text uses something unusual (continued lines, unknown escapes): then nothing can
// be said about it.
std::optional<GitSettings> parse_git_config(const std::string& text);

// The settings that were added, changed or removed and are not on the short list of harmless ones.
std::vector<std::string> risky_git_changes(const GitSettings& before, const GitSettings& after);

}  // namespace paddock::store
