// Subordinate ids: those that the administrator gave an ordinary user in /etc/subuid and
// /etc/subgid.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "paddock/error.h"

namespace paddock::kernel {

struct SubIds {
  uint32_t uid = 0, gid = 0;  // the first of each
};
// Where this user has at least `count` of both, and the programs that map them are installed.
std::optional<SubIds> find_sub_ids(uint32_t uid, uint32_t count);

bool has_sub_id_programs();  // newuidmap and newgidmap are installed

// The first id of a range of at least `count` for that user (by number or name) in the text of such
// a file.
std::optional<uint32_t> find_sub_range(const std::string& text, uint32_t uid,
                                       const std::string& name, uint32_t count);

// The account of a uid, from /etc/passwd alone: other sources would need libraries that a static
// program does not have. Empty if there is none.
std::string user_name(uint32_t uid);

// Lets `program` (newuidmap, newgidmap), which has the right to do so, write a process's map:
// `own`, and after it `count` ids from `first` on.
struct OwnIds {
  uint32_t inside = 0, outside = 0, count = 1;
};
Result<void> map_sub_ids(const char* program, pid_t child, const OwnIds& own, uint32_t first,
                         uint32_t count);

}  // namespace paddock::kernel
