#include "run/wall_choice.h"

#include "base/text.h"
#include "policy/isolation.h"
#include "wall/oci/runtime.h"

namespace paddock::runs {

namespace {

// For a process and a container this is found out when they are compiled, with better reasons.
Result<void> check_available(WallKind wall) {
  if (wall == WallKind::process || wall == WallKind::container) return {};
  if (wall::is_oci(wall)) {
    (void)TRY(wall::find_oci_runtime(wall));
    return {};
  }
  return Error{Code::unsupported,
               cat("the wall '", to_string(wall), "' is not part of this version"),
               "paddock doctor shows which walls work here"};
}

}  // namespace

Result<WallKind> choose_wall(const Policy& policy) {
  return policy::choose_wall(policy, check_available);
}

}  // namespace paddock::runs
