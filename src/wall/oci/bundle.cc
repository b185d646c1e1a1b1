#include "wall/oci/bundle.h"

#include <linux/capability.h>
#include <sys/mount.h>

#include <utility>

#include "base/text.h"
#include "policy/path.h"

namespace paddock::wall {

namespace {

using launch::Step;

// Those that a plan may hold (compile_living.cc), and those that the launcher needs.
constexpr std::pair<int, const char*> kCapabilities[] = {
    {CAP_CHOWN, "CAP_CHOWN"},
    {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
    {CAP_FOWNER, "CAP_FOWNER"},
    {CAP_FSETID, "CAP_FSETID"},
    {CAP_KILL, "CAP_KILL"},
    {CAP_SETGID, "CAP_SETGID"},
    {CAP_SETUID, "CAP_SETUID"},
    {CAP_SETPCAP, "CAP_SETPCAP"},
    {CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE"},
    {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
    {CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE"},
    {CAP_SETFCAP, "CAP_SETFCAP"}};

Value capability_names(uint64_t set) {
  Value::Array names;
  for (const auto& [number, name] : kCapabilities)
    if (set >> number & 1) names.push_back(name);
  return names;
}

// A container has these of its own; all others it shares with the runtime, whose are ours. Another
// kernel has its own of every kind, and its name comes with one.
Value own_namespaces(bool own_kernel) {
  Value::Array list;
  for (const char* type : {"pid", "mount", "user"}) list.push_back(Value::Object{{"type", type}});
  if (own_kernel) list.push_back(Value::Object{{"type", "uts"}});
  return list;
}

Value id_mappings(const std::vector<OciProcess::Ids>& all) {
  Value::Array list;
  for (const OciProcess::Ids& ids : all)
    list.push_back(Value::Object{{"containerID", uint64_t{ids.inside}},
                                 {"hostID", uint64_t{ids.outside}},
                                 {"size", uint64_t{ids.count}}});
  return list;
}

bool is_mount(const Step& step) {
  return step.kind == Step::Kind::bind || step.kind == Step::Kind::tmpfs ||
         step.kind == Step::Kind::devpts || step.kind == Step::Kind::mqueue ||
         step.kind == Step::Kind::inner_bind;
}

// Another kernel sees one tree of files and nothing of how it is mounted. gVisor would put a tmpfs
// of its own at /tmp, which no limit of the disk holds.
void add_private_space(const launch::Plan& plan, const std::string& root, Value::Array& list) {
  auto add = [&](const std::string& place, bool executable) {
    list.push_back(
        Value::Object{{"destination", place},
                      {"type", "bind"},
                      {"source", root + place},
                      {"options", text_list({"rbind", executable ? "exec" : "noexec"})}});
  };
  list.push_back(Value::Object{{"destination", "/dev/shm"},
                               {"type", "tmpfs"},
                               {"source", "tmpfs"},
                               {"options", text_list({"nosuid", "nodev", "noexec", "mode=1777"})}});
  if (plan.living) return add("/tmp", true);
  for (const Step& step : plan.steps)
    if (step.kind == Step::Kind::inner_bind && policy::contains_path("/.scratch", step.text) &&
        !policy::contains_path("/dev", step.target))
      add(step.target, !(step.attributes & MOUNT_ATTR_NOEXEC));
}

}  // namespace

std::vector<launch::Step> take_proc(launch::Plan& plan) {
  auto is_there = [](const Step& step) {
    return step.kind == Step::Kind::proc ||
           (step.target != "/proc" && policy::contains_path("/proc", step.target));
  };
  std::vector<Step> taken;
  for (const Step& step : plan.steps)
    if (is_there(step)) taken.push_back(step);
  std::erase_if(plan.steps, is_there);
  return taken;
}

Value oci_config(const launch::Plan& plan, const std::string& root, const OciProcess& process) {
  // In the container's user namespace the launcher covers /proc and enters a cgroup namespace, as
  // it does in ours. Then it drops what the plan has not. Another kernel leaves it nothing to do.
  constexpr uint64_t kLaunchers =
      uint64_t{1} << CAP_SYS_ADMIN | uint64_t{1} << CAP_SYS_RESOURCE | uint64_t{1} << CAP_SETPCAP;
  Value capabilities = capability_names(plan.capabilities | (plan.boot.carried ? 0 : kLaunchers));
  Value::Object user{{"uid", uint64_t{process.uid}}, {"gid", uint64_t{process.gid}}};
  Value::Object none_or_few{{"bounding", capabilities},
                            {"effective", capabilities},
                            {"permitted", capabilities},
                            {"inheritable", plan.boot.carried ? Value::Array{} : capabilities},
                            {"ambient", plan.boot.carried ? Value::Array{} : capabilities}};
  Value::Array list;
  bool own_dev = plan.boot.carried;  // another kernel has devices of its own
  // Runtimes fill a /dev that they were not given. Some take a bind with what is mounted beneath
  // it, and some without: so that is named as well. The mounts have their attributes already.
  if (!own_dev)
    list.push_back(Value::Object{{"destination", "/dev"},
                                 {"type", "bind"},
                                 {"source", root + "/dev"},
                                 {"options", text_list({"rbind"})}});
  for (const Step& step : plan.steps)
    if (is_mount(step) && step.target != "/dev" && policy::contains_path("/dev", step.target))
      list.push_back(Value::Object{{"destination", step.target},
                                   {"type", "bind"},
                                   {"source", root + step.target},
                                   {"options", text_list({"rbind"})}});
  if (plan.boot.carried) add_private_space(plan, root, list);
  list.push_back(Value::Object{{"destination", "/proc"},
                               {"type", "proc"},
                               {"source", "proc"},
                               {"options", text_list({"nosuid", "noexec", "nodev"})}});
  // gVisor would remount it, and may not: it is read-only already.
  bool read_only = (plan.root_attributes & MOUNT_ATTR_RDONLY) && !plan.boot.carried;
  return Value::Object{{"ociVersion", "1.0.0"},
                       {"process", Value::Object{{"terminal", false},
                                                 {"user", std::move(user)},
                                                 {"args", text_list(process.argv)},
                                                 {"env", text_list({"PATH=/usr/bin:/bin"})},
                                                 {"cwd", "/"},
                                                 {"capabilities", std::move(none_or_few)},
                                                 {"noNewPrivileges", plan.no_new_privs}}},
                       {"root", Value::Object{{"path", root}, {"readonly", read_only}}},
                       {"hostname", plan.boot.carried ? plan.hostname : ""},
                       {"mounts", std::move(list)},
                       {"linux", Value::Object{{"namespaces", own_namespaces(plan.boot.carried)},
                                               {"uidMappings", id_mappings(process.uids)},
                                               {"gidMappings", id_mappings(process.gids)}}}};
}

}  // namespace paddock::wall
