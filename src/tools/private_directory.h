// A directory of the state directory that only this user can reach: made when missing, refused when
// it is a link, somebody else's, or open to others.
#pragma once

#include <string>

#include "base/fd.h"

namespace paddock::tools {

// The parent is made as well if it is missing.
Result<Fd> open_private_directory(const std::string& path);
// Fails unless `file` is a regular file of ours, with one name, that nobody else can reach. `what`
// begins the message.
Result<void> check_private_file(int file, const std::string& what);

// Takes the lock (flock) of a file of ours. The wait is bounded, because the whole loop waits;
// others hold the lock for milliseconds at most. 0: taken. Else errno, EWOULDBLOCK when the time is
// over; not_locked() puts it into words that begin with `what`.
int wait_for_lock(int file, int64_t most_ms);
Error not_locked(int failed, const std::string& what);

}  // namespace paddock::tools
