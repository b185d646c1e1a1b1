// What is in volumes: with a volume's own token, and without a sandbox. The work is done by the
// manager's worker threads.
#include <unistd.h>

#include "api/e2b/control.h"
#include "api/e2b/volume_tree.h"
#include "api/http/all_routes.h"
#include "api/http/server.h"
#include "base/digest.h"
#include "base/text.h"
#include "record/events.h"

namespace paddock::api::e2b {
namespace {

constexpr size_t kPiece = 256 << 10;
constexpr uint64_t kDirectory = 4096;  // what one takes

using io::Task;
using Work = std::function<Result<Value>(const VolumeTree&)>;

const Error kUnauthorized{Code::denied, "unauthorized: the volume's token is missing or wrong", "",
                          Kind::unauthenticated};
const Error kFull{Code::exhausted, "the volume is full", "", Kind::too_large};

// These errors have a status of their own here.
Result<Reply> reply_or_refusal(Result<Reply> reply) {
  if (reply || reply.error().kind == Kind::none) return reply;
  if (reply.error().kind == Kind::unauthenticated) return refusal(401, reply.error().message);
  if (reply.error().kind == Kind::too_large) return refusal(507, reply.error().message);
  return reply;
}

// The volume whose token is shown.
Result<manager::VolumeInfo> admit(Call& call) {
  std::string header = call.exchange.header("Authorization"),
              shown = starts_with(header, "Bearer ") ? header.substr(7) : "";
  std::optional<manager::VolumeInfo> volume = call.manager.volume_for_content(call.id());
  if (volume && !shown.empty() && same_secret(shown, volume->token)) {
    call.exchange.admit(cat("tenant ", volume->tenant));
    return *volume;
  }
  call.server.note_refused(call, 401, "the volume's token is missing or wrong");
  return kUnauthorized;
}

// An event about the path that the query names.
Event event_about(Call& call, const manager::VolumeInfo& volume, const char* kind,
                  const char* act) {
  Event event = call.caller.cause.instant(kind);
  event.tenant = volume.tenant;
  event.agent = call.caller.agent;
  event.data.set("act", act);
  event.data.set("volume", volume.id);
  event.data.set("path", call.query("path"));
  return event;
}

// Records that something in the volume is about to be changed.
Task<Result<void>> record_change(Call& call, const manager::VolumeInfo& volume, const char* act) {
  Event event = event_about(call, volume, "file.write", act);
  event.verdict = "allow";
  if (call.exchange.head().body.kind == net::Body::Kind::length)
    event.data.set("bytes", call.exchange.head().body.length);
  event.span = call.caller.cause.child().span;
  Event kept = event;
  CO_TRY_VOID(co_await call.manager.events().record(std::move(event)));
  call.recorded = std::move(kept);
  co_return Result<void>();
}

// The volume whose token is shown, once it is recorded that something in it is about to be changed.
Task<Result<manager::VolumeInfo>> admit_to_write(Call& call, const char* act) {
  CO_TRY(manager::VolumeInfo volume, admit(call));
  CO_TRY_VOID(co_await record_change(call, volume, act));
  co_return volume;
}

VolumeOwner owner_in_query(const Call& call) {
  return {.uid = number_in_query(call, "uid"),
          .gid = number_in_query(call, "gid"),
          .mode = number_in_query(call, "mode")};
}

// Opens the volume and does `work` in it, off the loop.
Task<Result<Value>> in_volume(Call& call, std::string directory, Work work) {
  Result<Value> result = Error{};
  std::function<void()> job = [&] {
    Result<VolumeTree> tree = VolumeTree::open(directory);
    if (tree)
      result = work(tree.value());
    else
      result = tree.error();
  };
  co_await call.manager.worker().run(job);
  co_return result;
}

// For requests that change nothing.
Task<Result<Reply>> look_in_volume(Call& call, Work work) {
  CO_TRY(manager::VolumeInfo volume, admit(call));
  CO_TRY(Value result, co_await in_volume(call, volume.directory, work));
  co_return Reply::json(200, result);
}

Task<Result<Reply>> list(Call& call) {
  std::string path = call.query("path");
  int64_t depth = number_in_query(call, "depth").value_or(1);
  return look_in_volume(call,
                        [path, depth](const VolumeTree& tree) { return tree.list(path, depth); });
}

Task<Result<Reply>> stat(Call& call) {
  std::string path = call.query("path");
  return look_in_volume(call, [path](const VolumeTree& tree) { return tree.stat(path); });
}

Task<Result<Reply>> make_directory(Call& call) {
  std::string path = call.query("path");
  VolumeOwner owner = owner_in_query(call);
  bool force = call.query("force") == "true";
  CO_TRY(manager::VolumeInfo volume, co_await admit_to_write(call, "mkdir"));
  if (!call.manager.reserve_volume(volume.id, kDirectory)) co_return kFull;
  Work work = [path, owner, force](const VolumeTree& tree) {
    return tree.make_directory(path, owner, force);
  };
  CO_TRY(Value result, co_await in_volume(call, volume.directory, work));
  co_return Reply::json(201, result);
}

Task<Result<Reply>> change(Call& call) {
  CO_TRY(manager::VolumeInfo volume, admit(call));
  CO_TRY(Value body, co_await read_object(call));
  VolumeOwner owner;
  for (auto [name, slot] :
       {std::pair("uid", &owner.uid), std::pair("gid", &owner.gid), std::pair("mode", &owner.mode)})
    if (const Value* value = body.find(name); value && value->as_int()) *slot = *value->as_int();
  std::string path = call.query("path");
  CO_TRY_VOID(co_await record_change(call, volume, "change"));
  Work work = [path, owner](const VolumeTree& tree) { return tree.change(path, owner); };
  CO_TRY(Value result, co_await in_volume(call, volume.directory, work));
  co_return Reply::json(200, result);
}

Task<Result<Reply>> remove(Call& call) {
  CO_TRY(manager::VolumeInfo volume, co_await admit_to_write(call, "remove"));
  std::string path = call.query("path");
  Work work = [path](const VolumeTree& tree) -> Result<Value> {
    TRY(tree.remove(path));
    return Value();
  };
  CO_TRY_VOID(co_await in_volume(call, volume.directory, work));
  co_return Reply::empty(204);
}

// Streams a file from a worker's thread, piece by piece.
Task<Result<Reply>> read(Call& call) {
  CO_TRY(manager::VolumeInfo volume, admit(call));
  std::string path = call.query("path");
  VolumeTree::File file;
  Work work = [path, &file](const VolumeTree& tree) -> Result<Value> {
    file = TRY(tree.open_to_read(path));
    return Value();
  };
  CO_TRY_VOID(co_await in_volume(call, volume.directory, work));
  Event event = event_about(call, volume, "file.read", "read");
  event.data.set("bytes", file.size);
  call.manager.events().note(std::move(event));
  Headers headers = {{"Content-Type", "application/octet-stream"}};
  bool there = co_await call.exchange.begin(200, headers, file.size);
  std::string piece;
  ssize_t got = 0;
  uint64_t left = file.size;
  std::function<void()> job = [&] {
    piece.resize(std::min<uint64_t>(kPiece, left));
    got = ::read(file.fd.get(), piece.data(), piece.size());
  };
  while (there && left > 0) {
    co_await call.manager.worker().run(job);
    if (got <= 0) {  // it became shorter: the client must not take this for the whole
      call.exchange.cut();
      co_return Reply::sent();
    }
    left -= static_cast<uint64_t>(got);
    std::string_view bytes(piece.data(), static_cast<size_t>(got));
    there = co_await call.exchange.write(bytes);
  }
  if (there) (void)co_await call.exchange.finish();
  co_return Reply::sent();
}

// The body, written to the file as it comes.
Task<Result<void>> receive(Call& call, const std::string& volume, int file) {
  std::string piece;
  Result<void> written;
  std::function<void()> job = [&] { written = write_all(file, piece); };
  while (true) {
    CO_TRY(piece, co_await call.exchange.read());
    if (piece.empty()) co_return Result<void>();
    if (!call.manager.reserve_volume(volume, piece.size())) co_return kFull;
    co_await call.manager.worker().run(job);
    if (!written && written.error().code == Code::exhausted) co_return kFull;
    CO_TRY_VOID(written);
  }
}

Task<Result<Reply>> write(Call& call) {
  CO_TRY(manager::VolumeInfo volume, co_await admit_to_write(call, "upload"));
  if (volume.is_over()) co_return kFull;
  std::string path = call.query("path");
  VolumeOwner owner = owner_in_query(call);
  bool force = call.query("force") == "true";
  Fd file;
  Work open = [path, owner, force, &file](const VolumeTree& tree) -> Result<Value> {
    file = TRY(tree.open_to_write(path, owner, force));
    return Value();
  };
  CO_TRY_VOID(co_await in_volume(call, volume.directory, open));
  CO_TRY_VOID(co_await receive(call, volume.id, file.get()));
  Work look = [path](const VolumeTree& tree) { return tree.stat(path); };
  CO_TRY(Value result, co_await in_volume(call, volume.directory, look));
  co_return Reply::json(201, result);
}

// Handlers of routes without a scope: the volume's own token is shown instead of an API key.
template <Handler handler>
Task<Result<Reply>> by_token(Call& call) {
  Result<Reply> reply = co_await handler(call);
  co_return reply_or_refusal(std::move(reply));
}

}  // namespace

std::vector<Route> volume_content_routes() {
  return {
      {"GET", "/volumecontent/{id}/dir", "", by_token<list>},
      {"POST", "/volumecontent/{id}/dir", "", by_token<make_directory>},
      {"GET", "/volumecontent/{id}/path", "", by_token<stat>},
      {"PATCH", "/volumecontent/{id}/path", "", by_token<change>},
      {"DELETE", "/volumecontent/{id}/path", "", by_token<remove>},
      {"GET", "/volumecontent/{id}/file", "", by_token<read>},
      {"PUT", "/volumecontent/{id}/file", "", by_token<write>},
  };
}

}  // namespace paddock::api::e2b
