// Lists of sandboxes, with E2B's filters and pages.
#include "api/e2b.h"
#include "base/text.h"

namespace paddock::api::e2b {
namespace {

constexpr size_t kLargestPage = 100;

// The filter is a form inside a query value, its names and values encoded once more: decoded once
// when the query was read, then as a form, then each by itself.
Result<std::map<std::string, std::string>> parse_metadata(const std::string& text) {
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : parse_query(text)) {
    if (key.empty()) continue;
    metadata.emplace(percent_decode(key), percent_decode(value));
  }
  return metadata;
}

Result<manager::ListOptions> parse_list(const Call& call) {
  manager::ListOptions options;
  for (const std::string& state : split(call.exchange.query("state").value_or(""), ',')) {
    if (state == "running")
      options.states.insert(manager::SandboxState::running);
    else if (state == "paused")
      options.states.insert(manager::SandboxState::paused);
    else if (!state.empty())
      return Error{Code::invalid,
                   cat("state: '", printable(state), "' is neither running nor paused")};
  }
  options.metadata = TRY(parse_metadata(call.exchange.query("metadata").value_or("")));
  if (std::string after = call.exchange.query("startedAfter").value_or(""); !after.empty())
    options.started_after = TRY(parse_time(after));
  options.template_name = call.exchange.query("template").value_or("");
  std::string order = call.exchange.query("order").value_or("desc");
  if (order != "asc" && order != "desc") return Error{Code::invalid, "order must be asc or desc"};
  options.ascending = order == "asc";
  options.limit = TRY(page_limit(call));
  options.token = call.exchange.query("nextToken").value_or("");
  return options;
}

std::string page_json(const manager::Page& page) {
  Value::Array list;
  for (const std::shared_ptr<manager::Sandbox>& sandbox : page.sandboxes)
    list.push_back(listed_json(sandbox->info()));
  return to_json(Value(std::move(list)));
}

}  // namespace

Result<size_t> page_limit(const Call& call) {
  if (call.exchange.query("limit").value_or("").empty()) return kLargestPage;
  int64_t limit = number_in_query(call, "limit").value_or(0);
  if (limit < 1 || limit > static_cast<int64_t>(kLargestPage))
    return Error{Code::invalid, cat("limit must be between 1 and ", kLargestPage)};
  return static_cast<size_t>(limit);
}

io::Task<void> list_v2(Call& call) {
  Result<manager::ListOptions> options = parse_list(call);
  Result<manager::Page> page = options ? call.manager.list(call.caller, options.value())
                                       : Result<manager::Page>(options.error());
  if (!page) {
    co_await fail(call, page.error());
    co_return;
  }
  Headers headers = {{"Content-Type", "application/json"},
                     {"X-Total-Running", std::to_string(page.value().running)}};
  if (!page.value().next.empty()) headers.push_back({"X-Next-Token", page.value().next});
  std::string body = page_json(page.value());
  (void)co_await call.exchange.answer(200, headers, body);
}

// Of old: those that run, all of them at once.
io::Task<void> list_v1(Call& call) {
  manager::ListOptions options;
  options.states = {manager::SandboxState::running};
  options.limit = 10000;
  Result<std::map<std::string, std::string>> metadata =
      parse_metadata(call.exchange.query("metadata").value_or(""));
  if (metadata) options.metadata = metadata.value();
  Result<manager::Page> page = call.manager.list(call.caller, options);
  if (!page) {
    co_await fail(call, page.error());
    co_return;
  }
  Headers headers = {{"Content-Type", "application/json"},
                     {"X-Total-Running", std::to_string(page.value().running)}};
  std::string body = page_json(page.value());
  (void)co_await call.exchange.answer(200, headers, body);
}

}  // namespace paddock::api::e2b
