#include "cli/options.h"

#include <algorithm>

#include "base/text.h"
#include "cli/cli.h"

namespace paddock::cli {

void Options::flag(const std::string& name, bool* target, const std::string& what) {
  flags_.push_back({name, "", what, target});
}

void Options::text(const std::string& name, const std::string& placeholder, std::string* target,
                   const std::string& what) {
  flags_.push_back({.name = name, .placeholder = placeholder, .what = what, .text = target});
}

void Options::list(const std::string& name, const std::string& placeholder,
                   std::vector<std::string>* target, const std::string& what) {
  flags_.push_back({.name = name, .placeholder = placeholder, .what = what, .list = target});
}

void Options::positional(const std::string& name, std::string* target, const std::string& what,
                         bool required) {
  positionals_.push_back({.name = name, .what = what, .text = target, .required = required});
}

void Options::positional(const std::string& name, std::vector<std::string>* target,
                         const std::string& what, bool required) {
  positionals_.push_back({.name = name, .what = what, .list = target, .required = required});
}

// Without a better hint, the help of the command is named.
Error Options::wrong(const std::string& message, const std::string& hint) const {
  return Error{Code::invalid, cat(command_, ": ", message),
               hint.empty() ? cat("see: paddock ", command_, " --help") : hint};
}

// The first positional that is still free gets the word; a list takes all that is left.
Result<void> Options::take_positional(const std::string& word) {
  for (Entry& entry : positionals_) {
    if (entry.text && entry.seen) continue;
    entry.seen = true;
    if (entry.text)
      *entry.text = word;
    else
      entry.list->push_back(word);
    return {};
  }
  return wrong(cat("'", printable(word), "' is one word too many"));
}

// A flag's names: "-i, --interactive" has two.
static std::vector<std::string> names_of(const std::string& declared) {
  size_t comma = declared.find(", ");
  if (comma == std::string::npos) return {declared};
  return {declared.substr(0, comma), declared.substr(comma + 2)};
}

// Both the short and the long name are found.
Options::Entry* Options::find(const std::string& name) {
  for (Entry& entry : flags_)
    for (const std::string& known : names_of(entry.name))
      if (known == name) return &entry;
  return nullptr;
}

// Replaces "-it" by "-i", "-t" at the front of `words`, if all of these are flags without a value.
bool Options::spread(const std::string& word, std::vector<std::string>& words) {
  if (word.size() < 3 || word[0] != '-' || word[1] == '-') return false;
  std::vector<std::string> letters;
  for (char letter : word.substr(1)) {
    Entry* entry = find(cat("-", letter));
    if (!entry || !entry->flag) return false;
    letters.push_back(cat("-", letter));
  }
  words.insert(words.begin(), letters.begin(), letters.end());
  return true;
}

// What follows `--`, or the first word of a command without it.
Result<void> Options::take_rest(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (rest_)
      rest_->push_back(word);
    else
      TRY(take_positional(word));
  }
  return {};
}

// The flag of this name, or an error that says which one was probably meant.
Result<Options::Entry*> Options::find_flag(const std::string& name) {
  if (Entry* entry = find(name)) return entry;
  std::vector<std::string> names;
  for (const Entry& known : flags_)
    for (const std::string& each : names_of(known.name))
      if (!known.what.empty()) names.push_back(each);
  std::string meant = nearest(name, names);
  return wrong(cat("there is no flag ", printable(name)),
               meant.empty() ? "" : cat("did you mean ", meant, "?"));
}

// `words` are those after the flag, the first of which may be its value.
Result<void> Options::take_flag(const std::string& word, std::vector<std::string>& words) {
  size_t equals = word.find('=');
  std::string name = word.substr(0, equals);
  Entry& entry = *TRY(find_flag(name));
  if (entry.seen && !entry.list) return wrong(cat(name, " stands here twice"));
  entry.seen = true;
  if (entry.flag) {
    if (equals != std::string::npos) return wrong(cat(name, " takes no value"));
    *entry.flag = true;
    return {};
  }
  if (equals == std::string::npos && words.empty())
    return wrong(cat(name, " needs a value: ", entry.placeholder));
  std::string value = equals == std::string::npos ? words.front() : word.substr(equals + 1);
  if (equals == std::string::npos) words.erase(words.begin());
  if (entry.text)
    *entry.text = value;
  else
    entry.list->push_back(value);
  return {};
}

// Takes the words one after the other, and then checks that nothing is missing.
Result<void> Options::read(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  while (!words.empty()) {
    std::string word = words.front();
    words.erase(words.begin());
    if (word == "--") {
      TRY(take_rest(words));
      break;
    }
    bool is_flag = word.size() >= 2 && word[0] == '-';
    if (is_flag) {
      if (find(word) || !spread(word, words)) TRY(take_flag(word, words));
      continue;
    }
    bool awaited = std::any_of(positionals_.begin(), positionals_.end(),
                               [](const Entry& entry) { return !entry.seen; });
    if (!rest_ || awaited) {
      TRY(take_positional(word));
      continue;
    }
    if (std::find(words.begin(), words.end(), "--") != words.end())
      return wrong(cat("'", printable(word), "' stands before --"), "the command belongs after --");
    words.insert(words.begin(), word);
    TRY(take_rest(words));
    break;
  }
  for (const Entry& entry : positionals_)
    if (entry.required && !entry.seen) return wrong(cat(entry.name, " is missing"));
  return {};
}

// What the command does, how it is called, and a line for each positional and flag.
std::string Options::help() const {
  std::string text = cat(what_, "\n\nusage: paddock ", command_, " [OPTIONS]");
  for (const Entry& entry : positionals_)
    text += cat(" ", entry.required ? "" : "[", entry.name, entry.list ? "…" : "",
                entry.required ? "" : "]");
  text += rest_ ? " -- COMMAND [ARG…]\n\n" : "\n\n";
  auto line = [&](const std::string& left, const std::string& what) {
    text += cat("  ", left, std::string(left.size() < 34 ? 34 - left.size() : 1, ' '), what, "\n");
  };
  for (const Entry& entry : positionals_) line(entry.name, entry.what);
  for (const Entry& entry : flags_)
    if (!entry.what.empty())
      line(entry.placeholder.empty() ? entry.name : cat(entry.name, " ", entry.placeholder),
           entry.what);
  line("--help", "show this");
  return text;
}

// --help wins over every error, unless it belongs to a command that is to be run.
std::optional<int> Options::parse(int argc, char** argv) {
  size_t plain = 0;  // words that are not flags
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (std::string_view(argv[i]) == "--help" || std::string_view(argv[i]) == "-h") {
      print(help());
      return 0;
    }
    // A command without "--" has begun.
    if (rest_ && argv[i][0] != '-' && argv[i - 1][0] != '-' && ++plain > positionals_.size()) break;
  }
  Result<void> parsed = read(argc, argv);
  if (!parsed) return report(parsed.error(), false);
  return std::nullopt;
}

// The flag --json is declared last, so that it stands at the end of the help.
int Options::run(int argc, char** argv, const Act& act, const std::string& json_means) {
  bool json = false;
  flag("--json", &json, json_means);
  if (std::optional<int> status = parse(argc, argv)) return *status;
  Result<int> status = act(json);
  return status ? status.value() : report(status.error(), json);
}

}  // namespace paddock::cli
