// Native API: keys and tenants, for who may administer the server.
#include "api/all_routes.h"
#include "api/describe.h"
#include "api/server.h"
#include "base/fields.h"
#include "manager/keys.h"

namespace paddock::api {

namespace {

using io::Task;

Task<void> create_key(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  Result<manager::NewKey> made = Error{};
  if (body) {
    Fields fields(body.value());
    manager::KeyInfo wanted;
    wanted.tenant = fields.text("tenant").value_or(call.caller.tenant);
    wanted.name = fields.text("name").value_or("");
    wanted.expires = fields.number("expires_ms", 0).value_or(0);
    for (const std::string& scope : fields.texts("scopes").value_or(
             std::vector<std::string>{"read", "sandboxes", "templates"}))
      wanted.scopes.insert(scope);
    Result<void> read = fields.done();
    if (read)
      made = co_await call.manager.create_key(call.caller, call.server.keys(), wanted);
    else
      made = read.error();
  } else {
    made = body.error();
  }
  if (!made) {
    co_await answer_error(call, made.error());
    co_return;
  }
  Value value = to_value(made.value().info);
  value.set("key", made.value().key);
  (void)co_await call.exchange.answer_json(201, std::move(value));
}

Task<void> list_keys(Call& call) {
  Result<std::vector<manager::KeyInfo>> keys = call.server.keys().list();
  if (!keys) {
    co_await answer_error(call, keys.error());
    co_return;
  }
  Value::Array items;
  for (const manager::KeyInfo& key : keys.value()) items.push_back(to_value(key));
  Value value;
  value.set("keys", std::move(items));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> revoke_key(Call& call) {
  std::string id = call.parts["id"];
  Result<void> revoked = co_await call.manager.revoke_key(call.caller, call.server.keys(), id);
  co_await answer_done(call, std::move(revoked));
}

Task<void> list_tenants(Call& call) {
  Result<std::vector<manager::Tenant>> tenants = call.manager.tenants();
  if (!tenants) {
    co_await answer_error(call, tenants.error());
    co_return;
  }
  Value::Array items;
  for (const manager::Tenant& tenant : tenants.value()) items.push_back(to_value(tenant));
  Value value;
  value.set("tenants", std::move(items));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

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

Task<void> set_tenant(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  Result<manager::Tenant> tenant = body ? read_tenant(call.parts["tenant"], body.value())
                                        : Result<manager::Tenant>(body.error());
  Result<void> set;
  if (!tenant)
    set = tenant.error();
  else
    set = co_await call.manager.set_tenant(call.caller, tenant.value());
  if (!set) {
    co_await answer_error(call, set.error());
    co_return;
  }
  Value value = to_value(tenant.value());
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

}  // namespace

const std::vector<Route>& admin_routes() {
  static const std::vector<Route> routes = {
      {"POST", "/v1/keys", "admin", create_key, "make an API key; it is shown this once"},
      {"GET", "/v1/keys", "admin", list_keys, "list API keys"},
      {"DELETE", "/v1/keys/{id}", "admin", revoke_key, "revoke an API key"},
      {"GET", "/v1/tenants", "admin", list_tenants, "list tenants, their quotas and policies"},
      {"PUT", "/v1/tenants/{tenant}", "admin", set_tenant, "set a tenant's quota and policy"},
  };
  return routes;
}

}  // namespace paddock::api
