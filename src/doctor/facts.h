// The things about this host that the walls depend on, each tried where it can be.
#pragma once

#include <optional>
#include <vector>

#include "wall/support.h"

namespace paddock::doctor {

// What stands in the way of a user namespace; nothing when one can be made and has rights in it.
std::optional<wall::Advice> user_namespace_trouble();

std::vector<wall::Fact> probe_facts();

}  // namespace paddock::doctor
