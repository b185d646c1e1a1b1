#include "manager/tenants.h"

#include "base/text.h"
#include "base/value.h"
#include "store/durable.h"

namespace paddock::manager {

namespace {

constexpr char kTenantsFile[] = "tenants.json";
constexpr char kTenantsFormat[] = "paddock.tenants";

struct Member {
  const char* name;
  uint64_t Quota::*place;
};
constexpr Member kMembers[] = {
    {"sandboxes", &Quota::sandboxes},
    {"memory_bytes", &Quota::memory_bytes},
    {"cpu_millicores", &Quota::cpu_millicores},
    {"disk_bytes", &Quota::disk_bytes},
    {"starts_per_minute", &Quota::starts_per_minute},
    {"longest_timeout_ms", &Quota::longest_timeout_ms},
};

Error malformed(const std::string& why) {
  return Error{Code::invalid, cat("read '", kTenantsFile, "': ", why), "mend it, or remove it"};
}

Result<Tenant> tenant_from(const Value& value) {
  Tenant tenant;
  const Value* name = value.find("name");
  if (!name || !name->as_string() || !is_tenant_name(*name->as_string()))
    return malformed("a tenant without a proper name");
  tenant.name = *name->as_string();
  if (const Value* policy = value.find("policy")) {
    if (!policy->as_string())
      return malformed(cat("the policy of '", tenant.name, "' is not a name"));
    tenant.policy = *policy->as_string();
  }
  for (const Member& member : kMembers) {
    const Value* number = value.find(member.name);
    if (!number) continue;
    if (!number->as_int() || *number->as_int() < 0)
      return malformed(cat(member.name, " of '", tenant.name, "' is not a number"));
    tenant.quota.*member.place = static_cast<uint64_t>(*number->as_int());
  }
  return tenant;
}

Value quota_value(const Quota& quota) {
  Value value;
  for (const Member& member : kMembers) value.set(member.name, quota.*member.place);
  return value;
}

// As it stands in the file.
Value line_of(const Tenant& tenant) {
  Value value;
  value.set("name", tenant.name);
  if (!tenant.policy.empty()) value.set("policy", tenant.policy);
  for (const Member& member : kMembers) value.set(member.name, tenant.quota.*member.place);
  return value;
}

}  // namespace

Value to_value(const Tenant& tenant) {
  return Value::Object{
      {"name", tenant.name}, {"policy", tenant.policy}, {"quota", quota_value(tenant.quota)}};
}

bool is_tenant_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name[0] != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

// A file that cannot be read stops the server: without it every quota would be lifted.
Result<Tenants> Tenants::open(int directory) {
  Tenants tenants;
  tenants.directory_ = directory;
  Result<Value> record = store::read_record(directory, kTenantsFile, kTenantsFormat);
  if (!record && record.error().code == Code::not_found) return tenants;
  if (!record) return record.error();
  const Value* list = record.value().find("tenants");
  if (!list || !list->as_array()) return malformed("no list of tenants");
  for (const Value& value : *list->as_array()) {
    Tenant tenant = TRY(tenant_from(value));
    tenants.tenants_[tenant.name] = tenant;
  }
  return tenants;
}

Tenant Tenants::find(const std::string& name) const {
  auto found = tenants_.find(name);
  if (found != tenants_.end()) return found->second;
  Tenant unknown;
  unknown.name = name;
  return unknown;
}

std::vector<Tenant> Tenants::all() const {
  std::vector<Tenant> all;
  for (const auto& [name, tenant] : tenants_) all.push_back(tenant);
  return all;
}

Result<void> check_tenant(const Tenant& tenant) {
  if (!is_tenant_name(tenant.name))
    return Error{Code::invalid,
                 cat("tenant '", printable(tenant.name.substr(0, 64)), "': not a name"),
                 "letters a-z, digits and '-', at most 64"};
  return {};
}

Result<void> Tenants::set(const Tenant& tenant) {
  TRY(check_tenant(tenant));
  std::map<std::string, Tenant> changed = tenants_;
  changed[tenant.name] = tenant;
  Value::Array list;
  for (const auto& [name, one] : changed) list.push_back(line_of(one));
  Value record;
  record.set("format", kTenantsFormat);
  record.set("version", 1);
  record.set("tenants", std::move(list));
  TRY(store::write_record(directory_, kTenantsFile, record, store::Durability::on_disk));
  tenants_ = std::move(changed);
  return {};
}

}  // namespace paddock::manager
