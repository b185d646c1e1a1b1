// The guest: serves the requests of whoever is attached. operations.cc has the table of them.
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
  const bool single_id;
  Environment environment;  // of everything started from now on
  std::string default_user, default_cwd;
  // The default one as it was when that was settled: /etc/passwd may be spoilt later.
  std::optional<User> usual_user;
  size_t watched = 0;  // directories, in all watches
  bool has_sudo = false;

  void attach(Fd stream);
  // The user that a request names, or the default one.
  Result<User> user_of(const Value& request) const;
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

// `path` as a request of `user` means it: "~" and "~/x" are the home, relative ones begin there, ""
// is `otherwise`.
Result<std::string> resolve_path(const std::string& path, const User& user,
                                 const std::string& otherwise);

// What the first process of a sandbox does: `control` brings attachments, and its end is the end of
// everything. (Tests run it in an ordinary process, whose children outlive it then.)
[[noreturn]] void run_guest(int control, const std::string& sudo_socket);

}  // namespace paddock::guest
