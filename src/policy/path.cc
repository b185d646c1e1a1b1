#include "policy/path.h"

#include <vector>

#include "base/text.h"

namespace paddock::policy {

namespace {

// PATH_MAX without its NUL.
constexpr size_t kLongestPath = 4095;

Error refuse(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text), "' ", why), std::move(hint)};
}

// Another user's home would need the password database, which belongs to the system and not to a
// pure function.
Result<std::string> anchored(std::string_view text, const PathContext& context) {
  if (starts_with(text, "/")) return std::string(text);
  if (starts_with(text, "~")) {
    if (text.size() > 1 && text[1] != '/')
      return refuse(text, "names another user's home", "write the path out");
    if (context.home.empty())
      return refuse(text, "needs a home directory and none is known", "write an absolute path");
    return cat(context.home, text.substr(1));
  }
  if (context.base_directory.empty()) return refuse(text, "is relative", "write an absolute path");
  return cat(context.base_directory, "/", text);
}

}  // namespace

// Tidies by labels alone. Climbing above the root is an error instead of a no-op: it is always a
// mistake.
Result<std::string> absolute_path(std::string_view text, const PathContext& context) {
  if (text.empty()) return Error{Code::invalid, "an empty path", ""};
  if (text.find('\0') != std::string_view::npos) return refuse(text, "contains a NUL byte");
  std::string path = TRY(anchored(text, context));
  if (!starts_with(path, "/")) return refuse(text, "does not lead to an absolute path");
  std::vector<std::string> labels;
  for (const std::string& label : split(path, '/')) {
    if (label.empty() || label == ".") continue;
    if (label != "..") {
      labels.push_back(label);
      continue;
    }
    if (labels.empty()) return refuse(text, "climbs above /");
    labels.pop_back();
  }
  std::string result = "/" + join(labels, "/");
  if (result.size() > kLongestPath)
    return Error{Code::invalid, cat("a path of ", result.size(), " bytes is too long"), ""};
  return result;
}

// Both must be tidied. Whole labels count: /srv does not contain /srv2.
bool contains_path(std::string_view directory, std::string_view path) {
  if (directory == "/" || directory == path) return true;
  return starts_with(path, directory) && path[directory.size()] == '/';
}

}  // namespace paddock::policy
