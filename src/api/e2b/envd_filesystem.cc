#include "api/e2b/envd_services.h"

#include <ctime>

#include "api/native/sandbox_file.h"
#include "base/text.h"

namespace paddock::api {
namespace {

// The enum of the .proto file.
const char* file_type(const std::string& type) {
  if (type == "file") return "FILE_TYPE_FILE";
  if (type == "directory") return "FILE_TYPE_DIRECTORY";
  return "FILE_TYPE_UNSPECIFIED";
}

// Asks for one thing and answers with its entry. `act`: what it is called in the records, where it
// changes something.
io::Task<Result<Reply>> ask_for_entry(SandboxCall& envd, Value request, const char* act) {
  if (act) {
    Value fields = file_fields(request);
    CO_TRY_VOID(co_await record_write(envd, act, std::move(fields)));
  }
  CO_TRY(Value answer, co_await ask_guest(envd, request));
  Value body = Value::Object{};
  if (const Value* entry = answer.find("entry"))
    body.set("entry", shown_names(envd, entry_info(*entry)));
  co_return Reply::json(200, body);
}

// An entry by its path. Links are not followed, but told where they lead.
io::Task<Result<Reply>> stat(SandboxCall& envd, Value message) {
  guest::StatRequest request{.path = text_field(message, "path"), .user = envd.user};
  return ask_for_entry(envd, guest::to_value(request), nullptr);
}

// Makes a directory and those above it. One that is there already is an error.
io::Task<Result<Reply>> make_directory(SandboxCall& envd, Value message) {
  guest::MakeDirectoryRequest request{.path = text_field(message, "path"), .user = envd.user};
  return ask_for_entry(envd, guest::to_value(request), "mkdir");
}

// Removes a file, or a directory with all in it. What is not there counts as removed.
io::Task<Result<Reply>> remove(SandboxCall& envd, Value message) {
  guest::RemoveRequest request{.path = text_field(message, "path"), .user = envd.user};
  return ask_for_entry(envd, guest::to_value(request), "remove");
}

// Renames. Directories above the destination are made.
io::Task<Result<Reply>> move(SandboxCall& envd, Value message) {
  guest::MoveRequest request{.source = text_field(message, "source"),
                             .destination = text_field(message, "destination"),
                             .user = envd.user};
  return ask_for_entry(envd, guest::to_value(request), "move");
}

// The entries of a directory, and of those beneath it down to `depth`.
io::Task<Result<Reply>> list_directory(SandboxCall& envd, Value message) {
  guest::ListRequest request{.path = text_field(message, "path"),
                             .user = envd.user,
                             .depth = number_field(message, "depth").value_or(1)};
  return send_entries(envd, std::move(request), entry_info);
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

io::Task<Reply> serve_filesystem(SandboxCall& envd, std::string method) {
  return serve_method(envd, "filesystem.Filesystem", kMethods, std::move(method));
}

}  // namespace paddock::api
