// What is in volumes: with a volume's own token, and without a sandbox. The work is done by the
// manager's worker threads.
#include <unistd.h>

#include "api/e2b.h"
#include "api/server.h"
#include "api/volume_tree.h"
#include "base/digest.h"
#include "base/text.h"
#include "record/events.h"

namespace paddock::api::e2b {
namespace {

constexpr size_t kPiece = 256 << 10;
constexpr uint64_t kDirectory = 4096;  // what one takes

// The volume whose token is shown; what is wrong is answered otherwise.
io::Task<std::optional<manager::VolumeInfo>> admit(Call& call) {
  std::string header = call.exchange.header("Authorization"),
              shown = starts_with(header, "Bearer ") ? header.substr(7) : "";
  std::optional<manager::VolumeInfo> volume = call.manager.volume_for_content(call.parts.at("id"));
  if (volume && !shown.empty() && same_secret(shown, volume->token)) {
    call.exchange.admit(cat("tenant ", volume->tenant));
    co_return volume;
  }
  call.server.note_refused(call, 401, "the volume's token is missing or wrong");
  Value body = Value::Object{{"code", 401},
                             {"message", "unauthorized: the volume's token is missing or wrong"}};
  (void)co_await call.exchange.answer_json(401, body);
  co_return std::nullopt;
}

std::string path_of(const Call& call) { return call.exchange.query("path").value_or(""); }

Event event_about(Call& call, const manager::VolumeInfo& volume, const char* kind,
                  const char* act) {
  Event event = call.caller.cause.instant(kind);
  event.tenant = volume.tenant;
  event.agent = call.caller.agent;
  event.data.set("act", act);
  event.data.set("volume", volume.id);
  event.data.set("path", path_of(call));
  return event;
}

// Records that something in the volume is about to be changed. False: that failed, and was
// answered.
io::Task<bool> record_change(Call& call, const manager::VolumeInfo& volume, const char* act) {
  Event event = event_about(call, volume, "file.write", act);
  event.verdict = "allow";
  if (call.exchange.head().body.kind == net::Body::Kind::length)
    event.data.set("bytes", call.exchange.head().body.length);
  event.span = call.caller.cause.child().span;
  Event kept = event;
  Result<void> recorded = co_await call.manager.events().record(std::move(event));
  if (recorded) {
    call.recorded = std::move(kept);
    co_return true;
  }
  co_await fail(call, recorded.error());
  co_return false;
}

// The volume whose token is shown, once it is recorded that something in it is about to be changed.
io::Task<std::optional<manager::VolumeInfo>> admit_to_write(Call& call, const char* act) {
  std::optional<manager::VolumeInfo> volume = co_await admit(call);
  if (!volume) co_return std::nullopt;
  bool recorded = co_await record_change(call, *volume, act);
  if (!recorded) co_return std::nullopt;
  co_return volume;
}

VolumeOwner owner_in_query(const Call& call) {
  return {.uid = number_in_query(call, "uid"),
          .gid = number_in_query(call, "gid"),
          .mode = number_in_query(call, "mode")};
}

bool forced(const Call& call) { return call.exchange.query("force").value_or("") == "true"; }

// Opens the volume and does `work` in it, off the loop.
io::Task<Result<Value>> in_volume(Call& call, manager::VolumeInfo volume,
                                  std::function<Result<Value>(const VolumeTree&)> work) {
  Result<Value> result = Error{};
  std::function<void()> job = [&] {
    Result<VolumeTree> tree = VolumeTree::open(volume.directory);
    if (tree)
      result = work(tree.value());
    else
      result = tree.error();
  };
  co_await call.manager.worker().run(job);
  co_return result;
}

io::Task<void> answer_result(Call& call, int status, Result<Value> result) {
  if (!result) {
    co_await fail(call, result.error());
    co_return;
  }
  (void)co_await call.exchange.answer_json(status, result.value());
}

io::Task<void> do_in_volume(Call& call, int status,
                            std::function<Result<Value>(const VolumeTree&)> work) {
  std::optional<manager::VolumeInfo> volume = co_await admit(call);
  if (!volume) co_return;
  Result<Value> result = co_await in_volume(call, *volume, work);
  co_await answer_result(call, status, result);
}

io::Task<void> no_room(Call& call) {
  Value body = Value::Object{{"code", 507}, {"message", "the volume is full"}};
  (void)co_await call.exchange.answer_json(507, body);
}

}  // namespace

io::Task<void> volume_list(Call& call) {
  std::string path = path_of(call);
  int64_t depth = number_in_query(call, "depth").value_or(1);
  std::function<Result<Value>(const VolumeTree&)> work = [path, depth](const VolumeTree& tree) {
    return tree.list(path, depth);
  };
  co_await do_in_volume(call, 200, work);
}

io::Task<void> volume_make_directory(Call& call) {
  std::string path = path_of(call);
  VolumeOwner owner = owner_in_query(call);
  bool force = forced(call);
  std::optional<manager::VolumeInfo> volume = co_await admit_to_write(call, "mkdir");
  if (!volume) co_return;
  if (!call.manager.reserve_volume(volume->id, kDirectory)) {
    co_await no_room(call);
    co_return;
  }
  std::function<Result<Value>(const VolumeTree&)> work = [path, owner,
                                                          force](const VolumeTree& tree) {
    return tree.make_directory(path, owner, force);
  };
  Result<Value> result = co_await in_volume(call, *volume, work);
  co_await answer_result(call, 201, result);
}

io::Task<void> volume_stat(Call& call) {
  std::string path = path_of(call);
  std::function<Result<Value>(const VolumeTree&)> work = [path](const VolumeTree& tree) {
    return tree.stat(path);
  };
  co_await do_in_volume(call, 200, work);
}

io::Task<void> volume_change(Call& call) {
  std::optional<manager::VolumeInfo> volume = co_await admit(call);
  if (!volume) co_return;
  std::optional<Value> body = co_await read_object(call);
  if (!body) co_return;
  VolumeOwner owner;
  for (auto [name, slot] :
       {std::pair("uid", &owner.uid), std::pair("gid", &owner.gid), std::pair("mode", &owner.mode)})
    if (const Value* value = body->find(name); value && value->as_int()) *slot = *value->as_int();
  std::string path = path_of(call);
  bool recorded = co_await record_change(call, *volume, "change");
  if (!recorded) co_return;
  std::function<Result<Value>(const VolumeTree&)> work = [path, owner](const VolumeTree& tree) {
    return tree.change(path, owner);
  };
  Result<Value> result = co_await in_volume(call, *volume, work);
  co_await answer_result(call, 200, result);
}

io::Task<void> volume_remove(Call& call) {
  std::optional<manager::VolumeInfo> volume = co_await admit_to_write(call, "remove");
  if (!volume) co_return;
  std::string path = path_of(call);
  std::function<Result<Value>(const VolumeTree&)> work =
      [path](const VolumeTree& tree) -> Result<Value> {
    TRY(tree.remove(path));
    return Value();
  };
  Result<Value> removed = co_await in_volume(call, *volume, work);
  if (removed)
    co_await answer_done(call);
  else
    co_await fail(call, removed.error());
}

io::Task<void> volume_read(Call& call) {
  std::optional<manager::VolumeInfo> volume = co_await admit(call);
  if (!volume) co_return;
  std::string path = path_of(call);
  VolumeTree::File file;
  std::function<Result<Value>(const VolumeTree&)> work =
      [path, &file](const VolumeTree& tree) -> Result<Value> {
    file = TRY(tree.open_to_read(path));
    return Value();
  };
  Result<Value> opened = co_await in_volume(call, *volume, work);
  if (!opened) {
    co_await fail(call, opened.error());
    co_return;
  }
  Event event = event_about(call, *volume, "file.read", "read");
  event.data.set("bytes", file.size);
  call.manager.events().note(std::move(event));
  Headers headers = {{"Content-Type", "application/octet-stream"}};
  bool begun = co_await call.exchange.begin(200, headers, file.size);
  if (!begun) co_return;
  std::string piece;
  ssize_t got = 0;
  uint64_t left = file.size;
  std::function<void()> job = [&] {
    piece.resize(std::min<uint64_t>(kPiece, left));
    got = ::read(file.fd.get(), piece.data(), piece.size());
  };
  while (left > 0) {
    co_await call.manager.worker().run(job);
    if (got <= 0) {  // it became shorter: the client must not take this for the whole
      call.exchange.cut();
      co_return;
    }
    left -= static_cast<uint64_t>(got);
    std::string_view bytes(piece.data(), static_cast<size_t>(got));
    bool sent = co_await call.exchange.write(bytes);
    if (!sent) co_return;
  }
  (void)co_await call.exchange.finish();
}

io::Task<void> volume_write(Call& call) {
  std::optional<manager::VolumeInfo> volume = co_await admit_to_write(call, "upload");
  if (!volume) co_return;
  if (volume->is_over()) {
    co_await no_room(call);
    co_return;
  }
  std::string path = path_of(call);
  VolumeOwner owner = owner_in_query(call);
  bool force = forced(call);
  Fd file;
  std::function<Result<Value>(const VolumeTree&)> open =
      [path, owner, force, &file](const VolumeTree& tree) -> Result<Value> {
    file = TRY(tree.open_to_write(path, owner, force));
    return Value();
  };
  Result<Value> opened = co_await in_volume(call, *volume, open);
  if (!opened) {
    co_await fail(call, opened.error());
    co_return;
  }
  std::string piece;
  Result<void> written;
  std::function<void()> job = [&] { written = write_all(file.get(), piece); };
  while (true) {
    Result<std::string> next = co_await call.exchange.read();
    if (!next) {
      co_await fail(call, next.error());
      co_return;
    }
    piece = std::move(next.value());
    if (piece.empty()) break;
    if (!call.manager.reserve_volume(volume->id, piece.size())) {
      co_await no_room(call);
      co_return;
    }
    co_await call.manager.worker().run(job);
    if (!written) {
      if (written.error().code == Code::exhausted)
        co_await no_room(call);
      else
        co_await fail(call, written.error());
      co_return;
    }
  }
  std::function<Result<Value>(const VolumeTree&)> look = [path](const VolumeTree& tree) {
    return tree.stat(path);
  };
  Result<Value> result = co_await in_volume(call, *volume, look);
  co_await answer_result(call, 201, result);
}

}  // namespace paddock::api::e2b
