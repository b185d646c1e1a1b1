#include <map>
#include <set>

#include "base/text.h"
#include "presets/presets.h"
#include "wall/wall.h"

namespace paddock::wall {

Result<void> check_common(const Request& request, const HostFacts& facts) {
  if (facts.uid == 0 && !facts.privileged)
    return Error{Code::unsupported, cat("the program must not be root on the host, but ", facts.not_privileged_why),
                 "run paddock as an ordinary user, or give root back these capabilities"};
  if (!facts.seccomp)
    return Error{Code::unsupported, "this kernel has no seccomp filters", "use a kernel with CONFIG_SECCOMP_FILTER"};
  if (request.policy.network.allow && !request.policy.network.allow->empty())
    return Error{Code::unsupported, cat("network.allow names ", request.policy.network.allow->front(), ", but this version has no network"),
                 "leave network.allow and --allow-net out"};
  return {};
}

std::vector<std::string> cgroup_places(const HostFacts& facts) {
  const kernel::CgroupFacts& groups = facts.cgroups;
  std::set<std::string> places;
  for (const kernel::Controller* controller : {&groups.memory, &groups.pids, &groups.cpu, &groups.cpuacct, &groups.io, &groups.unified})
    if (controller->version) places.insert(controller->directory);
  return {places.begin(), places.end()};
}

std::vector<std::string> build_environment(const Request& request, const std::string& home, const std::string& temporary) {
  std::map<std::string, std::string> env = {{"PATH", kSearchPath}, {"HOME", home}, {"USER", kInsideUser}, {"LOGNAME", kInsideUser},
                                            {"TMPDIR", temporary}, {"PADDOCK", request.id}};
  if (request.terminal[0] || request.terminal[1]) env["TERM"] = "xterm-256color";
  for (const auto& [name, value] : request.policy.env.set) env[name] = value;
  for (const auto& [name, value] : request.command.env) env[name] = value;
  for (const auto& [name, value] : request.command.secrets) env[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : env) list.push_back(cat(name, "=", value));
  return list;
}

Result<std::string> seccomp_filter(const std::string& name) {
  for (size_t i = 0; i < kEmbeddedFilterCount; ++i)
    if (name == kEmbeddedFilters[i].name)
      return std::string(reinterpret_cast<const char*>(kEmbeddedFilters[i].bytes), kEmbeddedFilters[i].size);
  return Error{Code::internal, cat("there is no seccomp filter '", name, "'"), "rebuild Paddock"};
}

}  // namespace paddock::wall
