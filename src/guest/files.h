// What several operations on files share.
#pragma once

#include <string>

#include "guest/guest.h"

namespace paddock::guest {

struct Ownership {
  uint32_t uid = 0, gid = 0;
};

struct Place {
  User user;
  std::string path;  // absolute
  Ownership ownership;
};
// The "user" of a request, and the path that `key` of it means.
Result<Place> place_in(Guest& guest, const Value& request, std::string_view key = "path");

// Makes `path` and what lies above it where missing: 0755, given to that owner. Whether it made `path` itself.
Result<bool> make_directories(const std::string& path, const Ownership& ownership);
std::string parent_of(const std::string& path);

// Opens for writing as the protocol's other servers do: what is there is emptied in place (or stays, and is added to), else it is made
// together with its parents. Only regular files.
enum class Existing : uint8_t { emptied, added_to };
Result<Fd> open_for_writing(const Place& place, Existing existing = Existing::emptied);

Value with_entry(Value entry);  // {"entry":…}

}  // namespace paddock::guest
