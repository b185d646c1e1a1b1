#include "run/disk.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>

#include "base/fd.h"
#include "base/text.h"

namespace paddock::runs {

std::optional<std::pair<uint32_t, uint32_t>> disk_behind(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || major(info.st_dev) == 0) return std::nullopt;
  std::string node = cat("/sys/dev/block/", major(info.st_dev), ":", minor(info.st_dev));
  uint32_t disk_major = major(info.st_dev), disk_minor = minor(info.st_dev);
  if (::access((node + "/partition").c_str(), F_OK) == 0) {
    Result<std::string> parent = read_file(node + "/../dev", 64);
    if (!parent || std::sscanf(parent.value().c_str(), "%u:%u", &disk_major, &disk_minor) != 2)
      return std::nullopt;
  }
  return std::pair{disk_major, disk_minor};
}

}  // namespace paddock::runs
