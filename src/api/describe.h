// Things of the manager as the native API shows them.
#pragma once

#include "base/value.h"
#include "manager/manager.h"

namespace paddock::api {

// Tokens and variables are shown to who may use the sandbox, not to who may only look.
Value describe(const manager::Sandbox& sandbox, const manager::Caller& caller);
Value describe(const manager::Snapshot& snapshot);
Value describe(const manager::VolumeInfo& volume);
Value describe_texts(const std::map<std::string, std::string>& texts);
Value describe_error(const Error& error);  // {"code","message","error","hint"}

}  // namespace paddock::api
