#include "cli/living.h"

#include <chrono>

#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"

namespace paddock::cli {

Result<int64_t> duration_flag(const char* flag, const std::string& text) {
  if (text == "0") return 0;
  Result<uint64_t> value = parse_duration(text);
  if (!value)
    return Error{Code::invalid, cat(flag, ": ", value.error().message), value.error().hint};
  return static_cast<int64_t>(value.value());
}

int for_each_sandbox(
    const std::vector<std::string>& ids, bool json,
    const std::function<Result<Value>(const Client&, const std::string& id)>& act) {
  Result<Client> client = Client::find();
  if (!client) return report(client.error(), json);
  Value::Array done, failed;
  for (const std::string& id : ids) {
    Result<Value> result = act(client.value(), id);
    if (!result) {
      Value error;
      error.set("id", id);
      error.set("code", to_string(result.error().code));
      error.set("message", result.error().message);
      failed.push_back(std::move(error));
      if (!json)
        (void)report({result.error().code, cat(printable(id), ": ", result.error().message),
                      result.error().hint},
                     false);
      continue;
    }
    if (!json) print(printable(id) + "\n");
    Value value = std::move(result.value());
    if (value.is_null()) value.set("id", id);
    done.push_back(std::move(value));
  }
  int status = failed.empty() ? 0 : kFailed;
  if (json) {
    Value all;
    all.set("sandboxes", std::move(done));
    all.set("errors", std::move(failed));
    print(to_json(all) + "\n");
  }
  return status;
}

Result<std::vector<Value>> list_sandboxes(const Client& client, bool all) {
  std::vector<Value> found;
  std::string next;
  do {
    std::string path =
        cat("/v1/sandboxes?limit=100",
            all ? "&state=starting,running,pausing,paused,resuming,ending,ended" : "",
            next.empty() ? "" : cat("&token=", percent_encode(next)));
    Value page = TRY(client.ask("GET", path));
    const Value* list = page.find("sandboxes");
    if (!list || !list->as_array())
      return Error{Code::internal, "the server's list has no sandboxes in it", ""};
    for (const Value& sandbox : *list->as_array()) found.push_back(sandbox);
    next = text_in(page, "next");
  } while (!next.empty());
  return found;
}

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace paddock::cli
