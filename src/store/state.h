// Where Paddock keeps things between runs: one private directory per user.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::store {

// $PADDOCK_STATE; else /var/lib/paddock for root; else $XDG_STATE_HOME/paddock or
// ~/.local/state/paddock. Made with mode 0700 when missing. Refused when it is a link, belongs to
// someone else, or others may write to it: whoever made it could change what is later applied.
Result<std::string> state_directory();

Result<std::string> state_path();  // the same place, whether it is there or not

// A directory of the state directory, made when missing and checked the same way.
struct StateDirectory {
  std::string path;
  Fd fd;
};
Result<StateDirectory> open_state(const std::string& name);

// The home directory that passwd text gives for `uid`; empty if none. Read by hand: a static
// program has no NSS.
std::string home_of(uid_t uid, const std::string& passwd);

std::string home_directory();  // the caller's: $HOME, else what passwd says; empty if neither

// Random [a-z0-9] characters from the kernel.
Result<std::string> random_name(size_t length);

// Writes the whole file under a new name and renames it, so that a reader sees all of it or
// nothing.
Result<void> write_file(int directory, const std::string& name, const std::string& content);

}  // namespace paddock::store
