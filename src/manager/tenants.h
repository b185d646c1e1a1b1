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
  std::string policy;  // a preset or a file; empty: the operator's alone
};

Value to_value(const Tenant& tenant);  // as clients and records see it

bool is_tenant_name(const std::string& name);  // [a-z0-9][a-z0-9-]*, at most 64
Result<void> check_tenant(const Tenant& tenant);

class Tenants {
 public:
  static Result<Tenants> open(int directory);  // which must stay open
  Tenant find(const std::string& name) const;
  std::vector<Tenant> all() const;
  Result<void> set(const Tenant& tenant);  // on disk when it returns

 private:
  int directory_ = -1;
  std::map<std::string, Tenant> tenants_;
};

}  // namespace paddock::manager
