// Native API: files of a sandbox, streamed both ways.
#include <algorithm>

#include "api/http/all_routes.h"
#include "api/http/range.h"
#include "api/native/describe.h"
#include "api/native/in_sandbox.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using guest::Channel;
using io::Task;

constexpr io::Milliseconds kAskTime = 60'000;

// A request to the guest about the path and user that the query names.
Value file_request(const Call& call, const char* operation) {
  Value request;
  request.set("op", operation);
  request.set("path", call.query("path"));
  if (std::string user = call.query("user"); !user.empty()) request.set("user", user);
  return request;
}

// The size of the entry in a guest's message; 0 when it has none.
uint64_t size_of(const Value& message) {
  const Value* entry = message.find("entry");
  const Value* size = entry ? entry->find("size") : nullptr;
  return size && size->as_int() && *size->as_int() > 0 ? static_cast<uint64_t>(*size->as_int()) : 0;
}

// What comes on a channel, to the client, until it ends. At most `length` bytes where that was
// announced. Why it is not whole, where that is not because the client went: the status has been
// sent, so that the connection can only be cut.
Task<std::optional<Error>> relay(Call& call, std::shared_ptr<Channel> channel,
                                 std::optional<uint64_t> length, FileRedaction& redaction) {
  uint64_t left = length.value_or(UINT64_MAX);
  bool there = true;
  while (there && left > 0) {
    Channel::Item item = co_await channel->next();
    if (item.kind == Channel::Item::Kind::message) continue;
    if (item.kind == Channel::Item::Kind::data) {
      std::string_view piece =
          std::string_view(item.bytes)
              .substr(0, static_cast<size_t>(std::min<uint64_t>(left, item.bytes.size())));
      left -= piece.size();
      there = co_await call.exchange.write(redaction.feed(piece));
      continue;
    }
    if (item.kind != Channel::Item::Kind::end) co_return unexpected(item);
    break;
  }
  if (there) there = co_await call.exchange.write(redaction.finish());
  if (there) (void)co_await call.exchange.finish();
  co_return std::nullopt;
}

// Which part of a file is asked for. It is asked how long the file is before it is read.
struct Part {
  std::optional<ByteRange> range;
  uint64_t whole = 0;
  bool unsatisfied = false;
};

Task<Result<Part>> choose_part(Call& call, RunningSandbox inside) {
  Part part;
  std::string header = call.exchange.header("Range");
  // A part of what is redacted could begin in the middle of a secret: it is given whole.
  if (header.empty() || redacts_files(call, *inside.sandbox)) co_return part;
  Value asked = file_request(call, "stat");
  io::Milliseconds deadline = call.manager.loop().now() + kAskTime;
  Result<Value> entry = co_await inside.guest->ask(std::move(asked), deadline);
  if (!entry) co_return from_guest(entry.error());
  part.whole = size_of(entry.value());
  Result<std::optional<ByteRange>> range = parse_range(header, part.whole);
  part.unsatisfied = !range;
  if (range) part.range = range.value();
  co_return part;
}

Task<Result<Reply>> read_file(Call& call) {
  CO_TRY(RunningSandbox inside, co_await enter(call));
  CO_TRY(Part part, co_await choose_part(call, inside));
  Error outside{Code::invalid, "nothing of the file lies in this range"};
  if (part.unsatisfied)
    co_return Reply::json(416, describe_error(outside, 416))
        .with("Content-Range", unsatisfied_range(part.whole));
  Value request = file_request(call, "read");
  if (part.range) request.set("offset", part.range->offset);
  if (part.range) request.set("length", part.range->length);
  std::shared_ptr<Channel> channel = inside.guest->open(request);
  std::shared_ptr<void> watched = cancel_with(inside, channel);
  Channel::Item first = co_await channel->next();
  if (first.kind != Channel::Item::Kind::message) co_return unexpected(first);
  bool redacts = redacts_files(call, *inside.sandbox);
  Headers headers{{"Content-Type", "application/octet-stream"},
                  {"Accept-Ranges", redacts ? "none" : "bytes"}};
  if (part.range) headers.push_back({"Content-Range", content_range(*part.range, part.whole)});
  uint64_t size = part.range ? part.range->length : size_of(first.value);
  // Files of /proc say that they are empty and are not.
  std::optional<uint64_t> length;
  if (part.range || (size > 0 && !redacts)) length = size;
  call.exchange.on_client_gone([channel] { channel->cancel(); });
  int status = part.range ? 206 : 200;
  bool there = co_await call.exchange.begin(status, std::move(headers), length);
  FileRedaction redaction(call.redaction, redacts);
  std::optional<Error> broken;
  if (there) broken = co_await relay(call, channel, length, redaction);
  Value fields = file_fields(request);
  if (broken) fields.set("error", broken->message);
  fields.set("bytes", size);
  note_read(call, *inside.sandbox, std::move(fields), redaction.counts());
  co_return Reply::sent();
}

