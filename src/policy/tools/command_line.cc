#include "policy/tools/command_line.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/identifier.h"

namespace paddock::policy {

namespace {

// The first is in bytes; a longer line is refused unread.
constexpr size_t kLongestLine = 64 << 10, kMostCommands = 256, kLongestQuote = 80;

Error refuse(std::string_view what, std::string_view why, std::string hint = "") {
  return Error{Code::denied, cat("'", printable(what.substr(0, kLongestQuote)), "' ", why),
               std::move(hint)};
}

// Variables that are harmless before a command: language, time zone and the look of what is
// printed.
bool is_harmless_variable(std::string_view name) {
  static constexpr std::string_view kHarmless[] = {"LANG",     "LANGUAGE", "TZ",   "TERM",
                                                   "NO_COLOR", "COLUMNS",  "LINES"};
  return starts_with(name, "LC_") ||
         std::find(std::begin(kHarmless), std::end(kHarmless), name) != std::end(kHarmless);
}

// Languages and time zones can also be files of one's own.
bool is_harmless_value(std::string_view value) {
  return !starts_with(value, "/") && !starts_with(value, ":") &&
         value.find("..") == std::string_view::npos;
}

// Splits a shell line into commands without running a shell. It accepts only what all common shells
// read alike, and refuses the rest: a wrong guess would let a command through that nobody judged.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {}

  Result<std::vector<Command>> commands() {
    if (text_.size() > kLongestLine)
      return Error{Code::denied, "the command line is too long to be judged", ""};
    while (place_ < text_.size()) TRY(step());
    if (behind_pipe_ && command_.empty())
      return Error{Code::denied, "the command line ends where another command should stand", ""};
    TRY(end_command());
    if (commands_.empty()) return Error{Code::denied, "there is no command in it", ""};
    return std::move(commands_);
  }

 private:
  char here() const { return text_[place_]; }
  bool next_is(std::string_view text) const { return text_.substr(place_, text.size()) == text; }

  // Takes one blank, separator, redirection or word.
  Result<void> step() {
    char c = here();
    if (c == ' ' || c == '\t') return ++place_, Result<void>();
    // No word has begun: what follows may be a comment or a pattern.
    if (next_is("\\\n")) return place_ += 2, Result<void>();
    if (c == '\n' || c == ';' || c == '&' || c == '|') return separator();
    if (c == '#') return refuse(text_.substr(place_), "is a comment", "leave it out");
    if (c == '<' || c == '>' || starts_redirection()) return redirection();
    return word();
  }

  // Newlines may stand between commands without one in between; other separators need a command
  // before them.
  Result<void> separator() {
    if (next_is("&>")) return redirection();
    bool needs_more = false;
    size_t length = 1;
    if (next_is("&&") || next_is("||") || next_is("|&")) length = 2;
    if (here() == '|' || length == 2) needs_more = true;
    if (command_.empty() && assigned_.empty() && here() != '\n')
      return refuse(text_.substr(place_, length), "stands where a command should");
    place_ += length;
    if (command_.empty() && assigned_.empty()) return {};  // an empty line
    TRY(end_command());
    behind_pipe_ = needs_more;
    return {};
  }

