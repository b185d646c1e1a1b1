#include "redact/argv.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "redact/names.h"

namespace paddock::redact {
namespace {

constexpr std::string_view kMark = "[redacted:argument]";
// Anything longer is not a password, and must not vanish from a record.
constexpr size_t kLongestValue = 1024;

// As in sh -c "sh -c '…'".
constexpr int kDeepest = 4;

// The blanks at which a shell splits words.
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool has_space(std::string_view text) { return std::any_of(text.begin(), text.end(), is_space); }
bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
}

// Compares without regard to case.
bool is_one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::any_of(list.begin(), list.end(),
                     [&](std::string_view each) { return same_ignoring_case(text, each); });
}

// There is a value, it is not a reference to one, and it has not been taken out already.
bool is_value(std::string_view text) {
  if (text.empty() || text.size() > kLongestValue || text[0] == '$' || text[0] == '<' ||
      text[0] == '`')
    return false;
  bool is_taken_out = starts_with(text, "[redacted:") &&
                      (text.find(']') == text.npos || text.find(']') == text.size() - 1);
  return !is_taken_out && !is_one_of(text, {"-", "true", "false", "yes", "no", "none", "null",
                                            "basic", "digest", "bearer", "prompt", "stdin"});
}

// "--db-password" → "db-password"; empty: no flag.
std::string_view flag_name(std::string_view word) {
  if (word.size() < 3 || word[0] != '-') return "";
  std::string_view name = word.substr(word[1] == '-' ? 2 : 1);
  return is_name(name) ? name : "";
}

// The part after the last slash.
std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Finds secrets by their place on a command line: after a flag that names one, in an assignment, in
// a header. It errs towards showing, since a record must say what was run.
class Line {
 public:
  Line(Counts* counts, int depth) : counts_(counts), depth_(depth) {}

  // The words of one command, redacted already each by itself; a word that held a secret is
  // changed.
  void hide(std::vector<std::string>& words) {
    bool has_curl = false, has_shell = false;
    std::string previous;  // as it was
    for (std::string& word : words) {
      std::string original = word;
      bool is_code = previous.size() > 1 && previous.size() <= 8 && previous[0] == '-' &&
                     previous[1] != '-' && previous.back() == 'c';
      if (is_code && has_shell && depth_ < kDeepest)
        word = Line(counts_, depth_ + 1).hide_in_script(word);
      else if (!is_code)
        hide_one(word, previous, has_curl);
      std::string_view program = file_name(original);
      has_curl |= program == "curl";
      has_shell |= is_one_of(program, {"sh", "bash", "dash", "zsh", "ksh", "ash", "su"});
      previous = std::move(original);
    }
  }

  // The words of a shell's text, where they stand. Only as much of its grammar as is needed to see
  // words: what is not understood stays.
  std::string hide_in_script(std::string_view text) {
    std::string out;
    std::vector<std::string> words, before;
    std::vector<std::pair<size_t, size_t>> places;
    size_t copied = 0;
    auto end_command = [&] {
      before = words;
      hide(words);
      for (size_t i = 0; i < words.size(); ++i) {
        if (words[i] == before[i]) continue;
        out += text.substr(copied, places[i].first - copied);
        out += has_space(words[i]) ? cat("\"", words[i], "\"") : words[i];
        copied = places[i].second;
      }
      words.clear();
      places.clear();
    };
    for (size_t i = 0; i < text.size();) {
      // A line that goes on.
      if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\n')
        i += 2;
      else if (text[i] != '\n' && is_space(text[i]))
        ++i;
      else if (is_separator(text[i]))
        end_command(), ++i;
      else if (text[i] == '#')
        i = std::min(text.find('\n', i), text.size());
      else {
        size_t start = i;
        words.push_back(take_word(text, i));
        places.emplace_back(start, i);
      }
    }
    end_command();
    return out += text.substr(copied);
  }

 private:
  // Where a shell begins another command.
  static bool is_separator(char c) {
    return c == '\n' || c == ';' || c == '|' || c == '&' || c == '(' || c == ')';
  }

  // Takes quotes and escapes away. `at` ends after the word.
  static std::string take_word(std::string_view text, size_t& at) {
    std::string word;
    char quote = 0;
    for (; at < text.size(); ++at) {
      char c = text[at];
      if (!quote && (is_space(c) || is_separator(c))) break;
      if (c == quote)
        quote = 0;
      else if (!quote && (c == '\'' || c == '"'))
        quote = c;
      else if (c == '\\' && quote != '\'' && at + 1 < text.size())
        word += text[++at];
      else
        word += c;
    }
    return word;
  }

