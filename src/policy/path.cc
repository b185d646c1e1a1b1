#include "policy/path.h"

#include <vector>

#include "base/text.h"

namespace paddock::policy {

namespace {

constexpr size_t kLongestPath = 4095;  // PATH_MAX without its NUL

Error refuse(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text), "' ", why), std::move(hint)};
}

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

bool contains_path(std::string_view directory, std::string_view path) {
  if (directory == "/" || directory == path) return true;
  return starts_with(path, directory) && path[directory.size()] == '/';
}

}  // namespace paddock::policy