  // "2>file" is a redirection of descriptor 2, but "a2>file" is not: this is only asked where a
  // word begins.
  bool starts_redirection() const {
    size_t digits = place_;
    while (digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9') ++digits;
    return digits > place_ && digits < text_.size() &&
           (text_[digits] == '<' || text_[digits] == '>');
  }

  // Only what writes nowhere: 2>&1, >/dev/null, </dev/null.
  Result<void> redirection() {
    size_t start = place_;
    while (place_ < text_.size() && here() >= '0' && here() <= '9') ++place_;
    if (place_ - start > 1)
      return refuse(text_.substr(start), "is a number that some shells take for a word",
                    "put a blank behind it");
    for (std::string_view form : {">&1", ">&2", "&>/dev/null", "&> /dev/null", ">/dev/null",
                                  "> /dev/null", "</dev/null", "< /dev/null"}) {
      if (!next_is(form)) continue;
      size_t end = place_ + form.size();
      bool whole = end == text_.size() ||
                   std::string_view(" \t\n;|&").find(text_[end]) != std::string_view::npos;
      if (!whole) continue;
      place_ = end;
      return {};
    }
    return refuse(text_.substr(start), "redirects to somewhere",
                  "only /dev/null, 2>&1 and the like are judged");
  }

  // Takes a word up to the next unquoted blank or operator. A word that the shell would expand is
  // refused unless every possible expansion is harmless.
  Result<void> word() {
    std::string word;
    size_t start = place_;
    bool pattern = false;
    size_t first_quote = std::string::npos;  // how much of the word stands in front of it
    while (place_ < text_.size()) {
      char c = here();
      if (std::string_view(" \t\n;&|<>").find(c) != std::string_view::npos) break;
      if (c == '\'' || c == '"' || c == '\\') {
        first_quote = std::min(first_quote, word.size());
        TRY(quoted(word));
        continue;
      }
      TRY(check_bare(c));
      if ((c == '*' || c == '?' || c == '[') && !is_test(start)) {
        // The shell puts names of files in its place. After a slash they can be nothing else: no
        // option, script or assignment.
        if (word.find('/') == std::string::npos)
          return refuse(text_.substr(start), "is a pattern, which files could turn into anything",
                        "write it like ./*");
        pattern = true;
      }
      word += c;
      ++place_;
    }
    if (pattern && word[0] == '-')
      return refuse(text_.substr(start), "is an option that files could complete", "write it out");
    size_t equals = word.find('=');
    bool assignment = command_.empty() && equals < first_quote &&
                      is_identifier(std::string_view(word).substr(
                          0, word[equals ? equals - 1 : 0] == '+' ? equals - 1 : equals));
    if (assignment) {
      bool harmless = is_harmless_variable(std::string_view(word).substr(0, equals)) &&
                      is_harmless_value(std::string_view(word).substr(equals + 1));
      if (!harmless)
        return refuse(word, "sets a variable for what it runs", "leave the assignment out");
      assigned_ = word;
      return {};
    }
    if (command_.empty() && first_quote != std::string::npos)
      return refuse(word, "is a command's name in quotes", "write it plainly");
    if (command_.empty() && word.find_first_of("*?[~") != std::string::npos && word != "[")
      return refuse(word, "is a command's name that is a pattern");
    command_.push_back(std::move(word));
    return {};
  }

  // The command "[" is the only word that may begin with a bracket.
  bool is_test(size_t start) const {
    return command_.empty() && text_[start] == '[' &&
           (start + 1 == text_.size() || text_[start + 1] == ' ');
  }

  // Refuses characters that have a meaning for some shell when they are not quoted.
  Result<void> check_bare(char c) const {
    std::string_view rest = text_.substr(place_);
    if (c == '$')
      return refuse(rest, "is a variable or a substitution: what it stands for cannot be seen",
                    "write the words out");
    if (c == '`') return refuse(rest, "runs a command for its output", "write the words out");
    if (c == '(' || c == ')') return refuse(rest, "is a subshell or a function");
    if (c == '{' || c == '}')
      return refuse(rest, "is a group or an expansion by braces",
                    "put it in single quotes if it is meant as text");
    if (c == '!' && (command_.empty() || place_ == 0))
      return refuse(rest, "turns a command's result round", "leave it out");
    if (static_cast<unsigned char>(c) >= 0x80)
      return refuse(rest, "is not ASCII, and not in quotes", "put it in single quotes");
    if (c < ' ' || c == 0x7f) return refuse(rest, "is a control character");
    return {};
  }

  // A quoted part of a word, or one escaped character.
  Result<void> quoted(std::string& word) {
    char quote = here();
    size_t start = place_++;
    if (quote == '\\') {
      if (place_ == text_.size()) return refuse("\\", "stands at the end of the line");
      char c = text_[place_++];
      if (c == '\n') return {};  // the line goes on
      if (static_cast<unsigned char>(c) < ' ' || c == 0x7f || static_cast<unsigned char>(c) >= 0x80)
        return refuse(text_.substr(start), "escapes a character that is not printable ASCII");
      word += c;
      return {};
    }
    for (; place_ < text_.size() && here() != quote; ++place_) {
      char c = here();
      if (c == '\0') return refuse(text_.substr(start), "contains a NUL byte");
      if (quote == '\'') {
        word += c;
        continue;
      }
      if (c == '$' || c == '`')
        return refuse(text_.substr(place_),
                      "is a variable or a substitution, also in double quotes",
                      "use single quotes if it is meant as text");
      if (next_is("\\\n")) {  // the line goes on
        ++place_;
        continue;
      }
      if (c == '\\' && place_ + 1 < text_.size() &&
          std::string_view("\"\\$`").find(text_[place_ + 1]) != std::string_view::npos)
        c = text_[++place_];
      word += c;
    }
    if (place_ == text_.size()) return refuse(text_.substr(start), "lacks its closing quote");
    ++place_;
    return {};
  }

  // A line that only sets variables is refused: they would be in force for all later commands.
  Result<void> end_command() {
    if (command_.empty() && !assigned_.empty())
      return refuse(assigned_, "sets a variable for all that follows");
    assigned_.clear();
    if (command_.empty()) return {};
    if (commands_.size() >= kMostCommands)
      return Error{Code::denied, "there are too many commands in the line", ""};
    commands_.push_back(std::move(command_));
    command_.clear();
    behind_pipe_ = false;
    return {};
  }

  std::string_view text_;
  size_t place_ = 0;
  Command command_;
  std::string assigned_;
  // A command must follow.
  bool behind_pipe_ = false;
  std::vector<Command> commands_;
};

// ---- options that run something ---

// "-x" stands for the letter in any cluster of short options, "--long" also for its beginnings and
// for --long=…, "-word" for exactly that word, "word" for a word without dashes, and "word=" and
// "-word*" for all that starts with them.
struct Hatch {
  std::string_view programs, words;
  const char* why;
};
constexpr Hatch kHatches[] = {
    {"find", "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls",
     "does the work of another command"},
    {"tar",
     "-I -F -T --to-command --use-compress-program --checkpoint-action --info-script "
     "--new-volume-script --rsh-command --rmt-command --files-from",
     "makes tar run a program"},
    {"bsdtar", "--use-compress-program", "makes tar run a program"},
    {"cpio", "--rsh-command", "makes cpio run a program"},
    {"rsync", "-e -M --rsh --rsync-path --remote-option --daemon --config",
     "makes rsync run a program"},
    {"scp", "-o -S -F -D", "can make scp run a program"},
    {"sftp", "-o -S -F -b -D", "can make sftp run a program"},
    {"ssh", "-o -F -S -E -I", "can make ssh run a program"},
    {"ssh-keygen", "-D -w", "loads a library"},
    {"ssh-add", "-s -S", "loads a library"},
    {"sort", "-o --compress-program --output", "makes sort run a program or write a file"},
    {"split", "--filter", "makes split run a program"},
    {"zip", "-T --unzip-command", "makes zip run a program"},
    {"fd fdfind", "-x -X --exec --exec-batch", "does the work of another command"},
    {"rg", "--pre --hostname-bin", "makes rg run a program"},
    {"wget", "-e --execute --use-askpass --config", "can make wget run a program"},
    {"curl", "-K --config", "reads further options from a file"},
    {"make gmake", "-E --eval", "makes make run a program"},
    {"ninja", "-t", "makes ninja do something else"},
    {"cmake", "-P* -E*", "makes cmake run a program"},
    {"printf", "-v", "sets a variable"},
    {"wait", "-p", "sets a variable"},
    {"test [", "-v -R", "looks into a variable, which may run what its name holds"},
    {"install", "--strip-program", "makes install run a program"},
    {"tcpdump", "-z -w", "makes tcpdump run a program or write a file"},
    {"gcc g++ cc c++ clang clang++",
     "-wrapper -B* -fplugin* -fpass-plugin* -specs* --specs --prefix --ld-path --config -fuse-ld* "
     "-Wl,* -Xlinker -Xclang @*",
     "can make a compiler run a program"},
    {"diff3 sdiff", "-o --output --diff-program", "makes it run a program or write a file"},
    {"sqlite3", "-init -nonce", "lifts what -safe holds"},
    {"rpm", "-E -D --eval --define --pipe --rcfile --macros", "makes rpm run a program"},
    {"dpkg", "--pre-invoke --post-invoke --status-logger", "makes dpkg run a program"},
    {"apt apt-get", "-o -c --option --config-file", "can make apt-get run a program"},
    {"pytest", "-p -c --pdbcls", "makes pytest load something else"},
    {"npm", "exec x explore --script-shell --node-options", "makes npm run a program"},
    {"yarn pnpm", "exec dlx", "makes it run a program"},
    {"go", "-exec -toolexec -vettool -overlay", "makes go run a program"},
    {"cargo", "--config", "can make cargo run a program"},
    {"docker", "-H -c --host --context --config", "leads to another daemon"},
};

bool is_short_option(std::string_view option) {
  return option.size() == 2 && option[0] == '-' && option[1] != '-';
}

// Errs on the side of matching: a word that only looks like the option is refused as well.
bool matches_hatch(std::string_view word, std::string_view hatch) {
  if (is_short_option(hatch)) {
    bool cluster = word.size() >= 2 && word[0] == '-' && word[1] != '-';
    return cluster && word.find(hatch[1]) != std::string_view::npos;
  }
  if (starts_with(hatch, "--")) {
    std::string_view name = word.substr(0, word.find('='));
    // Getopt takes an unambiguous beginning.
    return name.size() > 2 && starts_with(name, "--") && starts_with(hatch, name);
  }
  if (ends_with(hatch, "=")) return starts_with(word, hatch);
  if (ends_with(hatch, "*")) return starts_with(word, hatch.substr(0, hatch.size() - 1));
  if (starts_with(hatch, "-"))
    return word == hatch || starts_with(word, cat(hatch, "=")) ||
           starts_with(word, cat("-", hatch));
  return word == hatch;
}

// Serves arrays of views and vectors of strings alike.
template <class List>
bool is_in(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// A version after a dash belongs to the same program, as in gcc-12.
Result<void> check_hatches(const Command& command) {
  std::string_view program = command[0];
  program = program.substr(0, program.find_last_not_of("0123456789.") + 1);
  if (ends_with(program, "-"))
    program.remove_suffix(1);  // gcc-12
  else
    program = command[0];
  for (const Hatch& hatch : kHatches) {
    if (!is_in(split(hatch.programs, ' '), program)) continue;
    std::vector<std::string> hatches = split(hatch.words, ' ');
    for (size_t i = 1; i < command.size(); ++i)
      for (const std::string& option : hatches)
        if (matches_hatch(command[i], option)) return refuse(command[i], hatch.why);
  }
  if (program == "[" || program == "test")  // some shells evaluate what is compared as a number
    for (const std::string& word : command)
      if (word.find("$(") != std::string::npos || word.find('`') != std::string::npos)
        return refuse(word, "may be run by the shell that compares it");
  // tar's first word may be its options without a dash.
  if (command[0] == "tar" && command.size() > 1 && command[1][0] != '-' &&
      command[1].find_first_of("IFT") != std::string::npos)
    return refuse(command[1], "makes tar run a program");
  return {};
}

// ---- git ---

// What git does by itself. Everything else may be an alias of the repository's, and so any command.
constexpr std::string_view kGitCommands[] = {
    "add",          "apply",     "am",         "archive",
    "bisect",       "blame",     "branch",     "cat-file",
    "check-ignore", "checkout",  "cherry",     "cherry-pick",
    "clean",        "clone",     "commit",     "config",
    "describe",     "diff",      "diff-tree",  "fetch",
    "format-patch", "fsck",      "gc",         "grep",
    "hash-object",  "init",      "log",        "ls-files",
    "ls-remote",    "ls-tree",   "merge",      "merge-base",
    "mv",           "name-rev",  "notes",      "prune",
    "pull",         "push",      "range-diff", "rebase",
    "reflog",       "remote",    "reset",      "restore",
    "rev-list",     "rev-parse", "revert",     "rm",
    "shortlog",     "show",      "show-ref",   "sparse-checkout",
    "stash",        "status",    "submodule",  "switch",
    "symbolic-ref", "tag",       "version",    "worktree",
};

// Global options that cannot make git run anything. Others, such as -c and --exec-path, can name
// programs.
constexpr std::string_view kGitOptions[] = {"--no-pager",          "-P",
                                            "--version",           "--no-optional-locks",
                                            "--literal-pathspecs", "--no-replace-objects"};

// "ext::sh -c …", also as the value of an option: git runs git-remote-ext for it.
bool is_helper_address(std::string_view word) {
  if (starts_with(word, "-")) word.remove_prefix(std::min(word.find('='), word.size() - 1) + 1);
  size_t colons = word.find("::");
  return colons != std::string_view::npos && colons > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<ptrdiff_t>(colons),
                     [](char c) { return is_word_character(c) || c == '-' || c == '+'; });
}

// Every command of git can read configuration, but these options name a program or a place on the
// command line itself.
Result<void> check_git_words(const std::string& name, const std::vector<std::string>& words) {
  struct Option {
    std::string_view command, words;
  };
  static constexpr Option kOptions[] = {
      {"", "--ext-diff --output --help"},  // of every command: many take the options of diff
      {"clone", "-c -u --config --upload-pack --template"},
      {"fetch", "--upload-pack --exec"},
      {"pull", "--upload-pack --exec"},
      {"ls-remote", "--upload-pack --exec"},
      {"push", "--receive-pack --exec"},
      {"archive", "-o --exec"},
      {"rebase", "-x --exec"},
      {"grep", "-O --open-files-in-pager"},
      {"init", "--template"},
      {"format-patch", "-o --output-directory"},
      {"submodule", "foreach"},
      {"apply", "--unsafe-paths --build-fake-ancestor"},
  };
  static constexpr std::string_view kBisect[] = {"start", "good", "bad", "skip", "reset", "log"};
  static constexpr std::string_view kTakeAddresses[] = {"archive", "clone", "fetch",  "ls-remote",
                                                        "pull",    "push",  "remote", "submodule"};
  for (const std::string& word : words)
    if (is_in(kTakeAddresses, name) && is_helper_address(word))
      return refuse(word, "is an address that makes git run a program");
  if (name == "bisect" && (words.empty() || !is_in(kBisect, words[0])))
    return refuse("git bisect", "can run a program",
                  "start, good, bad, skip, reset and log are judged");
  if (name == "config") {
    bool reads =
        !words.empty() && (words[0] == "--get" || words[0] == "--get-all" || words[0] == "--list" ||
                           words[0] == "-l" || words[0] == "get" || words[0] == "list");
    if (!reads)
      return refuse("git config", "can set what git runs", "only --get and --list are judged");
  }
  for (const Option& option : kOptions) {
    if (!option.command.empty() && name != option.command) continue;
    for (const std::string& word : words)
      for (const std::string& hatch : split(option.words, ' '))
        if (matches_hatch(word, hatch))
          return refuse(word, cat("makes git ", name, " run a program, or write elsewhere"));
  }
  return {};
}

// Skips the global options and -C DIR, then judges the command with its words.
Result<void> check_git(const Command& command) {
  size_t i = 1;
  while (i < command.size() && starts_with(command[i], "-")) {
    if (command[i] == "-C" && i + 1 < command.size())
      ++i;
    else if (!is_in(kGitOptions, command[i]))
      return refuse(command[i], "is an option of git that can make it run another program");
    ++i;
  }
  if (i == command.size()) return {};
  if (!is_in(kGitCommands, command[i]))
    return refuse(
        command[i],
        "is not one of git's own commands that are judged: it may be an alias for anything");
  return check_git_words(command[i],
                         {command.begin() + static_cast<ptrdiff_t>(i) + 1, command.end()});
}

// ---- small languages ---

// awk's and sed's programs are words, and run commands when they say so.
Result<void> check_awk(const Command& command) {
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (starts_with(word, "-") && word != "-" && !starts_with(word, "-F") &&
        !starts_with(word, "-v"))
      return refuse(word, "is an option of awk that is not judged");
    for (const char* hatch : {"system", "|", "getline", ">", "@"})
      if (word.find(hatch) != std::string::npos)
        return refuse(word, "can make awk run a program or write a file");
  }
  return {};
}

// Addresses of numbers and $, then p, d, q or =; or s/…/…/ with the flags g p i I and numbers.
bool is_plain_sed(std::string_view script) {
  script.remove_prefix(std::min(script.find_first_not_of("0123456789,$ "), script.size()));
  if (script.size() == 1) return std::string_view("pdq=").find(script[0]) != std::string_view::npos;
  if (script.size() < 4 || script[0] != 's') return false;
  char mark = script[1];
  if (is_word_character(mark) || mark == '\\' || mark == '\n' || mark == ';' || mark == ' ')
    return false;
  int marks = 0;
  size_t i = 1;
  for (; i < script.size() && marks < 3; ++i) {
    if (script[i] == '\n') return false;
    if (script[i] == '\\')
      ++i;
    else if (script[i] == '[')
      return false;  // a mark in brackets does not end the pattern
    else
      marks += script[i] == mark;
  }
  return marks == 3 && i <= script.size() &&
         script.substr(i).find_first_not_of("gpiI0123456789") == std::string_view::npos;
}

// sed can run commands (`e`) and write files (`w`), so only scripts without either pass. Only the
// first plain word is a script; the others are files.
Result<void> check_sed(const Command& command) {
  bool has_script = false;
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "-n" || word == "-E" || word == "-r" || word == "-u" || word == "-z" ||
        word == "-nE" || word == "-nr")
      continue;
    bool named = word == "-e";
    if (named && ++i == command.size()) return refuse(word, "has no script behind it");
    if (!named && starts_with(word, "-") && word != "-")
      return refuse(word, "is an option of sed that is not judged");
    if (!named && has_script) continue;  // a file
    if (!is_plain_sed(command[i]))
      return refuse(command[i], "is a script for sed that is not judged",
                    "s/…/…/g, 5p, 1,9d and the like are");
    has_script = true;
  }
  return {};
}

