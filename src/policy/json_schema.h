// The policy file as JSON Schema (draft 2020-12), made from the table of keys. It says which keys
// there are and of what type; what a text may say is checked when a policy is read.
#pragma once

#include "base/value.h"

namespace paddock::policy {

Value json_schema();

}  // namespace paddock::policy
