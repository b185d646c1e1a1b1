#include "cli/copy_paths.h"

#include "base/text.h"

namespace paddock::cli {

namespace {

// The length of the ID in front of the colon; npos for a path here.
size_t id_length(const std::string& text) {
  size_t colon = text.find(':');
  bool here = colon == std::string::npos || colon == 0 || text.find('/') < colon || text[0] == '.';
  return here ? std::string::npos : colon;
}

}  // namespace

Result<CopyPaths> parse_copy(const std::string& from, const std::string& to) {
  size_t left = id_length(from), right = id_length(to);
  if ((left == std::string::npos) == (right == std::string::npos))
    return Error{
        Code::invalid,
        left == std::string::npos ? "neither side is in a sandbox" : "both sides are in a sandbox",
        "one of FROM and TO is ID:PATH, for example: paddock cp data.csv ID:/home/user/"};
  bool in = right != std::string::npos;
  CopyPaths paths = in ? CopyPaths{to.substr(0, right), from, to.substr(right + 1), true}
                       : CopyPaths{from.substr(0, left), from.substr(left + 1), to, false};
  if (paths.from.empty() || paths.to.empty())
    return Error{Code::invalid, cat("'", printable(in ? to : from), "' names no path"),
                 "ID:PATH, for example ID:/home/user/data.csv"};
  if (paths.from == "-" && !in)
    return Error{Code::invalid, "'-' is stdin: it stands here, not in the sandbox", ""};
  return paths;
}

Result<std::string> copy_target(const std::string& from, const std::string& to,
                                bool to_is_directory) {
  bool into = to_is_directory || ends_with(to, "/");
  if (!into) return to;
  std::string name = from;
  if (name == "." || ends_with(name, "/.")) return to;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  name = name.substr(name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1);
  if (name.empty() || name == "..")
    return Error{Code::invalid, cat("'", printable(from), "' has no name of its own"),
                 "name the target in full"};
  return cat(to, ends_with(to, "/") ? "" : "/", name);
}

}  // namespace paddock::cli
