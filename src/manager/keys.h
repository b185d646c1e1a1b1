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

// `admin` includes all others.
inline const std::set<std::string> kScopes = {"read", "sandboxes", "templates", "metrics", "admin"};

struct KeyInfo {
  // Names the key. It is not a secret.
  std::string id;
  std::string tenant, name;
  std::set<std::string> scopes;
  // The end of the key, to recognise it by.
  std::string last_four;
  // Milliseconds since 1970; `expires` is 0 for never.
  WallTime created = 0, expires = 0;
};

struct NewKey {
  KeyInfo info;
  // "e2b_" and 40 hex digits, which every version of the E2B SDK accepts.
  std::string key;
};

// As clients see it.
Value to_value(const KeyInfo& key);

// The data of the event "key.create".
Value creation_data(const KeyInfo& key);

class Keys {
 public:
  static Result<Keys> open(const std::string& state_directory);

  Result<std::vector<KeyInfo>> list();
  // Whose key it is; nothing when it is unknown or has expired.
  std::optional<KeyInfo> check(std::string_view key);
  // Also finds one that has expired.
  std::optional<KeyInfo> find(std::string_view key);

  // For a command of the user's own: recorded in the user's log, then done. A server records in its
  // own log: Manager::create_key and revoke_key.
  Result<NewKey> create(const KeyInfo& wanted);  // id, last_four and created are filled in
  // Code::not_found if there is none.
  Result<void> revoke(const std::string& id);

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
