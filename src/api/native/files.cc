// Native API: files of a sandbox, streamed both ways.
#include "api/http/all_routes.h"
#include "api/native/sandbox_file.h"
#include "base/units.h"

namespace paddock::api {

namespace {

using guest::Channel;
using io::Task;

// A request to the guest about the path and the user that the query names.
template <class Request>
Request file_request(const Call& call) {
  Request request;
  request.path = call.query("path");
  request.user = call.query("user");
  return request;
}

Task<Result<Reply>> read_file(Call& call) {
  CO_TRY(SandboxCall inside, co_await enter(call));
  guest::ReadRequest request = file_request<guest::ReadRequest>(call);
  Result<Reply> reply = co_await send_file(inside, std::move(request));
  co_return reply;
}

// An archive cannot be redacted as it streams: names and sizes stand before the contents.
Task<Result<Reply>> read_tar(Call& call) {
  CO_TRY(SandboxCall inside, co_await enter(call));
  if (redacts_files(inside))
    co_return Error{
        Code::unsupported,
        "read a directory as tar: its files are to be redacted, which an archive cannot be",
        "read them one by one: GET …/files?path=…"};
  guest::PackRequest request = file_request<guest::PackRequest>(call);
  Result<Reply> reply = co_await send_archive(inside, std::move(request));
  co_return reply;
}

// The body goes to the guest as it comes; what the guest says at the end is the answer.
Task<Result<Reply>> upload(Call& call, Value request, const char* act) {
  CO_TRY(SandboxCall inside, co_await enter(call));
  UploadBody body(call.exchange, false);
  CO_TRY(Value made, co_await receive_file(inside, body, std::move(request), act));
  co_return Reply::json(200, shown_names(inside, std::move(made)));
}

Task<Result<Reply>> write_file(Call& call) {
  guest::WriteRequest request = file_request<guest::WriteRequest>(call);
  std::string mode = call.query("mode");
  bool octal = mode.size() <= 5 && mode.find_first_not_of("01234567") == std::string::npos;
  if (!octal) co_return Error{Code::invalid, "mode must be octal, as 755"};
  if (!mode.empty()) request.mode = static_cast<int64_t>(std::stoul(mode, nullptr, 8) & 07777);
  Value asked = guest::to_value(request);
  Result<Reply> reply = co_await upload(call, std::move(asked), "upload");
  co_return reply;
}

Task<Result<Reply>> write_tar(Call& call) {
  return upload(call, guest::to_value(file_request<guest::UnpackRequest>(call)), "unpack");
}

Task<Result<Reply>> remove(Call& call) {
  Value request = guest::to_value(file_request<guest::RemoveRequest>(call));
  return answer_from_guest(call, std::move(request), {.writes = "remove"});
}

Task<Result<Reply>> stat(Call& call) {
  Value request = guest::to_value(file_request<guest::StatRequest>(call));
  return answer_from_guest(call, std::move(request), {.names = true});
}

Task<Result<Reply>> list(Call& call) {
  CO_TRY(SandboxCall inside, co_await enter(call));
  guest::ListRequest request = file_request<guest::ListRequest>(call);
  request.depth = parse_digits(call.query("depth"), 5).value_or(1);
  Value (*as_it_is)(const Value&) = [](const Value& entry) { return entry; };
  Result<Reply> reply = co_await send_entries(inside, std::move(request), as_it_is);
  co_return reply;
}

// A member of the body that must be there.
std::string required(Fields& fields, const char* key) {
  std::optional<std::string> text = fields.text(key);
  if (!text) fields.wrong(key, "is missing");
  return text.value_or("");
}

Task<Result<Reply>> make_directory(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  guest::MakeDirectoryRequest request{.path = required(fields, "path"),
                                      .user = fields.text("user").value_or("")};
  CO_TRY_VOID(fields.done());
  Value asked = guest::to_value(request);
  AskOptions options{.writes = "mkdir", .names = true};
  Result<Reply> reply = co_await answer_from_guest(call, std::move(asked), options);
  co_return reply;
}

Task<Result<Reply>> move(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  guest::MoveRequest request{.source = required(fields, "source"),
                             .destination = required(fields, "destination"),
                             .user = fields.text("user").value_or("")};
  CO_TRY_VOID(fields.done());
  Value asked = guest::to_value(request);
  AskOptions options{.writes = "move", .names = true};
  Result<Reply> reply = co_await answer_from_guest(call, std::move(asked), options);
  co_return reply;
}

// Lines of JSON, the first of them {"type":"started"}, until the client goes.
Task<Result<Reply>> watch(Call& call) {
  CO_TRY(SandboxCall inside, co_await enter(call));
  guest::WatchRequest request = file_request<guest::WatchRequest>(call);
  request.recursive = call.asks("recursive");
  request.entries = call.asks("entries");
  GuestChannel channel(inside, guest::to_value(request));
  Channel::Item item = co_await channel->next();
  if (item.kind != Channel::Item::Kind::message) co_return channel.error(item);
  Headers headers{{"Content-Type", "application/x-ndjson"}};
  bool there = co_await call.exchange.begin(200, std::move(headers));
  std::string line = "{\"type\":\"started\"}\n";
  if (there) there = co_await call.exchange.write(line);
  while (there) {
    item = co_await channel->next();
    if (item.kind == Channel::Item::Kind::data) continue;
    if (item.kind != Channel::Item::Kind::message) break;
    line = to_json(shown_names(inside, std::move(item.value))) + "\n";
    there = co_await call.exchange.write(line);
  }
  (void)co_await call.exchange.finish();
  co_return Reply::sent();
}

}  // namespace

std::vector<Route> file_routes() {
  return {
      {"GET", "/v1/sandboxes/{id}/files", "sandboxes", read_file, "a file's bytes; ranges too",
       "path!,user", "", "bytes"},
      {"PUT", "/v1/sandboxes/{id}/files", "sandboxes", write_file,
       "write a file; directories above it are made", "path!,user,mode", "bytes", "OneEntry"},
      {"DELETE", "/v1/sandboxes/{id}/files", "sandboxes", remove,
       "remove a file or a directory with all in it", "path!,user"},
      {"GET", "/v1/sandboxes/{id}/files/stat", "sandboxes", stat, "what is known of a file",
       "path!,user", "", "OneEntry"},
      {"GET", "/v1/sandboxes/{id}/files/list", "sandboxes", list, "what is in a directory",
       "path!,user,depth", "", "Entries"},
      {"POST", "/v1/sandboxes/{id}/files/mkdir", "sandboxes", make_directory,
       "make a directory and those above it", "", "MakeDirectory", "OneEntry"},
      {"POST", "/v1/sandboxes/{id}/files/move", "sandboxes", move, "rename or move", "", "Move",
       "OneEntry"},
      {"GET", "/v1/sandboxes/{id}/files/watch", "sandboxes", watch,
       "what changes, as lines of JSON", "path!,user,recursive,entries", "", "lines:Change"},
      {"GET", "/v1/sandboxes/{id}/tar", "sandboxes", read_tar, "a directory as a tar stream",
       "path!,user", "", "tar"},
      {"PUT", "/v1/sandboxes/{id}/tar", "sandboxes", write_tar,
       "unpack a tar stream into a directory", "path!,user", "tar", "Unpacked"},
  };
}

}  // namespace paddock::api
