// Users and groups of the sandbox, from its own /etc/passwd and /etc/group. Read by hand: a static
// program cannot use libc's lookups, and these files are the workload's to write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "paddock/error.h"

namespace paddock::guest {

// A line of /etc/passwd, with the groups that /etc/group adds.
struct User {
  std::string name;
  uint32_t uid = 0, gid = 0;
  std::string home, shell;
  std::vector<uint32_t> groups;  // supplementary ones
};

class Users {
 public:
  static Users read();  // as they are now
  Users(std::string passwd, std::string group)
      : passwd_(std::move(passwd)), group_(std::move(group)) {}

  // Finds a user by name, or by number if there is no such name. There is always a root. The
  // error's text, `invalid username: 'x'`, is part of the protocol.
  Result<User> find(const std::string& name) const;
  bool knows(const std::string& name) const { return static_cast<bool>(find(name)); }
  std::string name_of(uint32_t uid) const;  // "1000" when it has none
  std::string group_name_of(uint32_t gid) const;
  Result<uint32_t> find_group(const std::string& name) const;
  bool is_in(const User& user, std::string_view group) const;

 private:
  std::string passwd_, group_;
};

}  // namespace paddock::guest
