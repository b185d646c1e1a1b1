// What the parts of E2B's control plane share: how they say a sandbox, an error, a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/e2b_network.h"
#include "api/routes.h"

namespace paddock::api::e2b {

inline constexpr const char* kEnvdVersion = "0.6.13";  // what its clients may expect of our envd

// Ids may carry "-client" behind them, as older clients write them.
std::string sandbox_id(const Call& call);

io::Task<void> fail(Call& call, Error error);  // {"code":404,"message":"…"}
io::Task<void> answer_done(Call& call);        // 204
// The request's body, an object. Empty: an error was answered.
io::Task<std::optional<Value>> read_object(Call& call);

// RFC 3339, milliseconds; a time that never comes is far away.
std::string time_text(manager::WallTime time);
Result<manager::WallTime> parse_time(const std::string& text);  // RFC 3339
// A number of seconds from a body; `otherwise` when it is absent. Refuses what is no number,
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

// What a sandbox was asked to reach, kept in its `extra`.
Value extra_of(const E2bNetwork& network, const std::optional<bool>& public_traffic,
               const std::string& mask_request_host);

// Handlers, by file.
io::Task<void> create_v1(Call& call);
io::Task<void> create_v2(Call& call);
io::Task<void> connect(Call& call);
io::Task<void> resume(Call& call);
io::Task<void> get_info(Call& call);
io::Task<void> kill(Call& call);
io::Task<void> set_timeout(Call& call);
io::Task<void> refresh(Call& call);
io::Task<void> pause(Call& call);
io::Task<void> update_network(Call& call);
io::Task<void> list_v1(Call& call);
io::Task<void> list_v2(Call& call);
io::Task<void> metrics(Call& call);
io::Task<void> bulk_metrics(Call& call);
io::Task<void> logs_v1(Call& call);
io::Task<void> logs_v2(Call& call);
io::Task<void> create_snapshot(Call& call);
io::Task<void> list_snapshots(Call& call);
io::Task<void> fork(Call& call);
io::Task<void> teams(Call& call);
io::Task<void> not_offered(Call& call);  // 501
io::Task<void> create_volume(Call& call);
io::Task<void> list_volumes(Call& call);
io::Task<void> get_volume(Call& call);
io::Task<void> remove_volume(Call& call);
io::Task<void> volume_list(Call& call);
io::Task<void> volume_make_directory(Call& call);
io::Task<void> volume_stat(Call& call);
io::Task<void> volume_change(Call& call);
io::Task<void> volume_remove(Call& call);
io::Task<void> volume_read(Call& call);
io::Task<void> volume_write(Call& call);

}  // namespace paddock::api::e2b
