#include "api/process_facts.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/fd.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using Type = monitor::Exposition::Type;

uint64_t open_descriptors() {
  DIR* entries = ::opendir("/proc/self/fd");
  if (!entries) return 0;
  uint64_t count = 0;
  while (::readdir(entries)) ++count;
  ::closedir(entries);
  return count > 3 ? count - 3 : 0;  // ".", ".." and this one
}

// Field `number` of /proc/self/stat, numbered as in proc(5).
double stat_field(const std::string& stat, size_t number) {
  size_t end = stat.rfind(") ");
  if (end == std::string::npos) return 0;
  std::vector<std::string> fields = words_in(stat.substr(end + 2));
  return number - 3 < fields.size() ? std::strtod(fields[number - 3].c_str(), nullptr) : 0;
}

// Seconds since 1970 at which the host was started: "btime N" in /proc/stat.
double boot_time() {
  Result<std::string> stat = read_file("/proc/stat", 4 << 20);
  size_t at = stat ? stat.value().find("\nbtime ") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtod(stat.value().c_str() + at + 7, nullptr);
}

}  // namespace

void add_process(monitor::Exposition& out) {
  Result<std::string> read = read_file("/proc/self/stat", 1 << 16);
  std::string stat = read ? read.value() : "";
  double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK)),
         page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  rlimit files{};
  (void)::getrlimit(RLIMIT_NOFILE, &files);
  out.metric("process_cpu_seconds_total", Type::counter,
             "User and system CPU time of the server, in seconds.");
  out.sample({}, (stat_field(stat, 14) + stat_field(stat, 15)) / ticks);
  out.metric("process_resident_memory_bytes", Type::gauge, "Resident memory of the server.");
  out.sample({}, stat_field(stat, 24) * page);
  out.metric("process_virtual_memory_bytes", Type::gauge, "Virtual memory of the server.");
  out.sample({}, stat_field(stat, 23));
  out.metric("process_open_fds", Type::gauge, "Descriptors that the server has open.");
  out.sample({}, open_descriptors());
  out.metric("process_max_fds", Type::gauge, "Descriptors that it may have open.");
  out.sample({}, static_cast<uint64_t>(files.rlim_cur));
  static const double booted = boot_time();
  out.metric("process_start_time_seconds", Type::gauge,
             "When the server was started, in seconds since 1970.");
  out.sample({}, booted + stat_field(stat, 22) / ticks);
}

}  // namespace paddock::api
