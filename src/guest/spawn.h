// Starting a program as one of the sandbox's users.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "guest/users.h"

namespace paddock::guest {

using Environment = std::map<std::string, std::string>;

// Whether the sandbox has only one user id. Then every user is the guest's own uid, and users other
// than root merely go without capabilities.
bool has_single_id();

// Everything that a child needs, settled before the fork.
struct SpawnPlan {
  std::vector<std::string> argv;
  Environment environment;
  std::string cwd;
  User user;
  int input = -1, output = -1, errors = -1;  // descriptors
  // `input` is a terminal, and becomes the controlling one of the new session.
  bool terminal = false;
  // Whether the program leads a session of its own, so that it can be killed with all its children.
  bool session = true;
};

struct Spawned {
  pid_t pid = -1;
  // Ends without a byte when the program was executed; otherwise an errno comes first.
  Fd status;
};

// Forks, and returns before the program runs: the caller reads `status` to learn whether it does.
Result<Spawned> spawn_program(const SpawnPlan& plan);

// Called in a child: becomes the user, with no more than that user's privileges. Irreversible.
Result<void> become_user(const User& user);
// Raises this process's limit of open files to the most that it may have. Its children get the
// limit from before.
void raise_open_files();

// The launcher may have put a proc mount that can be written to in place of standard output. This
// keeps it for the guest alone: every program is started without it.
void keep_own_proc();
// Called in a child that still has all descriptors: the kernel is to kill it before the guest when
// memory runs out.
void go_first_when_memory_runs_out();

// Called in a child: default actions, an empty mask and an ordinary umask, as programs expect them.
void become_ordinary();

}  // namespace paddock::guest
