#include "store/git_config.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "store/deny.h"

namespace paddock::store {

namespace {

// What an agent's ordinary git use writes. Everything else may name a program, a path or a remote:
// core.fsmonitor, core.hooksPath, core.sshCommand, filter.*.clean, diff.*.command, alias.*,
// include.path, …
constexpr const char* kHarmless[] = {
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.autocrlf",
    "core.eol",
    "branch.*.remote",
    "branch.*.merge",
    "branch.*.rebase",
    "remote.*.fetch",
};

// Errs on the side of flagging: a person then looks at the change.
bool is_harmless(const std::string& key, const std::string& value) {
  if (starts_with(key, "user.")) return key == "user.name" || key == "user.email";
  // Quotes could hide anything, and a branch's remote may also be a path or a URL (which can name a
  // command).
  if (value.find_first_of("\"\\#;") != std::string::npos) return false;
  if (ends_with(key, ".remote") && value.find_first_of("/:") != std::string::npos) return false;
  return std::any_of(std::begin(kHarmless), std::end(kHarmless),
                     [&](const char* pattern) { return ::fnmatch(pattern, key.c_str(), 0) == 0; });
}

std::string trim(const std::string& text) {
  size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// "[branch "main"] key = v": the section's name, and what follows the bracket on the line.
std::optional<std::string> read_section(const std::string& line, std::string& section) {
  size_t close = line.find(']');
  size_t quote = line.find('"');
  if (close == std::string::npos) return std::nullopt;
  if (quote == std::string::npos || quote > close) {
    section = lower_ascii(trim(line.substr(1, close - 1)));
    return trim(line.substr(close + 1));
  }
  size_t end = line.find('"', quote + 1);
  if (end == std::string::npos || line.find('\\') != std::string::npos) return std::nullopt;
  close = line.find(']', end);
  if (close == std::string::npos) return std::nullopt;
  section = cat(lower_ascii(trim(line.substr(1, quote - 1))), ".",
                line.substr(quote + 1, end - quote - 1));
  return trim(line.substr(close + 1));
}

}  // namespace

// Returns nothing if the text has any form that is not understood, since git might read it
// differently.
std::optional<GitSettings> parse_git_config(const std::string& text) {
  GitSettings settings;
  std::string section;
  std::string body = starts_with(text, "\xef\xbb\xbf") ? text.substr(3) : text;
  if (body.find('\0') != std::string::npos) return std::nullopt;
  for (const std::string& raw : split(body, '\n')) {
    std::string line = trim(raw);
    if (ends_with(line, "\\")) return std::nullopt;
    while (starts_with(line, "[")) {
      std::optional<std::string> rest = read_section(line, section);
      if (!rest) return std::nullopt;
      line = *rest;
    }
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    size_t equals = line.find('=');
    std::string key = lower_ascii(trim(line.substr(0, equals)));
    if (section.empty() ||
        key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
      return std::nullopt;
    settings.emplace_back(cat(section, ".", key),
                          equals == std::string::npos ? "true" : trim(line.substr(equals + 1)));
  }
  return settings;
}

// A setting that was removed counts as a change, too: it may have protected something.
std::vector<std::string> risky_git_changes(const GitSettings& before, const GitSettings& after) {
  std::set<std::pair<std::string, std::string>> old(before.begin(), before.end()),
      fresh(after.begin(), after.end());
  std::set<std::pair<std::string, std::string>> changed;
  std::set_symmetric_difference(old.begin(), old.end(), fresh.begin(), fresh.end(),
                                std::inserter(changed, changed.end()));
  std::set<std::string> keys;
  for (const auto& [key, value] : changed)
    if (!is_harmless(key, value)) keys.insert(key);
  return {keys.begin(), keys.end()};
}

}  // namespace paddock::store
