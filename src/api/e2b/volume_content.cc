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

// A request for something in a volume whose token was shown.
struct VolumeCall {
  Call& call;
  manager::VolumeInfo volume;
  std::string path;
  bool force = false;
};

// These errors have a status of their own here.
Result<Reply> reply_or_refusal(Result<Reply> reply) {
  if (reply || reply.error().kind == Kind::none) return reply;
  if (reply.error().kind == Kind::unauthenticated) return refusal(401, reply.error().message);
  if (reply.error().kind == Kind::too_large) return refusal(507, reply.error().message);
  return reply;
}

// The volume whose token is shown.
Result<VolumeCall> admit(Call& call) {
  std::string header = call.exchange.header("Authorization"),
              shown = starts_with(header, "Bearer ") ? header.substr(7) : "";
  std::optional<manager::VolumeInfo> volume = call.manager.volume_for_content(call.id());
  if (volume && !shown.empty() && same_secret(shown, volume->token)) {
    call.exchange.admit(cat("tenant ", volume->tenant));
    return VolumeCall{call, *volume, call.query("path"), call.query("force") == "true"};
  }
  call.server.note_refused(call, 401, "the volume's token is missing or wrong");
  return kUnauthorized;
}

// An event about the path that the query names.
Event event_about(const VolumeCall& at, const char* kind, const char* act) {
  Event event = at.call.caller.cause.instant(kind);
  event.tenant = at.volume.tenant;
  event.agent = at.call.caller.agent;
  event.data.set("act", act);
  event.data.set("volume", at.volume.id);
  event.data.set("path", at.path);
  return event;
}

// Records that something in the volume is about to be changed.
Task<Result<void>> record_change(const VolumeCall& at, const char* act) {
  Call& call = at.call;
  Event event = event_about(at, "file.write", act);
  event.verdict = "allow";
  if (call.exchange.head().body.kind == net::Body::Kind::length)
    event.data.set("bytes", call.exchange.head().body.length);
  event.span = call.caller.cause.child().span;
  Event kept = event;
  CO_TRY_VOID(co_await call.manager.events().record(std::move(event)));
  call.recorded = std::move(kept);
  co_return Result<void>();
}

// ?uid=&gid=&mode=: in decimal digits, as clients send them.
VolumeOwner owner_in_query(const Call& call) {
  return {.uid = number_in_query(call, "uid"),
          .gid = number_in_query(call, "gid"),
          .mode = number_in_query(call, "mode")};
}

// Opens the volume and does `work` in it, off the loop.
Task<Result<Value>> in_volume(const VolumeCall& at, Work work) {
  Result<Value> result = Error{};
  std::function<void()> job = [&] {
    Result<VolumeTree> tree = VolumeTree::open(at.volume.directory);
    if (tree)
      result = work(tree.value());
    else
      result = tree.error();
  };
  co_await at.call.manager.worker().run(job);
  co_return result;
}

// Answers with what `work` gives.
Task<Result<Reply>> answer(const VolumeCall& at, int status, Work work) {
  CO_TRY(Value result, co_await in_volume(at, std::move(work)));
  co_return Reply::json(status, result);
}

Task<Result<Reply>> list(VolumeCall& at) {
  int64_t depth = number_in_query(at.call, "depth").value_or(1);
  return answer(at, 200,
                [&at, depth](const VolumeTree& tree) { return tree.list(at.path, depth); });
}

Task<Result<Reply>> stat(VolumeCall& at) {
  return answer(at, 200, [&at](const VolumeTree& tree) { return tree.stat(at.path); });
}

// Makes a directory; with force=true those above it too, and it may be there already.
Task<Result<Reply>> make_directory(VolumeCall& at) {
  CO_TRY_VOID(co_await record_change(at, "mkdir"));
  if (!at.call.manager.reserve_volume(at.volume.id, kDirectory)) co_return kFull;
  VolumeOwner owner = owner_in_query(at.call);
  Work work = [&at, owner](const VolumeTree& tree) {
    return tree.make_directory(at.path, owner, at.force);
  };
  Result<Reply> reply = co_await answer(at, 201, std::move(work));
  co_return reply;
}

// Changes owner and mode. The body is read before the change is recorded.
Task<Result<Reply>> change(VolumeCall& at) {
  CO_TRY(Value body, co_await read_object(at.call));
  VolumeOwner owner;
  for (auto [name, slot] :
       {std::pair("uid", &owner.uid), std::pair("gid", &owner.gid), std::pair("mode", &owner.mode)})
    if (const Value* value = body.find(name); value && value->as_int()) *slot = *value->as_int();
  CO_TRY_VOID(co_await record_change(at, "change"));
  Work work = [&at, owner](const VolumeTree& tree) { return tree.change(at.path, owner); };
  Result<Reply> reply = co_await answer(at, 200, std::move(work));
  co_return reply;
}

Task<Result<Reply>> remove(VolumeCall& at) {
  CO_TRY_VOID(co_await record_change(at, "remove"));
  Work work = [&at](const VolumeTree& tree) -> Result<Value> {
    TRY(tree.remove(at.path));
    return Value();
  };
  CO_TRY_VOID(co_await in_volume(at, std::move(work)));
  co_return Reply::empty(204);
}

// Streams a file from a worker's thread, piece by piece.
Task<Result<Reply>> read(VolumeCall& at) {
  Call& call = at.call;
  VolumeTree::File file;
  Work work = [&at, &file](const VolumeTree& tree) -> Result<Value> {
    file = TRY(tree.open_to_read(at.path));
    return Value();
  };
  CO_TRY_VOID(co_await in_volume(at, std::move(work)));
  Event event = event_about(at, "file.read", "read");
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
Task<Result<void>> receive(VolumeCall& at, int file) {
  std::string piece;
  Result<void> written;
  std::function<void()> job = [&] { written = write_all(file, piece); };
  while (true) {
    CO_TRY(piece, co_await at.call.exchange.read());
    if (piece.empty()) co_return Result<void>();
    if (!at.call.manager.reserve_volume(at.volume.id, piece.size())) co_return kFull;
    co_await at.call.manager.worker().run(job);
    if (!written && written.error().code == Code::exhausted) co_return kFull;
    CO_TRY_VOID(written);
  }
}

// Writes a file; with force=true in place of one that is there.
Task<Result<Reply>> write(VolumeCall& at) {
  CO_TRY_VOID(co_await record_change(at, "upload"));
  if (at.volume.is_over()) co_return kFull;
  VolumeOwner owner = owner_in_query(at.call);
  Fd file;
  Work open = [&at, &file, owner](const VolumeTree& tree) -> Result<Value> {
    file = TRY(tree.open_to_write(at.path, owner, at.force));
    return Value();
  };
  CO_TRY_VOID(co_await in_volume(at, std::move(open)));
  CO_TRY_VOID(co_await receive(at, file.get()));
  Work look = [&at](const VolumeTree& tree) { return tree.stat(at.path); };
  Result<Reply> reply = co_await answer(at, 201, std::move(look));
  co_return reply;
}

// Handlers of routes without a scope: the volume's own token is shown instead of an API key.
template <Task<Result<Reply>> (*handler)(VolumeCall& at)>
Task<Result<Reply>> by_token(Call& call) {
  Result<VolumeCall> at = admit(call);
  Result<Reply> reply = Error{};
  if (at)
    reply = co_await handler(at.value());
  else
    reply = at.error();
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
