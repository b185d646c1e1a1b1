// What several operations on files share.
#pragma once

#include <string>

#include "guest/guest.h"

namespace paddock::guest {

// The ids that a new file gets. In a sandbox with a single id they are those of the guest itself.
struct Ownership {
  uint32_t uid = 0, gid = 0;
};

// A path of a request, together with the user on whose behalf it is used.
struct Place {
  User user;
  std::string path;  // absolute
  Ownership ownership;
  // The request says "own_rights": the user's rights apply, not root's.
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

// Resolves the "user" of a request, and the path that it has under `key`.
Result<Place> place_in(Guest& guest, const Value& request, std::string_view key = "path");

// Makes `path` and its missing parents with mode 0755, and gives each to that owner. Says whether
// it made `path` itself.
Result<bool> make_directories(const std::string& path, const Ownership& ownership);
std::string parent_of(const std::string& path);

// Opens for writing as the protocol's other servers do: an existing file is emptied in place (or
// kept and appended to), a missing one is made together with its parents. Only regular files are
// opened.
enum class Existing : uint8_t { emptied, added_to };
Result<Fd> open_for_writing(const Place& place, Existing existing = Existing::emptied);

// Wraps an entry as the result of an operation: {"entry":…}.
Value with_entry(Value entry);

}  // namespace paddock::guest
