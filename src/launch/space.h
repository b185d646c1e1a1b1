// Private space on disk: one directory per run, in a directory of this user's own. For uid 1000
// that is /var/tmp/paddock-1000, which is checked before every use; in it, space-mzxw6ytboi4dgmbr
// is the space of one run, locked by its keeper.
#pragma once

#include <string>

#include "base/fd.h"
#include "launch/plan.h"
#include "paddock/error.h"

namespace paddock::launch {

// The path of the space of the run `id`. Nothing is made yet.
std::string space_of(const std::string& id);

// Makes the plan's space with its folders and files and gives it to the program. The result holds
// the lock that keeps remove_stale_spaces() away. Fails when the directory of spaces is a link,
// belongs to someone else, or others may write to it.
Result<Fd> make_space(const Plan& plan);

void remove_space(const Plan& plan);

// Removes the spaces of keepers that were killed. A directory is removed only if it lies in our own
// directory of spaces under the exact name of a space, belongs to us or to a sandbox of ours, and
// no keeper holds its lock.
void remove_stale_spaces(const Plan& plan);

}  // namespace paddock::launch
