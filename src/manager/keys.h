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

Value to_value(const KeyInfo& key);       // as clients see it
Value creation_data(const KeyInfo& key);  // of the event "key.create"

class Keys {
 public:
  static Result<Keys> open(const std::string& state_directory);

  Result<std::vector<KeyInfo>> list();
  // Whose key it is; nothing when it is unknown or has expired.
  std::optional<KeyInfo> check(std::string_view key);
  std::optional<KeyInfo> find(std::string_view key);  // one that has expired as well

  // For a command of the user's own: recorded in the user's log, then done. A server records in its
  // own log: Manager::create_key and revoke_key.
  Result<NewKey> create(const KeyInfo& wanted);  // id, last_four and created are filled in
  Result<void> revoke(const std::string& id);    // Code::not_found

 private:
  friend class Manager;
  static Result<void> check_new(const KeyInfo& wanted);
  Result<NewKey> add(KeyInfo wanted);
  Result<void> check_known(const std::string& id);
  Result<void> remove(const std::string& id);

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
