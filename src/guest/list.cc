// The operation `list`: describes a directory and what lies beneath it, in the order of names, each
// directory before its content.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "guest/entry.h"
#include "guest/files.h"
#include "guest/operations.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

constexpr size_t kMostNames = 200'000;  // in one directory
// Together these are less than a message may hold.
constexpr size_t kBatchBytes = 16 << 10, kLargestEntry = 40 << 10;
constexpr int64_t kDeepest = 1000;

// The names in a directory, in reverse order. The number is bounded because the guest's memory is
// the sandbox's.
Result<std::vector<std::string>> names_in(const std::string& path) {
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return refuse_errno(errno, cat("list '", path, "'"));
  std::vector<std::string> names;
  while (dirent* entry = ::readdir(directory.get())) {
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() >= kMostNames)
      return refuse(Code::exhausted,
                    cat("directory '", path, "' has more than ", kMostNames, " entries"));
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end(), std::greater<>());  // the first is taken from the back
  return names;
}

// A directory on the way down, with the names in it that are still to be described.
struct Level {
  std::string path;
  std::vector<std::string> names;
};

// Refused by type before it is opened, so that the answer says what is wrong with the path.
Result<void> check_directory(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ELOOP)
      return refuse(Kind::failed_precondition, cat("path '", path, "' is a cycle of links"));
    if (errno == ENOENT || errno == ENOTDIR)
      return refuse(Code::not_found, cat("path '", path, "' does not exist"));
    return refuse_errno(errno, cat("list '", path, "'"));
  }
  if (!S_ISDIR(info.st_mode)) return refuse(Code::invalid, cat("path is not a directory: ", path));
  return {};
}

}  // namespace

Answer list_directory_entries(Guest& guest, CallPointer call) {
  Result<Place> place = place_in(guest, call->request);
  if (!place) co_return place.error();
  Result<std::optional<int64_t>> asked = number_of(call->request, "depth", 0, UINT32_MAX);
  if (!asked) co_return asked.error();
  size_t depth = static_cast<size_t>(std::clamp<int64_t>(asked.value().value_or(1), 1, kDeepest));
  Describer describer;
  std::vector<Level> levels;
  Result<std::vector<std::string>> first = Error{};
  {
    FileRights rights(guest, place.value());
    Result<void> usable = check_directory(place.value().path);
    if (usable)
      first = names_in(place.value().path);
    else
      first = usable.error();
  }
  if (!first) co_return first.error();
  levels.push_back({place.value().path, std::move(first).value()});
  // Walks the tree with a list of levels instead of recursion, since it must wait in the middle.
  // Rights are taken again after each wait: other requests are served meanwhile.
  Value::Array batch;
  size_t batch_bytes = 0;
  while (!levels.empty() || !batch.empty()) {
    if (batch_bytes >= kBatchBytes || levels.empty()) {
      Value message;
      message.set("entries", std::exchange(batch, {}));
      batch_bytes = 0;
      bool sent = co_await call->message(std::move(message));
      if (!sent) co_return refuse(Code::internal, "the entries cannot be told");
      co_await guest.loop.yield();
      continue;
    }
    FileRights rights(guest, place.value());
    Level& level = levels.back();
    if (level.names.empty()) {
      levels.pop_back();
      continue;
    }
    std::string path = cat(level.path == "/" ? "" : level.path, "/", level.names.back());
    level.names.pop_back();
    Result<Value> entry = describer.at(path);
    if (!entry) continue;  // gone meanwhile
    const Value* type = entry.value().find("type");
    bool deeper = levels.size() < depth && type && *type->as_string() == "directory";
    size_t bytes = to_json(entry.value()).size();
    // An entry over this size has a name or target of thousands of bytes that cannot be shown.
    if (bytes > kLargestEntry) continue;
    batch_bytes += bytes;
    batch.push_back(std::move(entry).value());
    if (!deeper) continue;
    Result<std::vector<std::string>> names = names_in(path);
    if (names) levels.push_back({path, std::move(names).value()});
  }
  co_return Value();
}

}  // namespace paddock::guest
