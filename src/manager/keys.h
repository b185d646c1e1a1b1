// API keys: who may ask the server for what. Kept in one file of the state directory, by keyed hash
// only; a key itself is shown once, when it is made. Programs beside the server may change the file
// (under a lock); the server notices.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "manager/manager.h"

namespace paddock::manager {

inline const std::set<std::string> kScopes = {"read", "sandboxes", "templates", "metrics", "admin"};

struct KeyInfo {
  std::string id;  // names it; no secret
  std::string tenant, name;
  std::set<std::string> scopes;
  std::string last_four;              // of the key, to recognise it by
  WallTime created = 0, expires = 0;  // expires: 0 for never
};

struct NewKey {
  KeyInfo info;
  std::string key;  // "e2b_" and 40 hex digits: what every version of the E2B SDK takes
};

class Keys {
 public:
  static Result<Keys> open(const std::string& state_directory);

  static Result<void> can_create(const KeyInfo& wanted);
  Result<NewKey> create(KeyInfo wanted);  // id, last_four and created are filled in
  Result<std::vector<KeyInfo>> list();
  Result<void> can_revoke(const std::string& id);  // Code::not_found
  Result<void> revoke(const std::string& id);
  // Whose key it is; nothing when it is unknown or has expired.
  std::optional<KeyInfo> check(std::string_view key);
  std::optional<KeyInfo> find(std::string_view key);  // one that has expired as well

 private:
  struct Entry {
    KeyInfo info;
    std::string hash;
  };
  Result<void> read_if_changed();
  Result<void> write();
  Result<Fd> lock() const;

  std::string directory_;
  std::string secret_;
  std::vector<Entry> entries_;
  struct stat seen_ {};
};

}  // namespace paddock::manager
