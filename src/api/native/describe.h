// Things of the manager as the native API shows them.
#pragma once

#include "api/http/call.h"

namespace paddock::api {

// Tokens and variables are shown to callers who may use the sandbox, not to those who may only
// look.
Value describe(const manager::Sandbox& sandbox, const manager::Caller& caller);
Value describe(const manager::Snapshot& snapshot);
Value describe(const manager::VolumeInfo& volume);
Value describe_error(const Error& error, int status);  // {"code","message","error","hint"}

// {"name":[…]}, each item described.
template <class List, class Describe>
Reply list_reply(const char* name, const List& list, Describe describe_item) {
  Value::Array items;
  for (const auto& item : list) items.push_back(describe_item(item));
  return Reply::json(200, Value::Object{{name, std::move(items)}});
}

// What the native API answers when a handler fails: the error, redacted by the rules of the sandbox
// that the request was about. A body that was too large is 413, one that broke off 400.
Reply error_reply(Call& call, const Error& error);

}  // namespace paddock::api
