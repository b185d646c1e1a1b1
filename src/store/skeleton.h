// The root of `base`: the host's own /usr, and around it a small tree made here, with accounts,
// settings and the package manager's records, and nothing that is personal or secret.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"

namespace paddock::store {

// Code::unsupported on a host whose /bin, /lib and /sbin are not links into /usr: no skeleton can
// be made of it.
Result<void> check_skeleton();

// What make_skeleton() depends on, hashed: another one means that `base` is to be made again. Takes
// a few milliseconds and says nothing of what closed_in_usr() finds.
Result<std::string> skeleton_fingerprint();

// What not everybody may read below the host's /usr, as sorted paths in it; nothing for an ordinary
// user. Looks at every file there: some tenths of a second.
std::vector<std::string> closed_in_usr();
std::string closed_fingerprint(const std::vector<std::string>& closed);

// Makes the directory `root` (for "/"), which must not exist, and `usr` (over the host's /usr) with
// `closed` hidden in it.
Result<void> make_skeleton(const std::string& root);
Result<void> make_skeleton_usr(const std::string& usr, const std::vector<std::string>& closed);

// For a template made from an image: its directory copied to `root` with owners as inside, the user
// `user` with a home, and sudo. Everything in it belongs to uid 0 inside: an import does not keep
// owners. Takes as long as the image is large.
Result<void> copy_image_root(const std::string& image_root, const std::string& root);

}  // namespace paddock::store
