#include "api/e2b/envd_filesystem.h"

#include <ctime>

#include "api/e2b/envd_watch.h"
#include "api/native/in_sandbox.h"
#include "base/text.h"

namespace paddock::api {
namespace {

using ItemKind = guest::Channel::Item::Kind;

// The enum of the .proto file.
const char* file_type(const std::string& type) {
  if (type == "file") return "FILE_TYPE_FILE";
  if (type == "directory") return "FILE_TYPE_DIRECTORY";
  return "FILE_TYPE_UNSPECIFIED";
}

// Asks for one thing and answers with its entry. `act`: what it is called in the records, where it
// changes something.
io::Task<Result<Reply>> ask_for_entry(Envd& envd, Value request, const char* act) {
  if (act) {
    Value fields = file_fields(request);
    CO_TRY_VOID(co_await record_write(envd.call, envd.sandbox, act, std::move(fields)));
  }
  CO_TRY(Value answer, co_await ask_guest(envd, request));
  Value body = Value::Object{};
  if (const Value* entry = answer.find("entry"))
    body.set("entry", shown_names(envd.call, *envd.sandbox, entry_info(*entry)));
  co_return Reply::json(200, body);
}

Value path_request(const Envd& envd, const char* operation, const Value& message) {
  Value request = guest_request(envd, operation);
  request.set("path", text_field(message, "path"));
  return request;
}

io::Task<Result<Reply>> stat(Envd& envd, Value message) {
  return ask_for_entry(envd, path_request(envd, "stat", message), nullptr);
}

io::Task<Result<Reply>> make_directory(Envd& envd, Value message) {
  return ask_for_entry(envd, path_request(envd, "make_directory", message), "mkdir");
}

io::Task<Result<Reply>> remove(Envd& envd, Value message) {
  return ask_for_entry(envd, path_request(envd, "remove", message), "remove");
}

io::Task<Result<Reply>> move(Envd& envd, Value message) {
  Value request = guest_request(envd, "move");
  request.set("source", text_field(message, "source"));
  request.set("destination", text_field(message, "destination"));
  return ask_for_entry(envd, std::move(request), "move");
}

// Entries of a directory as JSON, separated by commas. `first`: none was written before.
std::string entries_json(const Envd& envd, const Value& message, bool& first) {
  std::string json;
  const Value* entries = message.find("entries");
  if (!entries || !entries->as_array()) return json;
  for (const Value& entry : *entries->as_array()) {
    if (!first) json += ',';
    first = false;
    json += to_json(shown_names(envd.call, *envd.sandbox, entry_info(entry)));
  }
  return json;
}

// The whole list may be long: it goes out as it comes in, once its beginning shows that there is
// one.
io::Task<Result<Reply>> list_directory(Envd& envd, Value message) {
  Value request = path_request(envd, "list", message);
  request.set("depth", number_field(message, "depth").value_or(1));
  std::shared_ptr<guest::Channel> channel = envd.guest->open(request);
  Tie tie(envd, channel);
  bool first = true, there = true;
  while (there) {
    guest::Channel::Item item = co_await channel->next();
    if (item.kind == ItemKind::failed) {
      if (!envd.exchange.answered()) co_return guest_error(envd, tie, item);
      envd.exchange.cut();
      break;
    }
    if (!envd.exchange.answered()) {
      Headers headers = {{"Content-Type", "application/json"}};
      there = co_await envd.exchange.begin(200, headers);
      if (there) there = co_await envd.exchange.write("{\"entries\":[");
    }
    if (there && item.kind == ItemKind::end) {
      bool closed = co_await envd.exchange.write("]}");
      if (closed) (void)co_await envd.exchange.finish();
      break;
    }
    std::string piece = entries_json(envd, item.value, first);
    if (there && !piece.empty()) there = co_await envd.exchange.write(piece);
  }
  co_return Reply::sent();
}

constexpr Method kMethods[] = {{"Stat", stat},
                               {"MakeDir", make_directory},
                               {"Move", move},
                               {"Remove", remove},
                               {"ListDir", list_directory},
                               {"WatchDir", watch_directory, true},
                               {"CreateWatcher", create_watcher},
                               {"GetWatcherEvents", watcher_events},
                               {"RemoveWatcher", remove_watcher}};

}  // namespace

std::string rfc3339_nanoseconds(int64_t nanoseconds) {
  time_t seconds = nanoseconds / 1'000'000'000;
  int64_t rest = nanoseconds % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    seconds--;
  }
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[80];
  size_t size = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(text + size, sizeof text - size, ".%09dZ", static_cast<int>(rest));
  return text;
}

Value entry_info(const Value& entry) {
  std::string type = text_field(entry, "type");
  int64_t mode = number_field(entry, "mode").value_or(0);
  std::string permissions = text_field(entry, "permissions");
  std::string target = text_field(entry, "target");
  bool is_link = type == "symlink";
  // Type and mode of what it leads to; of a link that leads nowhere the type is unspecified.
  if (is_link) {
    type = text_field(entry, "target_type");
    mode = number_field(entry, "target_mode").value_or(mode);
    if (starts_with(permissions, "l")) permissions[0] = 'L';
  }
  Value info = Value::Object{
      {"name", text_field(entry, "name")},
      {"type", file_type(type)},
      {"path", text_field(entry, "path")},
      {"size", std::to_string(number_field(entry, "size").value_or(0))},
      {"mode", mode & 07777},
      {"permissions", permissions},
      {"owner", text_field(entry, "owner")},
      {"group", text_field(entry, "group")},
      {"modifiedTime", rfc3339_nanoseconds(number_field(entry, "modified_ns").value_or(0))}};
  if (is_link && !target.empty()) info.set("symlinkTarget", target);
  const Value* metadata = entry.find("metadata");
  if (metadata && metadata->as_object() && !metadata->as_object()->empty())
    info.set("metadata", *metadata);
  return info;
}

io::Task<Reply> serve_filesystem(Envd& envd, std::string method) {
  return serve_method(envd, "filesystem.Filesystem", kMethods, std::move(method));
}

}  // namespace paddock::api
