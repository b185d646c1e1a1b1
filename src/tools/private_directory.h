// A directory of the state directory that only this user can reach: made when missing, refused when it is a link, somebody else's, or open
// to others.
#pragma once

#include <string>

#include "base/fd.h"

namespace paddock::tools {

Result<Fd> open_private_directory(const std::string& path);  // its parent, too, when that is missing
// Fails unless `file` is a regular file of ours, with one name, that nobody else can reach. `what` begins the message.
Result<void> check_private_file(int file, const std::string& what);

}  // namespace paddock::tools
