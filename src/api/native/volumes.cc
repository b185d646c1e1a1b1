// Native API: volumes.
#include "api/http/all_routes.h"
#include "api/native/describe.h"

namespace paddock::api {

namespace {

using io::Task;

Task<Result<Reply>> create(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  std::string name = fields.text("name").value_or("");
  uint64_t quota = static_cast<uint64_t>(fields.number("quota_bytes", 0).value_or(0));
  CO_TRY_VOID(fields.done());
  CO_TRY(manager::VolumeInfo made, co_await call.manager.create_volume(call.caller, name, quota));
  co_return Reply::json(201, describe(made));
}

Task<Result<Reply>> list(Call& call) {
  CO_TRY(std::vector<manager::VolumeInfo> found, call.manager.list_volumes(call.caller));
  co_return list_reply("volumes", found, [](const auto& volume) { return describe(volume); });
}

Task<Result<Reply>> look(Call& call) {
  CO_TRY(manager::VolumeInfo found, call.manager.find_volume(call.caller, call.id()));
  co_return Reply::json(200, describe(found));
}

}  // namespace

Task<Result<Reply>> remove_volume(Call& call) {
  std::string id = call.id();
  CO_TRY_VOID(co_await call.manager.remove_volume(call.caller, id));
  co_return Reply::empty(204);
}

std::vector<Route> volume_routes() {
  return {
      {"POST", "/v1/volumes", "sandboxes", create, "make a volume", "", "CreateVolume", "Volume",
       201},
      {"GET", "/v1/volumes", "read", list, "list volumes", "", "", "Volumes"},
      {"GET", "/v1/volumes/{id}", "read", look, "one volume, by id or name", "", "", "Volume"},
      {"DELETE", "/v1/volumes/{id}", "sandboxes", remove_volume,
       "remove a volume that is mounted nowhere"},
  };
}

}  // namespace paddock::api
