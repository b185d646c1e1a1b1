// What all commands share: verbs, output, errors and signals.
#include "cli/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "base/fd.h"
#include "base/text.h"
#include "cli/options.h"

namespace paddock::cli {

namespace {

std::vector<std::string> names_of(std::span<const Verb> verbs) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs) names.emplace_back(verb.name);
  return names;
}

}  // namespace

const Verb* find_verb(std::span<const Verb> verbs, const std::string& name) {
  for (const Verb& verb : verbs)
    if (name == verb.name) return &verb;
  return nullptr;
}

// As a table, for --help.
std::string list_verbs(std::span<const Verb> verbs) {
  size_t width = 0;
  for (const std::string& name : names_of(verbs)) width = std::max(width, name.size());
  std::string text;
  for (const Verb& verb : verbs) {
    std::string name = verb.name;
    name.resize(width + 2, ' ');
    text += cat("  ", name, verb.what, "\n");
  }
  return text;
}

// Empty if nothing is near.
std::string nearest_verb(std::span<const Verb> verbs, const std::string& name) {
  return name.empty() ? "" : nearest(name, names_of(verbs));
}

int run_verb(const char* command, std::span<const Verb> verbs, int argc, char** argv) {
  std::string word = argc > 1 ? argv[1] : "";
  if (const Verb* verb = find_verb(verbs, word)) return verb->main(argc - 1, argv + 1);
  if (word == "--help" || word == "-h") {
    print(cat("usage: paddock ", command, " VERB [OPTIONS]\n\n", list_verbs(verbs),
              "\noptions of each: paddock ", command, " VERB --help\n"));
    return 0;
  }
  std::string meant = nearest_verb(verbs, word);
  std::string message =
      word.empty() ? "a verb is missing" : cat("there is no '", printable(word), "'");
  return report({Code::invalid, cat("paddock ", command, ": ", message),
                 meant.empty() ? cat("one of: ", join(names_of(verbs), ", "))
                               : cat("did you mean '", meant, "'?")},
                false);
}

// A failed write is ignored: there is nobody left to tell.
void print(const std::string& text) { (void)write_all(STDOUT_FILENO, text); }
void print_error(const std::string& text) { (void)write_all(STDERR_FILENO, text); }
void print_json(const Value& value) { print(to_json(value) + "\n"); }

// Prints the value as JSON, or the text for people.
int show(bool json, const Value& value, const std::string& text) {
  if (json)
    print_json(value);
  else
    print(text);
  return 0;
}

// As JSON the error goes to stdout, where the caller reads the answer.
int report(const Error& error, bool json) {
  if (json)
    print_json(Value::Object{{"error", Value::Object{{"code", to_string(error.code)},
                                                     {"message", error.message},
                                                     {"hint", error.hint}}}});
  else
    print_error(cat("paddock: ", error.message, "\n",
                    error.hint.empty() ? "" : cat("  hint: ", error.hint, "\n")));
  return kFailed;
}

// An absent list and an empty one are the same to callers.
const Value::Array& items_in(const Value& object, std::string_view key) {
  static const Value::Array none;
  const Value* list = object.find(key);
  return list && list->as_array() ? *list->as_array() : none;
}

// The result can be pasted into a shell.
std::string shell_word(const std::string& text) {
  static constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// No colours if the output is not a terminal, or NO_COLOR says so (no-color.org).
Colours colours() {
  const char* no_color = std::getenv("NO_COLOR");
  if (!::isatty(STDOUT_FILENO) || (no_color && *no_color)) return {"", "", "", "", "", ""};
  return {"\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[0m"};
}

// In the zone of the user, as clocks on the wall show it.
std::string local_time(int64_t time_ms, Precision precision) {
  time_t seconds = static_cast<time_t>(time_ms / 1000);
  tm parts{};
  char text[32];
  const char* format = precision == Precision::minutes ? "%Y-%m-%d %H:%M" : "%Y-%m-%d %H:%M:%S";
  if (!::localtime_r(&seconds, &parts) || std::strftime(text, sizeof text, format, &parts) == 0)
    return "";
  if (precision == Precision::minutes) return text;
  return cat(text, ".", std::to_string(1000 + time_ms % 1000).substr(1));
}

// From here on these signals are read from the descriptor, and end nothing by themselves.
Result<Fd> catch_signals(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : signals) ::sigaddset(&set, signal);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return errno_error(errno, "block signals");
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return errno_error(errno, "wait for signals");
  return fd;
}

// 0 if there is none.
int next_signal(const Fd& signals) {
  signalfd_siginfo info{};
  return ::read(signals.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                  : 0;
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// For commands whose children must not read what the user types.
void close_stdin() {
  Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null) (void)::dup2(null.get(), STDIN_FILENO);
}

int version_main(int argc, char** argv) {
  Options options("version", "Prints the version.");
  return options.run(argc, argv, [](bool json) -> Result<int> {
    return show(json, Value::Object{{"version", PADDOCK_VERSION}},
                cat("paddock ", PADDOCK_VERSION, "\n"));
  });
}

}  // namespace paddock::cli
