// Who may use the server, and how much of it: tenants.json in the server's state. A tenant that is
// not in it has the defaults of Quota and the operator's policy alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/value.h"
#include "manager/quota.h"

namespace paddock::manager {

struct Tenant {
  std::string name;
  Quota quota;
  // A preset or a file. Empty: the operator's alone.
  std::string policy;
};

// As clients and records see it.
Value to_value(const Tenant& tenant);

// Matches [a-z0-9][a-z0-9-]*, at most 64.
bool is_tenant_name(const std::string& name);
Result<void> check_tenant(const Tenant& tenant);

class Tenants {
 public:
  // The directory must stay open.
  static Result<Tenants> open(int directory);
  Tenant find(const std::string& name) const;
  std::vector<Tenant> all() const;
  // On disk when it returns.
  Result<void> set(const Tenant& tenant);

 private:
  int directory_ = -1;
  std::map<std::string, Tenant> tenants_;
};

}  // namespace paddock::manager
