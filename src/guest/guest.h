// The guest: serves the requests of whoever is attached. guest.cc has the table of operations.
//
//   Guest guest(loop);
//   guest.attach(stream);   // newest wins
//   loop.run();
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "guest/link.h"
#include "guest/processes.h"
#include "guest/users.h"

namespace paddock::guest {

class Guest {
 public:
  explicit Guest(io::Loop& loop);

  io::Loop& loop;
  Processes processes;
  // The sandbox has only one user id, so its users differ in name and environment alone.
  const bool single_id;
  Environment environment;  // of everything started from now on
  std::string default_user, default_cwd;
  // The default user as it was when the settings were made, because /etc/passwd may be broken
  // later.
  std::optional<User> usual_user;
  // The number of directories that all watches hold together. They share one limit.
  size_t watched = 0;
  // Whether the sudo socket is open. Servers learn it from the hello.
  bool has_sudo = false;

  // Serves the requests that come on `stream`. The link that was there before is closed, and its
  // calls are cancelled.
  void attach(Fd stream);
  // The user that a request names, or the default one.
  Result<User> user_of(const Value& request) const;
  // The variables that a program of that user starts with: those of the guest itself, those that
  // belong to the user, and those of the settings, in this order.
  Environment environment_of(const User& user) const;
  // The ids that files of that user get.
  uint32_t file_uid(const User& user) const;
  uint32_t file_gid(const User& user) const;

  std::string usual_name(const Users& users) const;  // of the default user

 private:
  std::shared_ptr<Link> link_;
};

// One request, to its result.
io::Task<Result<Value>> serve(Guest& guest, std::shared_ptr<Call> call);

// Resolves `path` as a request of `user` means it: "~" and "~/x" are in the home directory,
// relative paths begin there, and "" stands for `otherwise`.
Result<std::string> resolve_path(const std::string& path, const User& user,
                                 const std::string& otherwise);

// The main function of a sandbox's first process. `control` brings attachments; when it closes, the
// guest exits, and with it the sandbox. (Tests run it in an ordinary process, whose children then
// outlive it.)
[[noreturn]] void run_guest(int control, const std::string& sudo_socket);

}  // namespace paddock::guest
