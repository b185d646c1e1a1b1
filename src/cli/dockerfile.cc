#include "cli/dockerfile.h"

#include <fnmatch.h>

#include "base/text.h"
#include "base/value.h"
#include "cli/cli.h"

namespace paddock::cli {

namespace {

// An instruction, with the number of the line that it begins on.
struct Line {
  int number = 0;
  std::string keyword, rest;
};

std::string trimmed(const std::string& text) {
  size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// ASCII only; keywords have no other letters.
std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// "RUN make" into its keyword and the rest.
Line line_of(int number, const std::string& text) {
  size_t blank = text.find_first_of(" \t");
  return {number, upper(text.substr(0, blank)),
          blank == std::string::npos ? "" : trimmed(text.substr(blank))};
}

// Lines without comments, those that end with a backslash joined.
std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::string open;
  int number = 0, began = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    std::string line = trimmed(raw);
    if (line.empty() || line[0] == '#') continue;
    if (open.empty()) began = number;
    bool goes_on = line.back() == '\\';
    if (goes_on) line.pop_back();
    open += line;
    if (goes_on) continue;
    lines.push_back(line_of(began, open));
    open.clear();
  }
  if (!open.empty()) lines.push_back(line_of(began, open));
  return lines;
}

// ["a", "b"], or nothing when it is not that form.
std::optional<std::vector<std::string>> json_form(const std::string& text) {
  if (text.empty() || text[0] != '[') return std::nullopt;
  Result<Value> value = parse_json(text, "");
  if (!value || !value.value().as_array()) return std::nullopt;
  std::vector<std::string> words;
  for (const Value& word : *value.value().as_array()) {
    if (!word.as_string()) return std::nullopt;
    words.push_back(*word.as_string());
  }
  return words;
}

// The list form is quoted for a shell, since steps are run by one.
std::string command_of(const std::string& text) {
  std::optional<std::vector<std::string>> words = json_form(text);
  if (!words) return text;
  std::vector<std::string> parts;
  for (const std::string& word : *words) parts.push_back(shell_word(word));
  return join(parts, " ");
}

// Words with quotes and backslashes as in a shell, without expansion.
std::optional<std::vector<std::string>> shell_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quote) {
      if (c == quote)
        quote = 0;
      else if (c == '\\' && quote == '"' && i + 1 < text.size() &&
               (text[i + 1] == '"' || text[i + 1] == '\\'))
        word += text[++i];
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (c == '\\' && i + 1 < text.size()) {
      if (text[i + 1] == '$') word += c;  // stays for the shell that expands it
      word += text[++i];
      open = true;
    } else if (c == ' ' || c == '\t') {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (quote) return std::nullopt;
  if (open) words.push_back(std::move(word));
  return words;
}

// Reads the instructions in order. What is not taken is an error, because leaving it out would
// build something else.
class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  Result<Dockerfile> read(const std::string& text) {
    for (const Line& line : lines_of(text)) TRY(take(line));
    if (file_.from.empty())
      return Error{Code::invalid, cat(name_, ": there is no FROM"), "begin with: FROM base"};
    // Docker's beginning is root in "/"; a template that says nothing else ends as `user` at home.
    std::vector<DockerStep> steps{{"USER", {"root"}}, {"WORKDIR", {"/"}}};
    steps.insert(steps.end(), file_.steps.begin(), file_.steps.end());
    if (!has_user_) steps.push_back({"USER", {"user"}});
    if (!has_workdir_) steps.push_back({"WORKDIR", {"/home/user"}});
    file_.steps = std::move(steps);
    return file_;
  }

 private:
  Error wrong(const Line& line, const std::string& why, const std::string& hint = "") const {
    return Error{Code::invalid, cat(name_, ":", line.number, ": ", line.keyword, ": ", why), hint};
  }

  // Here-documents are recognised to refuse them, as their lines would be taken for instructions.
  Result<void> take(const Line& line) {
    if (line.keyword == "FROM") return take_from(line);
    if (file_.from.empty()) return wrong(line, "comes before FROM");
    if (line.rest.empty()) return wrong(line, "says nothing");
    if (line.rest.find("<<") != std::string::npos && line.keyword != "ENV") {
      std::string mark = line.rest.substr(line.rest.find("<<") + 2);
      if (!mark.empty() && mark[0] != ' ' && mark[0] != '<' && mark[0] != '(')
        return wrong(line, "here-documents are not taken", "write a script and COPY it");
    }
    if (line.keyword == "RUN") {
      if (starts_with(line.rest, "--")) return wrong(line, "flags are not taken");
      file_.steps.push_back({"RUN", {command_of(line.rest)}});
      return {};
    }
    if (line.keyword == "COPY") return take_copy(line);
    if (line.keyword == "ENV") return take_env(line);
    if (line.keyword == "CMD") {
      file_.start_command = command_of(line.rest);
      return {};
    }
    if (line.keyword == "WORKDIR" || line.keyword == "USER") {
      std::optional<std::vector<std::string>> words = shell_words(line.rest);
      if (!words || words->size() != 1) return wrong(line, "takes one word");
      (line.keyword == "USER" ? has_user_ : has_workdir_) = true;
      file_.steps.push_back(
          {line.keyword,
           {words->front().substr(
               0, line.keyword == "USER" ? words->front().find(':') : std::string::npos)}});
      return {};
    }
    return wrong(line, "is not taken", "FROM, RUN, COPY, WORKDIR, USER, ENV and CMD are");
  }

  // "AS name" is accepted and ignored: there is only one stage.
  Result<void> take_from(const Line& line) {
    if (!file_.from.empty()) return wrong(line, "a second one: builds in stages are not taken");
    std::vector<std::string> words = words_in(line.rest);
    if (words.empty() || starts_with(words[0], "--"))
      return wrong(line, "takes a template or an image");
    if (words.size() != 1 && !(words.size() == 3 && same_ignoring_case(words[1], "as")))
      return wrong(line, "takes one word");
    file_.from = words[0];
    return {};
  }

  // Every source becomes a step of its own, with its owner and mode.
  Result<void> take_copy(const Line& line) {
    std::string owner, mode, rest = line.rest;
    while (starts_with(rest, "--")) {
      size_t blank = rest.find_first_of(" \t");
      std::string flag = rest.substr(0, blank);
      rest = blank == std::string::npos ? "" : trimmed(rest.substr(blank));
      if (starts_with(flag, "--chown="))
        owner = flag.substr(8);
      else if (starts_with(flag, "--chmod="))
        mode = flag.substr(8);
      else
        return wrong(line, cat("'", printable(flag), "' is not taken"), "--chown and --chmod are");
    }
    std::optional<std::vector<std::string>> words = json_form(rest);
    if (!words) words = shell_words(rest);
    if (!words || words->size() < 2) return wrong(line, "takes what to copy, and where to");
    std::string target = words->back();
    if (words->size() > 2 && !ends_with(target, "/"))
      return wrong(line, "several things go into a directory: end it with '/'");
    for (size_t i = 0; i + 1 < words->size(); ++i) {
      std::string source = (*words)[i];
      while (starts_with(source, "./") && source.size() > 2) source = source.substr(2);
      while (starts_with(source, "/")) source = source.substr(1);
      if (source.empty()) source = ".";
      while (source.size() > 1 && ends_with(source, "/")) source.pop_back();
      for (const std::string& part : split(source, '/'))
        if (part == "..")
          return wrong(line, "a source lies outside the directory that is built from");
      if (starts_with(source, "http:") || starts_with(source, "https:"))
        return wrong(line, "addresses are not taken", "RUN curl …");
      file_.steps.push_back({"COPY", {source, target, owner.empty() ? "root" : owner, mode}});
    }
    return {};
  }

  // Both forms of Docker: NAME=VALUE …, and the old one with the rest of the line as the value.
  Result<void> take_env(const Line& line) {
    std::optional<std::vector<std::string>> words = shell_words(line.rest);
    if (!words || words->empty()) return wrong(line, "a quote is not closed");
    std::vector<std::string> args;
    if (words->front().find('=') == std::string::npos) {  // ENV NAME the rest of the line
      if (words->size() < 2) return wrong(line, "takes NAME=VALUE");
      args = {words->front(), trimmed(line.rest.substr(words->front().size()))};
    } else {
      for (const std::string& word : *words) {
        size_t equals = word.find('=');
        if (equals == 0 || equals == std::string::npos) return wrong(line, "takes NAME=VALUE");
        args.push_back(word.substr(0, equals));
        args.push_back(word.substr(equals + 1));
      }
    }
    file_.steps.push_back({"ENV", std::move(args)});
    return {};
  }

  std::string name_;
  Dockerfile file_;
  bool has_user_ = false, has_workdir_ = false;
};

