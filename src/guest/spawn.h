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

// How far this process's own privileges reach: with a single id everyone is the guest's own uid,
// and who is not root goes without capabilities.
bool has_single_id();

struct SpawnPlan {
  std::vector<std::string> argv;
  Environment environment;
  std::string cwd;
  User user;
  int input = -1, output = -1, errors = -1;  // descriptors
  bool terminal = false;                     // `input` is one, and becomes the controlling one
  bool session = true;                       // of its own
};

struct Spawned {
  pid_t pid = -1;
  Fd status;  // ends when the program runs; else holds an errno first
};

Result<Spawned> spawn_program(const SpawnPlan& plan);

// In a child: becomes the user, with no more than that user's privileges. Irreversible.
Result<void> become_user(const User& user);
// As many descriptors as this process may have; its children get the number from before.
void raise_open_files();

// The launcher may have put a proc that can be written to in place of standard output. It is for
// the next one only, and no program ever has it.
void keep_own_proc();
// In a child that still has all descriptors: first in line when memory runs out, before the guest.
void go_first_when_memory_runs_out();

// In a child: signals as programs expect them.
void become_ordinary();

}  // namespace paddock::guest
