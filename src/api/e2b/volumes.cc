// Volumes: made and removed with an API key.
#include "api/e2b/control.h"
#include "api/http/all_routes.h"

namespace paddock::api::e2b {
namespace {

using io::Task;

// The token gives access to the volume's content.
Value volume_json(const manager::VolumeInfo& volume, bool with_token) {
  Value json = Value::Object{{"volumeID", volume.id}, {"name", volume.name}};
  if (with_token) json.set("token", volume.token);
  return json;
}

Task<Result<Reply>> create_volume(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  const Value* given = body.find("name");
  if (!given || !given->as_string()) co_return Error{Code::invalid, "name must be a string"};
  std::string name = *given->as_string();
  CO_TRY(manager::VolumeInfo made, co_await call.manager.create_volume(call.caller, name, 0));
  co_return Reply::json(201, volume_json(made, true));
}

Task<Result<Reply>> list_volumes(Call& call) {
  CO_TRY(std::vector<manager::VolumeInfo> volumes, call.manager.list_volumes(call.caller));
  Value::Array list;
  for (const manager::VolumeInfo& volume : volumes) list.push_back(volume_json(volume, false));
  co_return Reply::json(200, std::move(list));
}

// One volume with its token: a key that may only read does not get it.
Task<Result<Reply>> get_volume(Call& call) {
  CO_TRY(manager::VolumeInfo found, call.manager.find_volume(call.caller, call.id()));
  if (!call.caller.may("sandboxes"))
    co_return Error{Code::denied, "the token of a volume is for keys that may use sandboxes"};
  co_return Reply::json(200, volume_json(found, true));
}

}  // namespace

std::vector<Route> volume_routes() {
  return {
      {"POST", "/volumes", "sandboxes", create_volume},
      {"GET", "/volumes", "read", list_volumes},
      {"GET", "/volumes/{id}", "read", get_volume},
      {"DELETE", "/volumes/{id}", "sandboxes", remove_volume},
  };
}

}  // namespace paddock::api::e2b