Task<Result<Reply>> read_tar(Call& call) {
  CO_TRY(RunningSandbox inside, co_await enter(call));
  if (redacts_files(call, *inside.sandbox))
    co_return Error{
        Code::unsupported,
        "read a directory as tar: its files are to be redacted, which an archive cannot be",
        "read them one by one: GET …/files?path=…"};
  Value request = file_request(call, "pack");
  std::shared_ptr<Channel> channel = inside.guest->open(request);
  std::shared_ptr<void> watched = cancel_with(inside, channel);
  Channel::Item first = co_await channel->next();
  if (first.kind == Channel::Item::Kind::failed || first.kind == Channel::Item::Kind::late)
    co_return unexpected(first);
  call.exchange.on_client_gone([channel] { channel->cancel(); });
  Headers headers{{"Content-Type", "application/x-tar"}};
  bool there = co_await call.exchange.begin(200, std::move(headers));
  if (there && first.kind == Channel::Item::Kind::data)
    there = co_await call.exchange.write(first.bytes);
  if (!there) co_return Reply::sent();
  FileRedaction as_it_is(nullptr, false);
  std::optional<Error> broken;
  if (first.kind == Channel::Item::Kind::end)
    (void)co_await call.exchange.finish();
  else
    broken = co_await relay(call, channel, std::nullopt, as_it_is);
  Value fields = file_fields(request);
  if (broken) fields.set("error", broken->message);
  fields.set("tar", true);
  note_read(call, *inside.sandbox, std::move(fields), {});
  co_return Reply::sent();
}

// The body goes to the guest as it comes; what the guest says at the end is the answer.
Task<Result<Reply>> upload(Call& call, Value request, const char* act) {
  CO_TRY(RunningSandbox inside, co_await enter(call));
  Value fields = file_fields(request);
  if (call.exchange.head().body.kind == net::Body::Kind::length)
    fields.set("bytes", call.exchange.head().body.length);
  CO_TRY_VOID(co_await record_write(call, inside.sandbox, act, std::move(fields)));
  std::shared_ptr<Channel> channel = inside.guest->open(request);
  std::shared_ptr<void> watched = cancel_with(inside, channel);
  while (true) {
    Result<std::string> piece = co_await call.exchange.read();
    if (!piece) channel->cancel();  // half a file is none
    if (!piece) co_return piece.error();
    if (piece.value().empty()) break;
    bool sent = co_await channel->send(piece.value());
    if (!sent) break;  // the guest has said why
  }
  channel->end_input();
  Channel::Item last;
  do {
    last = co_await channel->next();
  } while (last.kind == Channel::Item::Kind::message || last.kind == Channel::Item::Kind::data);
  if (last.kind != Channel::Item::Kind::end) co_return unexpected(last);
  co_return Reply::json(200, shown_names(call, *inside.sandbox, std::move(last.value)));
}

Task<Result<Reply>> write_file(Call& call) {
  Value request = file_request(call, "write");
  std::string mode = call.query("mode");
  bool octal = mode.size() <= 5 && mode.find_first_not_of("01234567") == std::string::npos;
  if (!octal) co_return Error{Code::invalid, "mode must be octal, as 755"};
  if (!mode.empty())
    request.set("mode", static_cast<int64_t>(std::stoul(mode, nullptr, 8) & 07777));
  Result<Reply> reply = co_await upload(call, std::move(request), "upload");
  co_return reply;
}

Task<Result<Reply>> write_tar(Call& call) {
  return upload(call, file_request(call, "unpack"), "unpack");
}

Task<Result<Reply>> remove(Call& call) {
  return answer_from_guest(call, file_request(call, "remove"), {.writes = "remove"});
}

Task<Result<Reply>> stat(Call& call) {
  return answer_from_guest(call, file_request(call, "stat"), {.names = true});
}

