// Native API: volumes.
#include "api/all_routes.h"
#include "api/describe.h"
#include "base/fields.h"
#include "base/units.h"

namespace paddock::api {

namespace {

using io::Task;

Task<void> create(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  Result<manager::VolumeInfo> made = Error{};
  if (body) {
    Fields fields(body.value());
    std::string name = fields.text("name").value_or("");
    uint64_t quota = static_cast<uint64_t>(fields.number("quota_bytes", 0).value_or(0));
    Result<void> read = fields.done();
    if (read)
      made = co_await call.manager.create_volume(call.caller, name, quota);
    else
      made = read.error();
  } else {
    made = body.error();
  }
  if (!made) {
    co_await answer_error(call, made.error());
    co_return;
  }
  Value value = describe(made.value());
  (void)co_await call.exchange.answer_json(201, std::move(value));
}

Task<void> list(Call& call) {
  Result<std::vector<manager::VolumeInfo>> found = call.manager.list_volumes(call.caller);
  if (!found) {
    co_await answer_error(call, found.error());
    co_return;
  }
  Value::Array volumes;
  for (const manager::VolumeInfo& volume : found.value()) volumes.push_back(describe(volume));
  Value value;
  value.set("volumes", std::move(volumes));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> look(Call& call) {
  Result<manager::VolumeInfo> found = call.manager.find_volume(call.caller, call.parts["id"]);
  if (!found) {
    co_await answer_error(call, found.error());
    co_return;
  }
  Value value = describe(found.value());
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> remove(Call& call) {
  std::string id = call.parts["id"];
  Result<void> removed = co_await call.manager.remove_volume(call.caller, id);
  co_await answer_done(call, std::move(removed));
}

}  // namespace

const std::vector<Route>& volume_routes() {
  static const std::vector<Route> routes = {
      {"POST", "/v1/volumes", "sandboxes", create, "make a volume"},
      {"GET", "/v1/volumes", "read", list, "list volumes"},
      {"GET", "/v1/volumes/{id}", "read", look, "one volume, by id or name"},
      {"DELETE", "/v1/volumes/{id}", "sandboxes", remove,
       "remove a volume that is mounted nowhere"},
  };
  return routes;
}

}  // namespace paddock::api