// A pattern of a .dockerignore, without "!".
bool matches(std::string pattern, const std::string& path) {
  while (starts_with(pattern, "/")) pattern = pattern.substr(1);
  while (ends_with(pattern, "/")) pattern.pop_back();
  // A pattern also matches what is beneath it; "**/" matches any depth, none included.
  if (starts_with(pattern, "**/") && matches(pattern.substr(3), path)) return true;
  std::string upto;
  for (const std::string& part : split(path, '/')) {
    upto += upto.empty() ? part : "/" + part;
    if (starts_with(pattern, "**/") && matches(pattern.substr(3), part)) return true;
    if (::fnmatch(pattern.c_str(), upto.c_str(),
                  pattern.find("**") == std::string::npos ? FNM_PATHNAME : 0) == 0)
      return true;
  }
  return false;
}

}  // namespace

Result<Dockerfile> parse_dockerfile(const std::string& text, const std::string& name) {
  return Reader(name).read(text);
}

// Blank lines and comments are left out.
std::vector<std::string> parse_dockerignore(const std::string& text) {
  std::vector<std::string> patterns;
  for (const std::string& raw : split(text, '\n')) {
    std::string line = trimmed(raw);
    if (!line.empty() && line[0] != '#') patterns.push_back(line);
  }
  return patterns;
}

// The last pattern that matches decides.
bool is_ignored(const std::vector<std::string>& patterns, const std::string& path) {
  bool ignored = false;
  for (const std::string& pattern : patterns) {
    bool takes_back = starts_with(pattern, "!");
    if (matches(takes_back ? pattern.substr(1) : pattern, path)) ignored = !takes_back;
  }
  return ignored;
}

}  // namespace paddock::cli
