#include "api/data_events.h"

namespace paddock::api {

using io::Task;

Task<Result<void>> record_doing(Call& call, std::shared_ptr<manager::Sandbox> sandbox,
                                const char* kind, Value data) {
  std::string named = kind;
  Result<Event> recorded = co_await manager::record_doing(
      call.manager, call.caller, std::move(sandbox), named, std::move(data));
  if (!recorded) co_return recorded.error();
  call.recorded = std::move(recorded).value();
  co_return Result<void>();
}

Task<Result<void>> record_write(Call& call, std::shared_ptr<manager::Sandbox> sandbox,
                                const char* act, Value data) {
  std::string named = act;
  Result<Event> recorded = co_await manager::record_write(
      call.manager, call.caller, std::move(sandbox), named, std::move(data));
  if (!recorded) co_return recorded.error();
  call.recorded = std::move(recorded).value();
  co_return Result<void>();
}

void note_input(const Call& call, const manager::Sandbox& sandbox, const Value& process,
                size_t bytes, bool closed) {
  manager::note_input(call.manager, call.caller, sandbox, {process, bytes, closed});
}

void note_read(const Call& call, const manager::Sandbox& sandbox, Value data,
               const redact::Counts& counts) {
  manager::note_read(call.manager, call.caller, sandbox, std::move(data), counts);
}

bool redacts_files(const Call& call, const manager::Sandbox& sandbox) {
  return manager::redacts_files(sandbox) || call.exchange.query("redact").value_or("") == "1";
}

Value shown_names(const Call& call, const manager::Sandbox& sandbox, Value names) {
  return redacts_files(call, sandbox) ? redact::redacted(*sandbox.redaction(), names) : names;
}

Error unrecorded_rpc(const Error& error) {
  return {error.code, error.message,
          error.code == Code::exhausted  ? "resource_exhausted"
          : error.code == Code::conflict ? "gone"
                                         : "unavailable"};
}

}  // namespace paddock::api
