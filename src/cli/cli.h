// What all sub-commands share: how they are found, how they print and how they fail. Each
// sub-command parses its flags, calls one thing and prints. argv[0] is the sub-command's name.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/value.h"
#include "paddock/error.h"

namespace paddock::cli {

int run_main(int argc, char** argv);
int policy_main(int argc, char** argv);
int doctor_main(int argc, char** argv);
int verify_main(int argc, char** argv);
int diff_main(int argc, char** argv);
int apply_main(int argc, char** argv);
int version_main(int argc, char** argv);
// The rest are in paddock-server.
int image_main(int argc, char** argv);
int serve_main(int argc, char** argv);
int key_main(int argc, char** argv);
int template_main(int argc, char** argv);
int audit_main(int argc, char** argv);
int tool_main(int argc, char** argv);
int approve_main(int argc, char** argv);
int mcp_main(int argc, char** argv);
int telemetry_send_main(int argc, char** argv);  // started by `paddock run`, not by people

// A command of `paddock`, or a verb of such a command: `paddock image ls`.
struct Verb {
  const char* name;
  int (*main)(int argc, char** argv);
  const char* what;  // a line for the list of them
};
const Verb* find_verb(std::span<const Verb> verbs, const std::string& name);
std::string list_verbs(std::span<const Verb> verbs);  // a line each, aligned
// The name that was probably meant; empty if there is none like it.
std::string nearest_verb(std::span<const Verb> verbs, const std::string& name);

// Calls the verb that argv[1] names, prints the list of them for --help, or says what is wrong.
int run_verb(const char* command, std::span<const Verb> verbs, int argc, char** argv);

constexpr int kFailed = 125;  // Paddock itself failed or refused

// Prints the error as text on stderr ("paddock: message", hint below), or as {"error":…} on stdout.
// Returns kFailed.
int report(const Error& error, bool json);

// Writes text to stdout or stderr, all of it.
void print(const std::string& text);
void print_error(const std::string& text);
// One line of JSON on stdout.
void print_json(const Value& value);
// Prints `value` as JSON, or `text`, which ends in a newline. Returns 0: all is well.
int show(bool json, const Value& value, const std::string& text);

// The elements of a list that an answer may have.
const Value::Array& items_in(const Value& object, std::string_view key);

// A word for a shell's command line, quoted if it would not be one word otherwise.
std::string shell_word(const std::string& text);

// "\x1b[32m" and friends only when stdout is a terminal and NO_COLOR is unset; else "".
struct Colours {
  const char *bold, *green, *red, *yellow, *dim, *off;
};
Colours colours();

// "2026-01-31 12:00:00.123" in local time; without milliseconds, or to the minute. Empty for a time
// that cannot be shown.
enum class Precision : uint8_t { minutes, milliseconds };
std::string local_time(int64_t time_ms, Precision precision);

// From now on these signals arrive on the descriptor instead of acting, so that a command can put
// the terminal back before it goes. For programs with one thread.
Result<Fd> catch_signals(std::initializer_list<int> signals);
int next_signal(const Fd& signals);  // 0 when there is none

// The value of a variable of the environment; empty when it is unset.
std::string from_environment(const char* name);

// Programs that are started get no input: what the caller has there is not for them.
void close_stdin();

}  // namespace paddock::cli
