// The facts about this host that the walls depend on. Each is tried where it can be.
#pragma once

#include <optional>
#include <vector>

#include "wall/support.h"

namespace paddock::doctor {

// What prevents a user namespace; nothing if one can be made and gives rights.
std::optional<wall::Advice> user_namespace_trouble();

// Makes short-lived namespaces, mounts and runs to find out. Nothing is left behind.
std::vector<wall::Fact> probe_facts();

}  // namespace paddock::doctor
