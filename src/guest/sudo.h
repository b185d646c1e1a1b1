// `sudo` without set-uid: a small client asks the guest, over a UNIX socket inside the sandbox, to
// start the command as another of the sandbox's users. The socket knows this one request; the
// control protocol cannot be reached through it. The client sends a u32 size and a SudoRequest,
// with stdin, stdout and stderr by SCM_RIGHTS, and then a byte for each signal. The guest sends, if
// the caller is at a terminal, the byte 3 with the master of a new terminal by SCM_RIGHTS; the
// client then relays between the two. At the end it sends one SudoAnswer: a kind, a number, and
// words for people.
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

// Comes from any program inside, so nothing in it is believed. Who is asking is known from the
// socket.
struct SudoRequest {
  std::string user = "root", group, cwd;
  bool login = false, shell = false, keep_environment = false;
  // The size of the caller's terminal. The command then gets a terminal of its own, and with it job
  // control.
  std::optional<TerminalSize> terminal;
  std::vector<std::string> argv, assignments;  // VAR=value of the command line
  std::vector<std::string> environment;        // of the caller
};
std::string encode(const SudoRequest& request);
Result<SudoRequest> decode_sudo(std::string_view bytes);

// How the command ended. `number` is its exit status or signal, `words` say why it was refused.
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

// Sends bytes together with at most three descriptors. False if not everything was sent.
bool send_with_descriptors(int socket, std::string_view bytes, const std::vector<int>& descriptors);

// What a command line means. With a status there is nothing to ask: `say` is printed, and sudo
// exits.
struct SudoCommand {
  SudoRequest request;
  int status = -1;  // ≥ 0: done already
  std::string say;
};
SudoCommand parse_sudo(const std::vector<std::string>& arguments);

// The main function of the client. Returns the exit status.
int sudo_main(int argc, char** argv, const char* socket = kSudoSocket);
// Opens the socket and serves it. If this fails (no directory for the socket), only sudo does not
// work inside.
Result<void> open_sudo_door(Guest& guest, const std::string& socket);

}  // namespace paddock::guest
