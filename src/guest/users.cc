#include "guest/users.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

// Both files are the workload's to write, so their size and the number of groups are bounded.
constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMostGroups = 1024;

// A whole decimal number. UINT32_MAX is not an id: the kernel takes it for "leave unchanged".
std::optional<uint32_t> id_in(std::string_view text) {
  uint32_t id = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id == UINT32_MAX)
    return std::nullopt;
  return id;
}

// Calls `use` with the fields of each line until it returns true.
template <class Use>
void each_line(std::string_view text, size_t fields, Use use) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::vector<std::string> parts = split(text.substr(0, end), ':');
    if (parts.size() >= fields && use(parts)) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// A line without valid ids is skipped. A home that is not absolute becomes "/".
std::optional<User> user_in(const std::vector<std::string>& line) {
  std::optional<uint32_t> uid = id_in(line[2]), gid = id_in(line[3]);
  if (!uid || !gid || line[0].empty()) return std::nullopt;
  User user{line[0], *uid, *gid, line[5], line[6], {}};
  if (!starts_with(user.home, "/")) user.home = "/";
  if (user.shell.empty()) user.shell = "/bin/sh";
  return user;
}

// Reads only a regular file: root inside may have put a pipe there, which would never end.
std::string content_of(const char* path) {
  Fd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info;
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  Result<std::string> content = read_all(file.get(), kMostBytes);
  return content ? std::move(content).value() : "";
}

}  // namespace

Users Users::read() { return Users(content_of("/etc/passwd"), content_of("/etc/group")); }

Result<User> Users::find(const std::string& name) const {
  std::optional<User> found;
  std::optional<uint32_t> number = id_in(name);
  each_line(passwd_, 7, [&](const std::vector<std::string>& line) {
    if (line[0] == name) found = user_in(line);
    return found.has_value();
  });
  if (!found && number)
    each_line(passwd_, 7, [&](const std::vector<std::string>& line) {
      if (id_in(line[2]) == number) found = user_in(line);
      return found.has_value();
    });
  if (!found && name == "root") found = User{"root", 0, 0, "/root", "/bin/sh", {}};
  if (!found) return refuse(Kind::unauthenticated, cat("invalid username: '", name, "'"));
  each_line(group_, 4, [&](const std::vector<std::string>& line) {
    std::vector<std::string> members = split(line[3], ',');
    std::optional<uint32_t> gid = id_in(line[2]);
    if (gid && std::find(members.begin(), members.end(), found->name) != members.end())
      found->groups.push_back(*gid);
    return found->groups.size() >= kMostGroups;
  });
  return std::move(*found);
}

std::string Users::name_of(uint32_t uid) const {
  std::string name = uid == 0 ? "root" : cat(uid);
  each_line(passwd_, 7, [&](const std::vector<std::string>& line) {
    bool matches = id_in(line[2]) == uid;
    if (matches) name = line[0];
    return matches;
  });
  return name;
}

std::string Users::group_name_of(uint32_t gid) const {
  std::string name = gid == 0 ? "root" : cat(gid);
  each_line(group_, 3, [&](const std::vector<std::string>& line) {
    bool matches = id_in(line[2]) == gid;
    if (matches) name = line[0];
    return matches;
  });
  return name;
}

Result<uint32_t> Users::find_group(const std::string& name) const {
  std::optional<uint32_t> found;
  each_line(group_, 3, [&](const std::vector<std::string>& line) {
    if (line[0] == name) found = id_in(line[2]);
    return found.has_value();
  });
  if (!found) found = id_in(name);
  if (!found) return refuse(Code::invalid, cat("unknown group: ", name));
  return *found;
}

bool Users::is_in(const User& user, std::string_view group) const {
  Result<uint32_t> gid = find_group(std::string(group));
  if (!gid) return false;
  return user.gid == gid.value() ||
         std::find(user.groups.begin(), user.groups.end(), gid.value()) != user.groups.end();
}

}  // namespace paddock::guest
