#include "policy/files.h"

#include "policy/glob.h"
#include "policy/identifier.h"

namespace paddock::policy {

namespace {

// A grant is a bind mount, which needs one existing path; a pattern has no meaning for it.
Result<std::string> granted_path(const std::string& text, const DecodeContext& context) {
  if (text.find_first_of("*?") != std::string::npos)
    return refused_text(text, "is a pattern; only 'deny' takes patterns", "name the directory");
  return absolute_path(text, context);
}

// Gives a pattern its canonical form: absolute, or starting with a double star for any directory. A
// relative pattern is refused, since nothing says where it would start.
Result<std::string> denied_pattern(const std::string& text, const DecodeContext& context) {
  for (const std::string& label : split(text, '/'))
    if (label == "..") return refused_text(text, "has '..' in a pattern");
  bool anywhere = starts_with(text, "**/") || text == "**";
  if (!anywhere && text.find('/') == std::string::npos) return "**/" + text;  // as in .gitignore
  // A made-up root lets absolute_path tidy what it could not anchor.
  if (anywhere) return TRY(absolute_path("/" + text, context)).substr(1);
  if (text[0] != '/' && text[0] != '~')
    return refused_text(text, "could start anywhere",
                        cat("write '**/", printable(text), "', or an absolute pattern"));
  if (text[0] == '~' && is_glob(context.home))
    return refused_text(text, "cannot be used: the home directory's name is a pattern");
  return absolute_path(text, context);
}

// A bare name such as `.env` is refused because readers disagree about it: it could mean the one
// file here, or all files of that name.
Result<std::string> denied_path(const std::string& text, const DecodeContext& context) {
  if (is_glob(text)) return denied_pattern(text, context);
  if (!text.empty() && text[0] != '~' && text.find('/') == std::string::npos)
    return refused_text(text, "could mean the one here or every one",
                        cat("write '**/", printable(text), "' for every one, './", printable(text),
                            "' for the one here"));
  return absolute_path(text, context);
}

// A path when it looks like one (/…, ~…, ./…, ../…), else an image's name.
Result<std::string> root_path(const std::string& text, const DecodeContext& context) {
  if (text == "." || text == ".." || starts_with(text, "/") || starts_with(text, "~") ||
      starts_with(text, "./") || starts_with(text, "../"))
    return granted_path(text, context);
  bool valid =
      !text.empty() && text[0] != '.' && text[0] != '-' && text.find("..") == std::string::npos;
  for (char c : text)
    valid = valid &&
            (is_word_character(c) || std::string_view(".-:/@").find(c) != std::string_view::npos);
  if (!valid) return refused_text(text, "is neither a path nor an image's name");
  return text;
}

// Accepts a directory without patterns. Whether it exists is found out when it is opened.
Result<std::string> plain_directory(const std::string& text, const DecodeContext& context) {
  if (text.find_first_of("*?") != std::string::npos)
    return refused_text(text, "is a pattern", "name the directory");
  return absolute_path(text, context);
}

// DIR[:ro|rw|copy] of the command line. There, changes are kept aside unless it says otherwise.
Result<Workspace> parse_workspace(const std::string& text) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos) return Workspace{text, WorkspaceMode::copy};
  if (std::optional<WorkspaceMode> mode = workspace_mode_from_string(text.substr(colon + 1)))
    return Workspace{text.substr(0, colon), *mode};
  if (text.find('/', colon) == std::string::npos)
    return refused_text(text.substr(colon + 1), "is not a mode", "ro, rw or copy");
  return Workspace{text, WorkspaceMode::copy};
}

std::string show_workspace(const Workspace& workspace) {
  return cat("'", printable(workspace.path), "' (", to_string(workspace.mode), ")");
}

// Orders the modes by how much they let a program change: a later layer may only go down.
int width(WorkspaceMode mode) {
  switch (mode) {
    case WorkspaceMode::read_only: return 0;
    case WorkspaceMode::copy: return 1;
    case WorkspaceMode::read_write: return 2;
  }
  return 2;
}

// Says whether the path is in the list, or beneath a directory that is.
bool lists_path(const List& list, const std::string& path) {
  auto contains = [&](const std::string& directory) { return contains_path(directory, path); };
  return list && std::any_of(list->begin(), list->end(), contains);
}

}  // namespace

Type<std::vector<std::string>> granted_paths() { return texts("list of paths", granted_path); }
Type<std::vector<std::string>> denied_paths() {
  return texts("list of paths or patterns", denied_path);
}
Type<std::string> root_filesystem() { return text("a directory or an image's name", root_path); }
Type<std::string> audit_directory() { return text("a directory", plain_directory); }

Type<Workspace> workspace() {
  Type<Workspace> type = record<Workspace>(
      "`{ path, mode }`",
      {member("path", &Workspace::path, text("a path", granted_path), Needed::yes),
       member("mode", &Workspace::mode, word(kWorkspaceModeNames))});
  type.show = show_workspace;
  type.parse = parse_workspace;
  return type;
}

// What a layer lets a program write, it also lets it read.
Covers readable_paths(const Policy& layer) {
  return [&layer](const std::string& path) {
    return lists_path(layer.files.read, path) || lists_path(layer.files.write, path);
  };
}

Covers writable_paths(const Policy& layer) {
  return [&layer](const std::string& path) { return lists_path(layer.files.write, path); };
}

// All layers must name the same directory. Each may only narrow the mode of the one before it.
Result<void> NarrowestWorkspace::narrow(const std::string& path, const Layers& layers,
                                        Policy& result) {
  std::optional<Workspace>& standing = result.files.workspace;
  const Policy* last = nullptr;
  for (const Policy* layer : layers) {
    const std::optional<Workspace>& next = layer->files.workspace;
    if (!next) continue;
    if (standing && (standing->path != next->path || width(next->mode) > width(standing->mode)))
      return disagreement(path, *last, show_workspace(*standing), *layer, show_workspace(*next));
    standing = next;
    last = layer;
  }
  return {};
}

std::string explain_workspace(const std::optional<Workspace>& workspace) {
  if (!workspace) return "none";
  std::string path = printable(workspace->path);
  switch (workspace->mode) {
    case WorkspaceMode::read_only: return cat(path, ", read-only, as /workspace");
    case WorkspaceMode::read_write: return cat(path, ", as /workspace; changes are made in place");
    case WorkspaceMode::copy:
      return cat(path, ", as /workspace; changes are kept aside until applied");
  }
  return "";
}

}  // namespace paddock::policy
