// All keys of a policy file.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "policy/key.h"

namespace paddock::policy {

// In the order in which a policy is written; the keys of one table stand together.
const std::vector<std::unique_ptr<const Key>>& keys();

const Key* find_key(std::string_view path);  // null: there is none; it may be a table

// The parts of keys that follow `table` in their paths, each once: "python" after "code". An empty
// `table` gives the names at the top.
std::vector<std::string> names_in(std::string_view table);

// The table of keys in docs/policy.md, as Markdown. A test compares the two.
std::string manual_table();

}  // namespace paddock::policy
