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
  // The request says "own_rights": the user's rights hold, not root's.
  bool with_own_rights = false;
};

// While it lives, this process opens files with the rights of the place's user, where the place
// says so and there are several ids. It changes what the whole process may do, so it must not live
// across a co_await.
class FileRights {
 public:
  explicit FileRights(const Guest& guest, const Place& place);
  ~FileRights();
  FileRights(const FileRights&) = delete;
  FileRights& operator=(const FileRights&) = delete;

 private:
  bool changed_ = false;
  std::vector<uint32_t> groups_;  // those from before
};

// The "user" of a request, and the path that `key` of it means.
Result<Place> place_in(Guest& guest, const Value& request, std::string_view key = "path");

// Makes `path` and what lies above it where missing: 0755, given to that owner. Whether it made
// `path` itself.
Result<bool> make_directories(const std::string& path, const Ownership& ownership);
std::string parent_of(const std::string& path);

// Opens for writing as the protocol's other servers do: what is there is emptied in place (or
// stays, and is added to), else it is made together with its parents. Only regular files.
enum class Existing : uint8_t { emptied, added_to };
Result<Fd> open_for_writing(const Place& place, Existing existing = Existing::emptied);

Value with_entry(Value entry);  // {"entry":…}

}  // namespace paddock::guest
