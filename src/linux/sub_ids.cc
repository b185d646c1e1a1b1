#include "linux/sub_ids.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"

namespace paddock::kernel {

namespace {

// Not searched for in the caller's PATH: they run with its rights, and more.
std::string find_helper(const std::string& name) {
  for (const char* folder : {"/usr/bin/", "/bin/", "/usr/sbin/", "/run/wrappers/bin/"})
    if (std::string path = folder + name; ::access(path.c_str(), X_OK) == 0) return path;
  return "";
}

}  // namespace

std::string user_name(uint32_t uid) {
  Result<std::string> text = read_file("/etc/passwd");
  if (!text) return "";
  for (const std::string& line : split(text.value(), '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() > 2 && fields[2] == std::to_string(uid)) return fields[0];
  }
  return "";
}

std::optional<uint32_t> find_sub_range(const std::string& text, uint32_t uid,
                                       const std::string& name, uint32_t count) {
  for (const std::string& line : split(text, '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() != 3 || fields[0].empty() ||
        (fields[0] != std::to_string(uid) && fields[0] != name))
      continue;
    uint64_t first = std::strtoull(fields[1].c_str(), nullptr, 10),
             size = std::strtoull(fields[2].c_str(), nullptr, 10);
    if (size >= count && first > 0 && first + count <= UINT32_MAX)
      return static_cast<uint32_t>(first);
  }
  return std::nullopt;
}

bool has_sub_id_programs() {
  return !find_helper("newuidmap").empty() && !find_helper("newgidmap").empty();
}

std::optional<SubIds> find_sub_ids(uint32_t uid, uint32_t count) {
  if (!has_sub_id_programs()) return std::nullopt;
  Result<std::string> uids = read_file("/etc/subuid"), gids = read_file("/etc/subgid");
  if (!uids || !gids) return std::nullopt;
  std::string name = user_name(uid);
  std::optional<uint32_t> first_uid = find_sub_range(uids.value(), uid, name, count),
                          first_gid = find_sub_range(gids.value(), uid, name, count);
  if (!first_uid || !first_gid) return std::nullopt;
  return SubIds{*first_uid, *first_gid};
}

Result<void> map_sub_ids(const char* program, pid_t child, const OwnIds& own, uint32_t first,
                         uint32_t count) {
  std::string path = find_helper(program);
  std::string words[] = {program,
                         std::to_string(child),
                         std::to_string(own.inside),
                         std::to_string(own.outside),
                         std::to_string(own.count),
                         std::to_string(own.inside + own.count),
                         std::to_string(first),
                         std::to_string(count)};
  char* argv[std::size(words) + 1] = {};
  for (size_t i = 0; i < std::size(words); ++i) argv[i] = words[i].data();
  char* env[] = {nullptr};
  pid_t pid = -1;
  if (int failed = ::posix_spawn(&pid, path.c_str(), nullptr, nullptr, argv, env))
    return errno_error(failed, cat("start ", program));
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{Code::unsupported,
                 cat(program, " refused to map the ids of /etc/sub", program[3], "id"),
                 "check that file, and that the program is installed setuid"};
  return {};
}

}  // namespace paddock::kernel
