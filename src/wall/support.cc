#include "wall/support.h"

namespace paddock::wall {

const char* to_string(Support::State state) {
  switch (state) {
    case Support::State::works: return "works";
    case Support::State::fails: return "does not work";
    case Support::State::absent: return "not in this version";
  }
  return "";
}

Advice advise_on_user_namespaces(const NamespaceSwitches& switches) {
  if (switches.max_user_namespaces == "0") return {"user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=15000"};
  if (switches.unprivileged_userns_clone == "0") return {"kernel.unprivileged_userns_clone is 0", "sysctl -w kernel.unprivileged_userns_clone=1"};
  if (!switches.apparmor_restrict.empty() && switches.apparmor_restrict != "0")
    return {"AppArmor takes the rights in a new user namespace away", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"};
  return {"the kernel, or the container this runs in, forbids them", "run paddock as root, or outside of the container, or use --wall process"};
}

std::string advise_on_cgroup(bool is_root) {
  return is_root ? "mount the controller, or start the container this runs in with a writable cgroup"
                 : "run as root, or under: systemd-run --user --scope -p Delegate=yes paddock …";
}

}  // namespace paddock::wall
