// The root of `base`: the host's own /usr, and around it a small tree made here, with accounts, settings and the package
// manager's records, and nothing that is personal or secret.
#pragma once

#include <string>

#include "paddock/error.h"

namespace paddock::store {

// What make_skeleton() would depend on, hashed: another one means that `base` is to be made again.
Result<std::string> skeleton_fingerprint();

// Makes the directories `root` (for "/") and `usr` (over the host's /usr), which must not exist. Takes up to a second.
// Code::unsupported on a host whose /bin, /lib and /sbin are not links into /usr.
Result<void> make_skeleton(const std::string& root, const std::string& usr);

// For a template made from an image: its directory copied to `root` with owners as inside, the user `user` with a home, and
// sudo. Everything in it belongs to uid 0 inside: an import does not keep owners. Takes as long as the image is large.
Result<void> copy_image_root(const std::string& image_root, const std::string& root);

}  // namespace paddock::store