// A variable may be the command that a rule runs, and its value may run one when it is read.
// Switches are let through.
Result<void> check_make(const Command& command) {
  static constexpr std::string_view kSwitches[] = {"",    "0",  "1",  "2",   "y",    "n",
                                                   "yes", "no", "on", "off", "true", "false"};
  for (size_t i = 1; i < command.size(); ++i) {
    std::string_view word = command[i];
    if (word.find('$') != std::string_view::npos)
      return refuse(word, "can make make run a program");
    if (word == "-" || ends_with(word, "f-") || ends_with(word, "=-") ||
        word.find("/dev/") != std::string_view::npos ||
        word.find("/proc/") != std::string_view::npos)
      return refuse(word, "makes make read its rules from somewhere else");
    size_t equals = word.find('=');
    if (equals == std::string_view::npos || starts_with(word, "-")) continue;
    if (!is_identifier(word.substr(0, equals)) || word.substr(0, equals) == "SHELL" ||
        !is_in(kSwitches, word.substr(equals + 1)))
      return refuse(word, "sets a variable, which make may run",
                    "only switches such as V=1 are judged");
  }
  return {};
}

// .shell runs a program, and commands also come on standard input. -safe forbids that, from where
// it stands on.
Result<void> check_sqlite(const Command& command) {
  if (command.size() < 2 || (command[1] != "-safe" && command[1] != "--safe"))
    return refuse(command[0], "can run programs", "write -safe as its first option");
  return {};
}

