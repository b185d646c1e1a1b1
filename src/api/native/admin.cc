// Native API: keys and tenants, for administrators of the server.
#include "api/http/all_routes.h"
#include "api/http/server.h"
#include "api/native/describe.h"
#include "manager/keys.h"

namespace paddock::api {

namespace {

using io::Task;

// The key itself is only in this answer: the server keeps a hash.
Task<Result<Reply>> create_key(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  manager::KeyInfo wanted;
  wanted.tenant = fields.text("tenant").value_or(call.caller.tenant);
  wanted.name = fields.text("name").value_or("");
  wanted.expires = fields.number("expires_ms", 0).value_or(0);
  for (const std::string& scope :
       fields.texts("scopes").value_or(std::vector<std::string>{"read", "sandboxes", "templates"}))
    wanted.scopes.insert(scope);
  CO_TRY_VOID(fields.done());
  CO_TRY(manager::NewKey made,
         co_await call.manager.create_key(call.caller, call.server.keys(), wanted));
  Value value = to_value(made.info);
  value.set("key", made.key);
  co_return Reply::json(201, value);
}

Task<Result<Reply>> list_keys(Call& call) {
  CO_TRY(std::vector<manager::KeyInfo> keys, call.server.keys().list());
  co_return list_reply("keys", keys, [](const auto& key) { return to_value(key); });
}

Task<Result<Reply>> revoke_key(Call& call) {
  std::string id = call.id();
  CO_TRY_VOID(co_await call.manager.revoke_key(call.caller, call.server.keys(), id));
  co_return Reply::empty(204);
}

Task<Result<Reply>> list_tenants(Call& call) {
  CO_TRY(std::vector<manager::Tenant> tenants, call.manager.tenants());
  co_return list_reply("tenants", tenants, [](const auto& tenant) { return to_value(tenant); });
}

// The body of PUT /v1/tenants/{tenant}. Amounts that are missing are unlimited.
Result<manager::Tenant> read_tenant(const std::string& name, const Value& body) {
  manager::Tenant tenant;
  tenant.name = name;
  Fields fields(body);
  tenant.policy = fields.text("policy").value_or("");
  const Value* quota = fields.any("quota");
  TRY(fields.done());
  if (!quota) return tenant;
  Fields amounts(*quota, "quota");
  auto amount = [&](const char* key, uint64_t otherwise) {
    return static_cast<uint64_t>(amounts.number(key, 0).value_or(static_cast<int64_t>(otherwise)));
  };
  tenant.quota.sandboxes = amount("sandboxes", 0);
  tenant.quota.memory_bytes = amount("memory_bytes", 0);
  tenant.quota.cpu_millicores = amount("cpu_millicores", 0);
  tenant.quota.disk_bytes = amount("disk_bytes", 0);
  tenant.quota.starts_per_minute = amount("starts_per_minute", 0);
  tenant.quota.longest_timeout_ms = amount("longest_timeout_ms", tenant.quota.longest_timeout_ms);
  TRY(amounts.done());
  return tenant;
}

// Replaces all that was set for the tenant before.
Task<Result<Reply>> set_tenant(Call& call) {
  CO_TRY(Value body, co_await call.exchange.read_json());
  CO_TRY(manager::Tenant tenant, read_tenant(call.part("tenant"), body));
  CO_TRY_VOID(co_await call.manager.set_tenant(call.caller, tenant));
  co_return Reply::json(200, to_value(tenant));
}

}  // namespace

std::vector<Route> admin_routes() {
  return {
      {"POST", "/v1/keys", "admin", create_key, "make an API key; it is shown this once", "",
       "CreateKey", "Key", 201},
      {"GET", "/v1/keys", "admin", list_keys, "list API keys", "", "", "Keys"},
      {"DELETE", "/v1/keys/{id}", "admin", revoke_key, "revoke an API key"},
      {"GET", "/v1/tenants", "admin", list_tenants, "list tenants, their quotas and policies", "",
       "", "Tenants"},
      {"PUT", "/v1/tenants/{tenant}", "admin", set_tenant, "set a tenant's quota and policy", "",
       "SetTenant", "Tenant"},
  };
}

}  // namespace paddock::api
