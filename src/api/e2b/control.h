// What the parts of E2B's control plane share: how they tell sandboxes, errors and times.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/e2b/network.h"
#include "api/http/call.h"

namespace paddock::api::e2b {

inline constexpr const char* kEnvdVersion = "0.6.13";  // what its clients may expect of our envd

// The id in the path. It may carry "-client" after it, as older clients write it.
std::string sandbox_id(const Call& call);

// {"code":404,"message":"…"}: what E2B's control plane answers when a handler fails.
Reply error_reply(Call& call, const Error& error);
// The request's body, an object.
io::Task<Result<Value>> read_object(Call& call);

// RFC 3339, milliseconds; a time that never comes is far away.
std::string time_text(manager::WallTime time);
Result<manager::WallTime> parse_time(const std::string& text);  // RFC 3339
// A number of seconds from a body; `otherwise` when it is absent. Refuses what is not a number,
// negative, or absurd.
Result<int64_t> seconds_to_ms(const Value& body, const char* name, int64_t otherwise);
// none: absent, or not a number.
std::optional<int64_t> number_in_query(const Call& call, const char* name);
Result<std::map<std::string, std::string>> text_map(const Value& body, const char* name);

Result<size_t> page_limit(const Call& call);  // "limit" of lists: 1 to 100, 100 when absent

// What create, connect, resume and fork answer.
Value sandbox_json(const Call& call, const manager::SandboxInfo& info);
Value listed_json(const manager::SandboxInfo& info);
Value detail_json(const Call& call, const manager::SandboxInfo& info);

// The body of a request for a new sandbox.
Result<manager::CreateOptions> parse_create(const Value& body, int64_t default_seconds);

// What a sandbox was asked to reach, kept in its `extra`.
Value extra_of(const E2bNetwork& network, const std::optional<bool>& public_traffic,
               const std::string& mask_request_host);

}  // namespace paddock::api::e2b