// \! runs a program, and so do \o and \g with a pipe and COPY … PROGRAM; commands also come from
// files and standard input.
Result<void> check_psql(const Command& command) {
  static constexpr std::string_view kAlone[] = {"-X",
                                                "--no-psqlrc",
                                                "-A",
                                                "-t",
                                                "-q",
                                                "-w",
                                                "-1",
                                                "-At",
                                                "-tA",
                                                "-qAt",
                                                "-tAq",
                                                "--csv",
                                                "--tuples-only",
                                                "--no-align",
                                                "--no-password",
                                                "--quiet"};
  static constexpr std::string_view kWithValue[] = {
      "-c", "--command", "-h", "--host", "-p", "--port", "-U", "--username", "-d", "--dbname"};
  auto runs_program = [](std::string_view word) {
    constexpr std::string_view kProgram = "program";
    if (word.find('\\') != std::string_view::npos) return true;
    for (size_t at = 0; at + kProgram.size() <= word.size(); ++at)
      if (same_ignoring_case(word.substr(at, kProgram.size()), kProgram)) return true;
    return false;
  };
  bool has_command = false, has_no_start_file = false, is_value = false;
  for (size_t i = 1; i < command.size(); ++i) {
    std::string_view word = command[i], name = word.substr(0, word.find('='));
    if (runs_program(word)) return refuse(word, "can make psql or its server run a program");
    if (std::exchange(is_value, false) || !starts_with(word, "-")) continue;
    is_value = is_in(kWithValue, word);
    bool is_assigned =
        starts_with(word, "--") && name.size() < word.size() && is_in(kWithValue, name);
    if (!is_value && !is_assigned && !is_in(kAlone, word))
      return refuse(word, "is an option of psql that is not judged");
    has_command |= word == "-c" || name == "--command";
    has_no_start_file |= word == "-X" || word == "--no-psqlrc";
  }
  if (!has_command || !has_no_start_file)
    return refuse("psql", "can read commands from elsewhere",
                  "write -X, and what it does behind -c");
  return {};
}

