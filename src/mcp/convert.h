// Converts the answers of a service for clients of each revision, and reads what clients say about
// themselves.
#pragma once

#include <optional>
#include <string>

#include "mcp/message.h"
#include "mcp/service.h"

namespace paddock::mcp {

// ---- of a modern request

// Who asks, from _meta. The error is what the request must be refused with.
std::optional<Problem> read_modern_client(const Value& params, Client& client);
// The version in _meta. Null: the request is not a modern one.
const Value* modern_version(const Value& params);

// A result as 2026-07-28 wants it: resultType, who we are, and caching hints where they are due.
Value modern_result(const std::string& method, Value result, const Offer& offer);
// The same for what is needed first.
Value input_required(const Value& requests, const std::string& state, const Offer& offer);
Problem modern_problem(Problem problem);  // without codes that the revision does not have

// ---- of a legacy one

// The revision to speak: the one that is wanted, or the newest of the legacy ones.
const char* negotiate(const std::string& wanted);
// Without what came later and would be choked on: content of unknown types becomes text, results
// lose what is the newer era's.
Value legacy_result(const std::string& method, const std::string& version, Value result);
Value legacy_ask(const std::string& method, Value params);  // what modern requests no longer say

// ---- of both

// Which capability a client must have for that to be asked of it: {"sampling":{}},
// {"elicitation":{"url":{}}}; null when it is none that may be asked. `lacks`: the client did not
// say so.
Value needed_capability(const std::string& method, const Value& params);
bool lacks(const Client& client, const std::string& method, const Value& params);
bool may_need_input(const std::string& method);  // tools/call, prompts/get, resources/read
int log_level(const std::string& name);          // 0 debug … 7 emergency; -1: none
Value implementation(const Offer& offer);        // {"name","title","version"}

}  // namespace paddock::mcp
