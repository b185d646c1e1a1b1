// Snapshots and forks. A snapshot is a template: DELETE /templates/{id} removes it.
#include "api/e2b/control.h"
#include "api/http/all_routes.h"
#include "base/error_table.h"
#include "base/text.h"

namespace paddock::api::e2b {
namespace {

using io::Task;

constexpr size_t kMostForks = 100;

// A snapshot with a name is addressed as TENANT/NAME:TAG.
Value snapshot_json(const manager::Snapshot& snapshot) {
  std::string tag = snapshot.tag.empty() ? "default" : snapshot.tag;
  std::string name = cat(snapshot.tenant, "/", snapshot.name);
  Value names = Value::Array{};
  if (!snapshot.name.empty()) names.as_array()->push_back(cat(name, ":", tag));
  return Value::Object{{"snapshotID", snapshot.name.empty() ? snapshot.id : cat(name, ":", tag)},
                       {"names", std::move(names)}};
}

// The page of snapshots after the one whose id is the token, newest first.
std::vector<manager::Snapshot> page_of(const std::vector<manager::Snapshot>& all,
                                       const std::string& token, size_t limit, std::string& next) {
  size_t begin = 0;
  for (size_t i = 0; i < all.size() && !token.empty(); ++i)
    if (all[i].id == token) begin = i + 1;
  std::vector<manager::Snapshot> page;
  for (size_t i = begin; i < all.size() && page.size() < limit; ++i) page.push_back(all[i]);
  if (!page.empty() && begin + page.size() < all.size()) next = page.back().id;
  return page;
}

// Keeps the files of a sandbox as a template, which may have a name and a tag.
Task<Result<Reply>> create_snapshot(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  std::string id = sandbox_id(call), name = text_in(body, "name");
  CO_TRY(manager::Snapshot made, co_await call.manager.snapshot(call.caller, id, name));
  co_return Reply::json(201, snapshot_json(made));
}

// A page of snapshots, of one sandbox or name where that is given.
Task<Result<Reply>> list_snapshots(Call& call) {
  std::string sandbox = call.query("sandboxID"), name = call.query("name");
  sandbox = sandbox.substr(0, sandbox.find('-'));
  std::string own = call.caller.tenant + "/";
  if (starts_with(name, own)) name.erase(0, own.size());
  CO_TRY(size_t limit, page_limit(call));
  CO_TRY(std::vector<manager::Snapshot> all,
         call.manager.list_snapshots(call.caller, sandbox, name));
  std::string next;
  Value::Array list;
  for (const manager::Snapshot& snapshot : page_of(all, call.query("nextToken"), limit, next))
    list.push_back(snapshot_json(snapshot));
  Reply reply = Reply::json(200, std::move(list));
  if (!next.empty()) reply.headers.push_back({"X-Next-Token", next});
  co_return reply;
}

// Some copies may fail: each has a sandbox or an error of its own.
Task<Result<Reply>> fork(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  CO_TRY(int64_t timeout_ms, seconds_to_ms(body, "timeout", 300));
  int64_t count = number_in(body, "count", 1);
  if (count < 1 || count > static_cast<int64_t>(kMostForks))
    co_return Error{Code::invalid, cat("count must be between 1 and ", kMostForks)};
  std::string id = sandbox_id(call);
  std::optional<int64_t> life = timeout_ms;
  size_t number = static_cast<size_t>(count);
  CO_TRY(auto forks, co_await call.manager.fork(call.caller, id, number, life));
  Value::Array list;
  for (const Result<std::shared_ptr<manager::Sandbox>>& made : forks) {
    if (made) {
      list.push_back(Value::Object{{"sandbox", sandbox_json(call, made.value()->info())}});
      continue;
    }
    Value error =
        Value::Object{{"code", http_status(made.error().code)}, {"message", made.error().message}};
    list.push_back(Value::Object{{"error", std::move(error)}});
  }
  co_return Reply::json(201, std::move(list));
}

}  // namespace

std::vector<Route> snapshot_routes() {
  return {
      {"POST", "/sandboxes/{id}/snapshots", "sandboxes", create_snapshot},
      {"GET", "/snapshots", "read", list_snapshots},
      {"POST", "/sandboxes/{id}/fork", "sandboxes", fork},
  };
}

}  // namespace paddock::api::e2b