// Programs whose purpose is to run another one. No list of allowed commands can hold if one of them
// is on it.
struct Wrapper {
  std::string_view names;
  const char* why;
};
constexpr Wrapper kWrappers[] = {
    {"sh bash dash zsh ksh mksh ash fish csh tcsh yash posh busybox toybox rbash rksh pwsh",
     "is a shell: it runs whatever it is told"},
    {"env xargs sudo doas su nohup nice ionice timeout time setsid stdbuf chroot unshare nsenter "
     "setpriv runuser watch parallel strace ltrace gdb "
     "flock script expect chrt taskset prlimit choom systemd-run at batch crontab screen tmux "
     "start-stop-daemon ld.so npx bunx uvx pipx entr unbuffer catchsegv "
     "logsave ssh-agent dbus-run-session fakeroot faketime setarch linux32 linux64 cpulimit rlwrap "
     "socat pkexec run-parts run0 sg newgrp capsh bwrap firejail proot valgrind perf hyperfine "
     "torsocks proxychains proxychains4",
     "runs another command, which is not the one that is listed"},
    {"vi vim nvim view ex ed emacs nano less more most man info pico joe dc m4 ftp lftp telnet "
     "mail mailx mutt gnuplot "
     "mysql mariadb mongo mongosh sqlplus sqlcmd usql pgcli mycli lldb tig lazygit mc ranger nnn "
     "vifm w3m lynx links elinks top htop",
     "lets its user run commands from inside"},
    {"eval exec source . command builtin coproc trap export declare typeset local readonly set "
     "unset shopt alias unalias enable hash bind complete compgen compopt "
     "let read mapfile readarray getopts function fc jobs bg fg disown suspend if then else elif "
     "fi for while until do done case esac select [[ ! :",
     "is a word of the shell that changes what the rest of the line means"},
};

}  // namespace

