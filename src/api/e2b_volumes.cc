// Volumes: made and removed with an API key.
#include "api/e2b.h"
#include "base/text.h"

namespace paddock::api::e2b {
namespace {

Value volume_json(const manager::VolumeInfo& volume, bool with_token) {
  Value json = Value::Object{{"volumeID", volume.id}, {"name", volume.name}};
  if (with_token) json.set("token", volume.token);
  return json;
}

}  // namespace

io::Task<void> create_volume(Call& call) {
  std::optional<Value> body = co_await read_object(call);
  if (!body) co_return;
  const Value* name = body->find("name");
  Result<manager::VolumeInfo> made = Error{Code::invalid, "name must be a string"};
  if (name && name->as_string())
    made = co_await call.manager.create_volume(call.caller, *name->as_string(), 0);
  if (!made) {
    co_await fail(call, made.error());
    co_return;
  }
  Value json = volume_json(made.value(), true);
  (void)co_await call.exchange.answer_json(201, json);
}

io::Task<void> list_volumes(Call& call) {
  Result<std::vector<manager::VolumeInfo>> volumes = call.manager.list_volumes(call.caller);
  if (!volumes) {
    co_await fail(call, volumes.error());
    co_return;
  }
  Value::Array list;
  for (const manager::VolumeInfo& volume : volumes.value())
    list.push_back(volume_json(volume, false));
  Value json = Value(std::move(list));
  (void)co_await call.exchange.answer_json(200, json);
}

io::Task<void> get_volume(Call& call) {
  Result<manager::VolumeInfo> found = call.manager.find_volume(call.caller, call.parts.at("id"));
  if (found && !call.caller.may("sandboxes"))
    found = Error{Code::denied, "the token of a volume is for keys that may use sandboxes"};
  if (!found) {
    co_await fail(call, found.error());
    co_return;
  }
  Value json = volume_json(found.value(), true);
  (void)co_await call.exchange.answer_json(200, json);
}

io::Task<void> remove_volume(Call& call) {
  std::string id = call.parts.at("id");
  Result<void> removed = co_await call.manager.remove_volume(call.caller, id);
  if (removed)
    co_await answer_done(call);
  else
    co_await fail(call, removed.error());
}

}  // namespace paddock::api::e2b
