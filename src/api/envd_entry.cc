// A guest's entry (docs/formats/guest.md) as E2B's EntryInfo.
#include <ctime>

#include "api/envd_filesystem.h"
#include "base/text.h"

namespace paddock::api {
namespace {

const char* file_type(const std::string& type) {
  if (type == "file") return "FILE_TYPE_FILE";
  if (type == "directory") return "FILE_TYPE_DIRECTORY";
  return "FILE_TYPE_UNSPECIFIED";
}

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

}  // namespace paddock::api
