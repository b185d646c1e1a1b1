#include "manager/tenants.h"

#include "base/record.h"
#include "base/text.h"
#include "base/value.h"
#include "store/durable.h"

namespace paddock::manager {

namespace {

constexpr char kTenantsFile[] = "tenants.json";
constexpr char kTenantsFormat[] = "paddock.tenants";

constexpr auto kTenantFields = std::make_tuple(field("name", &Tenant::name),
                                               field("policy", &Tenant::policy, Presence::sparse));
constexpr auto kQuotaFields =
    std::make_tuple(field("sandboxes", &Quota::sandboxes, Presence::optional),
                    field("memory_bytes", &Quota::memory_bytes, Presence::optional),
                    field("cpu_millicores", &Quota::cpu_millicores, Presence::optional),
                    field("disk_bytes", &Quota::disk_bytes, Presence::optional),
                    field("starts_per_minute", &Quota::starts_per_minute, Presence::optional),
                    field("longest_timeout_ms", &Quota::longest_timeout_ms, Presence::optional));

Error malformed(const std::string& why) {
  return Error{Code::invalid, cat("read '", kTenantsFile, "': ", why), "mend it, or remove it"};
}

// In the file, name and quota stand side by side.
Result<Tenant> tenant_from(const Value& value) {
  Tenant tenant;
  Result<void> read = read_record(kTenantFields, value, tenant, "a tenant");
  if (read) read = read_record(kQuotaFields, value, tenant.quota, "a tenant's quota");
  if (!read) return malformed(read.error().message);
  if (!is_tenant_name(tenant.name)) return malformed("a tenant without a proper name");
  return tenant;
}

// As the file has it: name and quota side by side.
Value line_of(const Tenant& tenant) {
  Value value = write_record(kTenantFields, tenant);
  write_fields(kQuotaFields, tenant.quota, value);
  return value;
}

}  // namespace

// As clients have it: the quota is an object of its own.
Value to_value(const Tenant& tenant) {
  return Value::Object{{"name", tenant.name},
                       {"policy", tenant.policy},
                       {"quota", write_record(kQuotaFields, tenant.quota)}};
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

// A tenant that is not in the file has the defaults, so that keys can be made without further
// steps.
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

// What is in force changes only after it is on the disk.
Result<void> Tenants::set(const Tenant& tenant) {
  TRY(check_tenant(tenant));
  std::map<std::string, Tenant> changed = tenants_;
  changed[tenant.name] = tenant;
  Value::Array list;
  for (const auto& [name, one] : changed) list.push_back(line_of(one));
  Value record = Value::Object{{"format", kTenantsFormat}, {"version", 1}, {"tenants", list}};
  TRY(store::write_record(directory_, kTenantsFile, record, store::Durability::on_disk));
  tenants_ = std::move(changed);
  return {};
}

}  // namespace paddock::manager