Task<Result<Reply>> list(Call& call) {
  CO_TRY(RunningSandbox inside, co_await enter(call));
  Value request = file_request(call, "list");
  std::string depth = call.exchange.query("depth").value_or("1");
  bool number = !depth.empty() && depth.size() < 6 &&
                depth.find_first_not_of("0123456789") == std::string::npos;
  request.set("depth", number ? static_cast<int64_t>(std::stoul(depth)) : int64_t{1});
  std::shared_ptr<Channel> channel = inside.guest->open(request);
  std::shared_ptr<void> watched = cancel_with(inside, channel);
  bool begun = false, redacts = redacts_files(call, *inside.sandbox);
  std::string text = "{\"entries\":[";
  bool first = true;
  while (true) {
    Channel::Item item = co_await channel->next();
    if (item.kind == Channel::Item::Kind::message) {
      const Value* entries = item.value.find("entries");
      if (!entries || !entries->as_array()) continue;
      for (const Value& entry : *entries->as_array()) {
        text += cat(first ? "" : ",",
                    to_json(redacts ? redact::redacted(*call.redaction, entry) : entry));
        first = false;
      }
      if (text.size() < (256 << 10)) continue;
      Headers headers{{"Content-Type", "application/json"}};
      bool there = begun;
      if (!begun) there = co_await call.exchange.begin(200, std::move(headers));
      begun = true;
      if (there) there = co_await call.exchange.write(text);
      text.clear();
      if (!there) co_return Reply::sent();
      continue;
    }
    if (item.kind != Channel::Item::Kind::end) co_return unexpected(item);
    break;
  }
  text += "]}";
  if (!begun) co_return Reply::text(200, "application/json", std::move(text));
  (void)co_await call.exchange.write(text);
  (void)co_await call.exchange.finish();
  co_return Reply::sent();
}

// {"path"} or {"source","destination"} in the body, with "user".
Task<Result<Reply>> ask_by_body(Call& call, const char* operation, std::vector<std::string> keys,
                                const char* act) {
  CO_TRY(Fields fields, co_await call.fields());
  Value request = Value::Object{{"op", operation}};
  for (const std::string& key : keys) {
    std::optional<std::string> text = fields.text(key);
    if (!text) fields.wrong(key, "is missing");
    request.set(key, text.value_or(""));
  }
  std::optional<std::string> user = fields.text("user");
  if (user) request.set("user", *user);
  CO_TRY_VOID(fields.done());
  AskOptions options{.writes = act, .names = true};
  Result<Reply> reply = co_await answer_from_guest(call, std::move(request), options);
  co_return reply;
}

Task<Result<Reply>> make_directory(Call& call) {
  return ask_by_body(call, "make_directory", {"path"}, "mkdir");
}

Task<Result<Reply>> move(Call& call) {
  return ask_by_body(call, "move", {"source", "destination"}, "move");
}

// Lines of JSON, the first of them {"type":"started"}, until the client goes.
Task<Result<Reply>> watch(Call& call) {
  CO_TRY(RunningSandbox inside, co_await enter(call));
  Value request = file_request(call, "watch");
  request.set("recursive", call.asks("recursive"));
  request.set("entries", call.asks("entries"));
  bool redacts = redacts_files(call, *inside.sandbox);
  std::shared_ptr<Channel> channel = inside.guest->open(request);
  std::shared_ptr<void> watched = cancel_with(inside, channel);
  Channel::Item first = co_await channel->next();
  if (first.kind != Channel::Item::Kind::message) co_return unexpected(first);
  call.exchange.on_client_gone([channel] { channel->cancel(); });
  Headers headers{{"Content-Type", "application/x-ndjson"}};
  bool there = co_await call.exchange.begin(200, std::move(headers));
  std::string line = "{\"type\":\"started\"}\n";
  if (there) there = co_await call.exchange.write(line);
  while (there) {
    Channel::Item item = co_await channel->next();
    if (item.kind == Channel::Item::Kind::data) continue;
    if (item.kind != Channel::Item::Kind::message) break;
    line = to_json(redacts ? redact::redacted(*call.redaction, item.value) : item.value) + "\n";
    there = co_await call.exchange.write(line);
  }
  (void)co_await call.exchange.finish();
  co_return Reply::sent();
}

}  // namespace

const std::vector<Route>& file_routes() {
  static const std::vector<Route> routes = {
      {"GET", "/v1/sandboxes/{id}/files", "sandboxes", read_file, "a file's bytes; ranges too"},
      {"PUT", "/v1/sandboxes/{id}/files", "sandboxes", write_file,
       "write a file; directories above it are made"},
      {"DELETE", "/v1/sandboxes/{id}/files", "sandboxes", remove,
       "remove a file or a directory with all in it"},
      {"GET", "/v1/sandboxes/{id}/files/stat", "sandboxes", stat, "what is known of a file"},
      {"GET", "/v1/sandboxes/{id}/files/list", "sandboxes", list, "what is in a directory"},
      {"POST", "/v1/sandboxes/{id}/files/mkdir", "sandboxes", make_directory,
       "make a directory and those above it"},
      {"POST", "/v1/sandboxes/{id}/files/move", "sandboxes", move, "rename or move"},
      {"GET", "/v1/sandboxes/{id}/files/watch", "sandboxes", watch,
       "what changes, as lines of JSON"},
      {"GET", "/v1/sandboxes/{id}/tar", "sandboxes", read_tar, "a directory as a tar stream"},
      {"PUT", "/v1/sandboxes/{id}/tar", "sandboxes", write_tar,
       "unpack a tar stream into a directory"},
  };
  return routes;
}

}  // namespace paddock::api
