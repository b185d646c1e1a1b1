#include "redact/names.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "redact/checks.h"
#include "redact/redact.h"

namespace paddock::redact {
namespace {

// Whole words of a name: API_KEY, dbPassword, github-token, but not MONKEY or
// TOKENIZERS_PARALLELISM.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < name.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(name[i]),
                  previous = i ? static_cast<unsigned char>(name[i - 1]) : 0;
    if (!std::isalnum(c)) {
      words.emplace_back();
      continue;
    }
    if (std::isupper(c) && std::islower(previous)) words.emplace_back();
    words.back() += static_cast<char>(std::tolower(c));
  }
  return words;
}

// For names of variables: whole words only, since parts of words hit far too much.
bool name_says_so(std::string_view name) {
  std::vector<std::string> words = words_of(name);
  std::string previous;
  for (const std::string& word : words) {
    for (std::string_view secret :
         {"secret", "secrets", "token", "password", "passwd", "passphrase", "pwd", "pass", "apikey",
          "credential", "credentials", "authtoken", "accesskey", "secretkey", "privatekey", "pat",
          "dsn"})
      if (word == secret && !(word == "pwd" && words.size() == 1)) return true;  // PWD is a folder
    if (word == "key")
      for (std::string_view kind : {"api", "access", "secret", "private", "auth", "encryption",
                                    "signing", "master", "account", "storage", "service"})
        if (previous == kind) return true;
    previous = word;
  }
  return false;
}

// Paths, numbers and placeholders are not secrets, whatever their name.
bool could_be_one(std::string_view value) {
  if (value.size() < 6 || is_placeholder(value) || value[0] == '/' || value[0] == '~') return false;
  return value.find_first_not_of("0123456789.-") != value.npos || value.size() >= 12;
}

}  // namespace

// For flags and assignments: the last word decides, and words such as `no` or `show` in front mean
// something else.
bool flag_names_secret(std::string_view name) {
  auto is_one_of = [](std::string_view text, std::initializer_list<std::string_view> list) {
    return std::find(list.begin(), list.end(), text) != list.end();
  };
  std::vector<std::string> words = words_of(name);
  words.erase(std::remove(words.begin(), words.end(), ""), words.end());
  if (words.empty() ||
      is_one_of(words.front(), {"no", "use", "with", "without", "ask", "show", "print", "prompt",
                                "skip", "generate", "allow", "enable", "disable"}))
    return false;
  const std::string& last = words.back();
  if (last == "key")
    return words.size() > 1 &&
           is_one_of(words[words.size() - 2], {"api", "access", "secret", "auth", "encryption",
                                               "signing", "master", "account"});
  if (last == "pwd") return words.size() > 1;
  if (is_one_of(last, {"pass", "pat", "auth", "bearer", "credential", "credentials", "accesskey",
                       "secretkey", "passin", "passout"}))
    return true;
  // PGPASSWORD.
  for (std::string_view end : {"password", "passwd", "passphrase", "token", "secret", "apikey"})
    if (ends_with(last, end)) return true;
  return false;
}

// The value is tried before the name: a known format is better evidence.
std::string looks_secret(std::string_view name, std::string_view value) {
  Counts counts;
  (void)redacted(*Rules::common(), value, &counts);
  if (!counts.empty()) {
    const std::string& kind = counts.begin()->first;
    return cat("it looks like ",
               std::string_view("aeio").find(kind[0]) == std::string_view::npos ? "a " : "an ",
               kind);
  }
  return name_says_so(name) && could_be_one(value) ? "its name says so" : "";
}

}  // namespace paddock::redact
