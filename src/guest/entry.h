// The description of a file: the "entry" of docs/formats/guest.md.
#pragma once

#include <sys/stat.h>

#include <map>
#include <string>

#include "base/value.h"
#include "guest/users.h"

namespace paddock::guest {

// Names and values that a client attached to a file. Both are printable ASCII.
using Metadata = std::map<std::string, std::string>;

// Keeps the names of users and groups that it has looked up, so use one for a whole listing.
class Describer {
 public:
  Describer() : users_(Users::read()) {}
  // Describes what is at `path`; a link is not followed. Fails with `not_found` if there is
  // nothing.
  Result<Value> at(const std::string& path);
  // Describes an open file. `path` is only shown, and need not lead to it any more.
  Value of_open(int fd, const std::string& path);

 private:
  Value of(const struct stat& info, const std::string& path);
  const std::string& owner(uint32_t uid);
  const std::string& group(uint32_t gid);

  Users users_;
  std::map<uint32_t, std::string> owners_, groups_;
};

// Metadata is kept in extended attributes "user.e2b.NAME". Setting replaces all there were.
Result<void> check_metadata(const Metadata& metadata);
Result<void> set_metadata(int fd, const Metadata& metadata);

}  // namespace paddock::guest