  // Up to where a shell would begin something else, were it to read this: what could be run must
  // not vanish from a record, also when that shows the end of a password that has such characters
  // in it.
  void take_out(std::string& word, size_t from) {
    size_t end = std::min({word.find_first_of(";|&`\n", from), word.find("$(", from), word.size()});
    if (end > from) take_out(word, from, end);
  }
  void take_out(std::string& word, size_t from, size_t end) {
    word = cat(word.substr(0, from), kMark, word.substr(end));
    if (counts_) ++(*counts_)["argument"];
  }

  // --password=X, DB_PASSWORD=X, --header=Authorization:…
  bool hide_assigned(std::string& word, std::string_view previous) {
    size_t equals = word.find('=');
    if (equals == word.npos || equals == 0) return false;
    std::string_view name = std::string_view(word).substr(0, equals),
                     value = std::string_view(word).substr(equals + 1);
    bool is_flag = word[0] == '-';
    // npm: //registry.example/:_authToken=…
    name = is_flag ? flag_name(name) : name.substr(name.find_last_of("/:") + 1);
    if (is_flag && name == "header") return hide_header(word, equals + 1, true);
    // What may be the text of a program must not vanish from a record.
    bool is_text =
        !is_flag && (has_space(value) || (previous == "-e" && value.find('(') != value.npos));
    if (!is_name(name) || !flag_names_secret(name) || !is_value(value) || is_text) return false;
    take_out(word, equals + 1);
    return true;
  }

  // "Authorization: Bearer X": the scheme stays.
  bool hide_header(std::string& word, size_t from, bool is_header) {
    size_t colon = word.find(':', from);
    if (colon == word.npos) return false;
    std::string_view name = std::string_view(word).substr(from, colon - from);
    bool is_authorization = is_one_of(name, {"authorization", "proxy-authorization"});
    bool names_secret = is_authorization || is_one_of(name, {"cookie"}) ||
                        (is_name(name) && flag_names_secret(name));
    if (!names_secret || !(is_header || is_authorization || name.find('-') != name.npos))
      return false;
    size_t value = word.find_first_not_of(" \t", colon + 1);
    if (value == word.npos) return false;
    size_t space = word.find(' ', value);
    if (is_authorization && space != word.npos)
      value = std::min(word.find_first_not_of(' ', space), word.size());
    std::string_view secret = std::string_view(word).substr(value);
    if (!is_value(secret) || (!is_header && has_space(secret))) return false;
    take_out(word, value, word.size());  // a header of cookies has semicolons
    return true;
  }

  // curl -u NAME:PASSWORD, also joined to the flag.
  bool hide_credentials(std::string& word, std::string_view previous) {
    bool is_behind = is_one_of(previous, {"-u", "--user", "--proxy-user"});
    bool is_joined = starts_with(word, "-u") || starts_with(word, "-U") ||
                     starts_with(word, "--user=") || starts_with(word, "--proxy-user=");
    size_t colon = word.find(':');
    if (!(is_behind || is_joined) || colon == word.npos ||
        !is_value(std::string_view(word).substr(colon + 1)))
      return false;
    take_out(word, colon + 1);
    return true;
  }

  // The rules for curl come first, since their flags mean something else elsewhere.
  void hide_one(std::string& word, std::string_view previous, bool has_curl) {
    bool behind_header_flag =
        previous == "-H" || is_one_of(previous, {"--header", "--proxy-header"});
    if (has_curl && hide_credentials(word, previous)) return;
    if (hide_assigned(word, previous) || hide_header(word, 0, behind_header_flag)) return;
    if (word[0] != '-' && is_value(word) && flag_names_secret(flag_name(previous)))
      take_out(word, 0);
  }

  Counts* counts_;
  int depth_;
};

}  // namespace

// Each word is redacted by itself first; then what only the neighbours give away is taken out.
std::vector<std::string> redacted_argv(const Rules& rules, const std::vector<std::string>& argv,
                                       Counts* counts) {
  std::vector<std::string> words;
  words.reserve(argv.size());
  for (const std::string& word : argv) words.push_back(redacted(rules, word, counts));
  Line(counts, 0).hide(words);
  return words;
}

// An argument list that is not one of texts is redacted as plain data.
Value redacted_argv(const Rules& rules, const Value& argv, Counts* counts) {
  std::vector<std::string> words;
  if (!argv.as_array()) return redacted(rules, argv, counts);
  for (const Value& word : *argv.as_array()) {
    if (!word.as_string()) return redacted(rules, argv, counts);
    words.push_back(*word.as_string());
  }
  return text_list(redacted_argv(rules, words, counts));
}

std::string redacted_script(const Rules& rules, std::string_view script, Counts* counts) {
  return Line(counts, 1).hide_in_script(std::string_view(redacted(rules, script, counts)));
}

}  // namespace paddock::redact
