// Whether a value is one of those that one_of or not_one_of lists. A value that another program
// could take for a listed one is unclear: "22" for 22, ["root"] for "root", "/home/" for "/home".
#pragma once

#include <vector>

#include "base/value.h"
#include "policy/tools/answer.h"

namespace paddock::policy {

Answer is_one_of(const std::vector<Value>& choices, const Value& value);

}  // namespace paddock::policy
