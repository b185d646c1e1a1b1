// The sub-commands. Each is one file: parse its flags, call one thing, print. argv[0] is the
// sub-command's name.
#pragma once

#include <string>

#include "base/value.h"
#include "paddock/error.h"

namespace paddock::cli {

int run_main(int argc, char** argv);
int policy_main(int argc, char** argv);
int doctor_main(int argc, char** argv);
int verify_main(int argc, char** argv);
int diff_main(int argc, char** argv);
int apply_main(int argc, char** argv);
int image_main(int argc, char** argv);  // in paddock-server, as the next
int serve_main(int argc, char** argv);
int key_main(int argc, char** argv);
int template_main(int argc, char** argv);
int audit_main(int argc, char** argv);
int tool_main(int argc, char** argv);
int approve_main(int argc, char** argv);
int mcp_main(int argc, char** argv);
int telemetry_send_main(int argc, char** argv);  // started by `paddock run`, not by people
int version_main(int argc, char** argv);

constexpr int kFailed = 125;  // Paddock itself failed or refused

// Prints the error as text on stderr ("paddock: message", hint below), or as {"error":…} on stdout.
// Returns kFailed.
int report(const Error& error, bool json);

// Writes text to stdout or stderr, all of it.
void print(const std::string& text);
void print_error(const std::string& text);

// "\x1b[32m" and friends only when stdout is a terminal and NO_COLOR is unset; else "".
struct Colours {
  const char *bold, *green, *red, *yellow, *dim, *off;
};
Colours colours();

}  // namespace paddock::cli