const char* runs_other_commands(std::string_view name) {
  std::string_view base = name.substr(name.rfind('/') + 1);  // also by its path
  for (const Wrapper& wrapper : kWrappers)
    for (const std::string& word : split(wrapper.names, ' '))
      if (!word.empty() && word == base) return wrapper.why;
  return nullptr;
}

Result<std::vector<Command>> commands_in(std::string_view line) { return Line(line).commands(); }

// The order matters: programs that run others are refused by name first, then options that do, and
// last what a program's own language can do.
Result<void> check_command(const Command& command) {
  if (command.empty() || command[0].empty())
    return Error{Code::denied, "there is no command in it", ""};
  for (const std::string& word : command)
    if (word.find('\0') != std::string::npos) return refuse(word, "contains a NUL byte");
  if (const char* why = runs_other_commands(command[0])) return refuse(command[0], why);
  std::string base = command[0].substr(command[0].rfind('/') + 1);
  Command by_name = command;
  by_name[0] = base;
  TRY(check_hatches(by_name));
  if (base == "git") return check_git(by_name);
  if (base == "awk" || base == "gawk" || base == "mawk" || base == "nawk")
    return check_awk(by_name);
  if (base == "sed" || base == "gsed") return check_sed(by_name);
  if (base == "make" || base == "gmake") return check_make(by_name);
  if (base == "sqlite3") return check_sqlite(by_name);
  if (base == "psql") return check_psql(by_name);
  return {};
}

}  // namespace paddock::policy
