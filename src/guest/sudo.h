// `sudo` without set-uid: a small client asks the guest, over a UNIX socket inside the sandbox, to
// start the command as another of the sandbox's users. The door knows this one request; the control
// protocol is not behind it.
//
// client → guest: u32 size and a SudoRequest, with stdin, stdout, stderr by SCM_RIGHTS; then a byte
// for each signal guest → client: for a caller at a terminal first the byte 3 with the master of a
// new terminal by SCM_RIGHTS, which the
//                 client then stands between; in the end one SudoAnswer: a kind, a number, and
//                 words for people
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guest/guest.h"
#include "guest/terminal.h"

namespace paddock::guest {

inline constexpr const char* kSudoSocket = "/run/paddock/guest.sock";
inline constexpr size_t kLargestSudo = 1 << 20;

struct SudoRequest {
  std::string user = "root", group, cwd;
  bool login = false, shell = false, keep_environment = false;
  // The caller stands at one: the command gets one of its own, and with it job control.
  std::optional<TerminalSize> terminal;
  std::vector<std::string> argv, assignments;  // VAR=value of the command line
  std::vector<std::string> environment;        // of the caller
};
std::string encode(const SudoRequest& request);
Result<SudoRequest> decode_sudo(std::string_view bytes);

struct SudoAnswer {
  enum class Kind : uint8_t {
    exited = 0,
    signalled = 1,
    refused = 2,
    terminal = 3
  } kind = Kind::exited;
  uint8_t number = 0;
  std::string words;
};

// Sends bytes with descriptors beside them. False: nothing, or not all.
bool send_with_descriptors(int socket, std::string_view bytes, const std::vector<int>& descriptors);

// What the command line means. `say` is what to print instead of asking, with that exit status.
struct SudoCommand {
  SudoRequest request;
  int status = -1;  // ≥ 0: done already
  std::string say;
};
SudoCommand parse_sudo(const std::vector<std::string>& arguments);

int sudo_main(int argc, char** argv, const char* socket = kSudoSocket);
// Opens the door. Without it (no place for its socket) sudo does not work inside, and all else
// does.
Result<void> open_sudo_door(Guest& guest, const std::string& socket);

}  // namespace paddock::guest
