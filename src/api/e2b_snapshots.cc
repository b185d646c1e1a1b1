// Snapshots and forks. A snapshot is a template: DELETE /templates/{id} removes it.
#include "api/e2b.h"
#include "base/text.h"

namespace paddock::api::e2b {
namespace {

constexpr size_t kMostForks = 100;

Value snapshot_json(const manager::Snapshot& snapshot) {
  std::string tag = snapshot.tag.empty() ? "default" : snapshot.tag;
  std::string name = cat(snapshot.tenant, "/", snapshot.name);
  Value names = Value::Array{};
  if (!snapshot.name.empty()) names.as_array()->push_back(cat(name, ":", tag));
  return Value::Object{{"snapshotID", snapshot.name.empty() ? snapshot.id : cat(name, ":", tag)},
                       {"names", std::move(names)}};
}

// Which snapshots come after the one whose id is the token, newest first.
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

}  // namespace

io::Task<void> create_snapshot(Call& call) {
  std::optional<Value> body = co_await read_object(call);
  if (!body) co_return;
  const Value* given = body->find("name");
  std::string id = sandbox_id(call), name = given && given->as_string() ? *given->as_string() : "";
  Result<manager::Snapshot> made = co_await call.manager.snapshot(call.caller, id, name);
  if (!made) {
    co_await fail(call, made.error());
    co_return;
  }
  Value json = snapshot_json(made.value());
  (void)co_await call.exchange.answer_json(201, json);
}

io::Task<void> list_snapshots(Call& call) {
  std::string sandbox = call.exchange.query("sandboxID").value_or(""),
              name = call.exchange.query("name").value_or("");
  sandbox = sandbox.substr(0, sandbox.find('-'));
  std::string own = call.caller.tenant + "/";
  if (starts_with(name, own)) name.erase(0, own.size());
  Result<size_t> limit = page_limit(call);
  Result<std::vector<manager::Snapshot>> all =
      call.manager.list_snapshots(call.caller, sandbox, name);
  if (!limit) all = limit.error();
  if (!all) {
    co_await fail(call, all.error());
    co_return;
  }
  std::string token = call.exchange.query("nextToken").value_or(""), next;
  Value::Array list;
  for (const manager::Snapshot& snapshot : page_of(all.value(), token, limit.value(), next))
    list.push_back(snapshot_json(snapshot));
  Headers headers = {{"Content-Type", "application/json"}};
  if (!next.empty()) headers.push_back({"X-Next-Token", next});
  std::string body = to_json(Value(std::move(list)));
  (void)co_await call.exchange.answer(200, headers, body);
}

io::Task<void> fork(Call& call) {
  std::optional<Value> body = co_await read_object(call);
  if (!body) co_return;
  const Value* wanted = body->find("count");
  int64_t count = wanted && wanted->as_int() ? *wanted->as_int() : 1;
  Result<int64_t> timeout = seconds_to_ms(*body, "timeout", 300);
  if (timeout && (count < 1 || count > static_cast<int64_t>(kMostForks)))
    timeout = Error{Code::invalid, cat("count must be between 1 and ", kMostForks)};
  if (!timeout) {
    co_await fail(call, timeout.error());
    co_return;
  }
  std::string id = sandbox_id(call);
  std::optional<int64_t> life = timeout.value();
  size_t number = static_cast<size_t>(count);
  auto forks = co_await call.manager.fork(call.caller, id, number, life);
  if (!forks) {
    co_await fail(call, forks.error());
    co_return;
  }
  Value::Array list;
  for (const Result<std::shared_ptr<manager::Sandbox>>& made : forks.value()) {
    if (made)
      list.push_back(Value::Object{{"sandbox", sandbox_json(call, made.value()->info())}});
    else
      list.push_back(Value::Object{{"error", Value::Object{{"code", status_of(made.error().code)},
                                                           {"message", made.error().message}}}});
  }
  Value json = Value(std::move(list));
  (void)co_await call.exchange.answer_json(201, json);
}

}  // namespace paddock::api::e2b
