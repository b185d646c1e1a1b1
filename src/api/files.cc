// Native API: files of a sandbox, streamed both ways.
#include <algorithm>

#include "api/all_routes.h"
#include "api/data_events.h"
#include "api/envd_files.h"
#include "api/guest_call.h"
#include "base/fields.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using guest::Channel;
using io::Task;

constexpr io::Milliseconds kAskTime = 60'000;

Value file_request(const Call& call, const char* operation) {
  Value request;
  request.set("op", operation);
  request.set("path", call.exchange.query("path").value_or(""));
  std::optional<std::string> user = call.exchange.query("user");
  if (user && !user->empty()) request.set("user", *user);
  return request;
}

uint64_t size_of(const Value& message) {
  const Value* entry = message.find("entry");
  const Value* size = entry ? entry->find("size") : nullptr;
  return size && size->as_int() && *size->as_int() > 0 ? static_cast<uint64_t>(*size->as_int()) : 0;
}

Error error_of(const Channel::Item& item) {
  if (item.kind == Channel::Item::Kind::failed) return from_guest(item.error);
  return Error{Code::internal, "the guest gave another answer than was asked for", ""};
}

Task<void> answer_guest_error(Call& call, const Channel::Item& item) {
  Error error = error_of(item);
  if (!call.exchange.answered()) co_await answer_error(call, error);
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
    if (item.kind != Channel::Item::Kind::end) co_return error_of(item);
    break;
  }
  if (there) there = co_await call.exchange.write(redaction.finish());
  if (there) (void)co_await call.exchange.finish();
  co_return std::nullopt;
}

Task<void> read_file(Call& call) {
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return;
  Value request = file_request(call, "read");
  std::optional<ByteRange> range;
  uint64_t whole = 0;
  bool redacts = redacts_files(call, *inside->sandbox);
  // A part of what is redacted could begin in the middle of a secret: it is given whole.
  if (!redacts && !call.exchange.header("Range").empty()) {
    Value asked = file_request(call, "stat");
    io::Milliseconds deadline = call.manager.loop().now() + kAskTime;
    Result<Value> entry = co_await inside->guest->ask(std::move(asked), deadline);
    if (!entry) {
      Error error = from_guest(entry.error());
      co_await answer_error(call, error);
      co_return;
    }
    whole = size_of(entry.value());
    Result<std::optional<ByteRange>> parsed = parse_range(call.exchange.header("Range"), whole);
    if (!parsed) {
      Headers headers{{"Content-Range", cat("bytes */", whole)},
                      {"Content-Type", "application/json"}};
      std::string body =
          R"({"code":416,"message":"nothing of the file lies in this range","error":"invalid","hint":""})";
      (void)co_await call.exchange.answer(416, std::move(headers), std::move(body));
      co_return;
    }
    range = parsed.value();
  }
  if (range) {
    request.set("offset", range->offset);
    request.set("length", range->length);
  }
  std::shared_ptr<Channel> channel = inside->guest->open(request);
  std::shared_ptr<void> watched = cancel_with(*inside, channel);
  Channel::Item first = co_await channel->next();
  if (first.kind != Channel::Item::Kind::message) {
    co_await answer_guest_error(call, first);
    co_return;
  }
  Headers headers{{"Content-Type", "application/octet-stream"},
                  {"Accept-Ranges", redacts ? "none" : "bytes"}};
  if (range)
    headers.push_back({"Content-Range", cat("bytes ", range->offset, "-",
                                            range->offset + range->length - 1, "/", whole)});
  // Files of /proc say that they are empty and are not.
  std::optional<uint64_t> length;
  if (range)
    length = range->length;
  else if (size_of(first.value) > 0 && !redacts)
    length = size_of(first.value);
  call.exchange.on_client_gone([channel] { channel->cancel(); });
  int status = range ? 206 : 200;
  bool there = co_await call.exchange.begin(status, std::move(headers), length);
  FileRedaction redaction(call.redaction, redacts);
  std::optional<Error> broken;
  if (there) broken = co_await relay(call, channel, length, redaction);
  Value fields = file_fields(request);
  if (broken) fields.set("error", broken->message);
  fields.set("bytes", range ? range->length : size_of(first.value));
  note_read(call, *inside->sandbox, std::move(fields), redaction.counts());
}

Task<void> read_tar(Call& call) {
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return;
  if (redacts_files(call, *inside->sandbox)) {
    Error error{Code::unsupported,
                "read a directory as tar: its files are to be redacted, which an archive cannot be",
                "read them one by one: GET …/files?path=…"};
    co_await answer_error(call, error);
    co_return;
  }
  Value request = file_request(call, "pack");
  std::shared_ptr<Channel> channel = inside->guest->open(request);
  std::shared_ptr<void> watched = cancel_with(*inside, channel);
  Channel::Item first = co_await channel->next();
  if (first.kind == Channel::Item::Kind::failed || first.kind == Channel::Item::Kind::late) {
    co_await answer_guest_error(call, first);
    co_return;
  }
  call.exchange.on_client_gone([channel] { channel->cancel(); });
  Headers headers{{"Content-Type", "application/x-tar"}};
  bool there = co_await call.exchange.begin(200, std::move(headers));
  if (there && first.kind == Channel::Item::Kind::data)
    there = co_await call.exchange.write(first.bytes);
  if (!there) co_return;
  FileRedaction as_it_is(nullptr, false);
  std::optional<Error> broken;
  if (first.kind == Channel::Item::Kind::end)
    (void)co_await call.exchange.finish();
  else
    broken = co_await relay(call, channel, std::nullopt, as_it_is);
  Value fields = file_fields(request);
  if (broken) fields.set("error", broken->message);
  fields.set("tar", true);
  note_read(call, *inside->sandbox, std::move(fields), {});
}

// The body goes to the guest as it comes; what the guest says at the end is the answer.
Task<void> upload(Call& call, Value request, const char* act) {
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return;
  Value fields = file_fields(request);
  if (call.exchange.head().body.kind == net::Body::Kind::length)
    fields.set("bytes", call.exchange.head().body.length);
  Result<void> recorded = co_await record_write(call, inside->sandbox, act, std::move(fields));
  if (!recorded) {
    co_await answer_error(call, recorded.error());
    co_return;
  }
  std::shared_ptr<Channel> channel = inside->guest->open(request);
  std::shared_ptr<void> watched = cancel_with(*inside, channel);
  while (true) {
    Result<std::string> piece = co_await call.exchange.read();
    if (!piece) {
      channel->cancel();  // half a file is none
      co_await answer_error(call, piece.error());
      co_return;
    }
    if (piece.value().empty()) break;
    bool sent = co_await channel->send(piece.value());
    if (!sent) break;  // the guest has said why
  }
  channel->end_input();
  Channel::Item last;
  do {
    last = co_await channel->next();
  } while (last.kind == Channel::Item::Kind::message || last.kind == Channel::Item::Kind::data);
  if (last.kind != Channel::Item::Kind::end) {
    co_await answer_guest_error(call, last);
    co_return;
  }
  Value answer = shown_names(call, *inside->sandbox, std::move(last.value));
  (void)co_await call.exchange.answer_json(200, std::move(answer));
}

Task<void> write_file(Call& call) {
  Value request = file_request(call, "write");
  std::string mode = call.exchange.query("mode").value_or("");
  bool octal =
      !mode.empty() && mode.size() <= 5 && mode.find_first_not_of("01234567") == std::string::npos;
  if (!mode.empty() && !octal) {
    Error error{Code::invalid, "mode must be octal, as 755", ""};
    co_await answer_error(call, error);
    co_return;
  }
  if (octal) request.set("mode", static_cast<int64_t>(std::stoul(mode, nullptr, 8) & 07777));
  co_await upload(call, std::move(request), "upload");
}

Task<void> write_tar(Call& call) {
  Value request = file_request(call, "unpack");
  co_await upload(call, std::move(request), "unpack");
}

Task<void> remove(Call& call) {
  Value request = file_request(call, "remove");
  AskOptions options{.writes = "remove"};
  co_await answer_from_guest(call, std::move(request), options);
}

Task<void> stat(Call& call) {
  Value request = file_request(call, "stat");
  AskOptions options{.names = true};
  co_await answer_from_guest(call, std::move(request), options);
}

Task<void> list(Call& call) {
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return;
  Value request = file_request(call, "list");
  std::string depth = call.exchange.query("depth").value_or("1");
  bool number = !depth.empty() && depth.size() < 6 &&
                depth.find_first_not_of("0123456789") == std::string::npos;
  request.set("depth", number ? static_cast<int64_t>(std::stoul(depth)) : int64_t{1});
  std::shared_ptr<Channel> channel = inside->guest->open(request);
  std::shared_ptr<void> watched = cancel_with(*inside, channel);
  bool begun = false, redacts = redacts_files(call, *inside->sandbox);
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
      if (!there) co_return;
      continue;
    }
    if (item.kind != Channel::Item::Kind::end) {
      co_await answer_guest_error(call, item);
      co_return;
    }
    break;
  }
  text += "]}";
  if (begun) {
    (void)co_await call.exchange.write(text);
    (void)co_await call.exchange.finish();
    co_return;
  }
  Headers headers{{"Content-Type", "application/json"}};
  (void)co_await call.exchange.answer(200, std::move(headers), std::move(text));
}

// {"path"} or {"source","destination"} in the body, with "user".
Task<void> ask_by_body(Call& call, const char* operation, std::vector<std::string> keys,
                       const char* act) {
  Result<Value> body = co_await call.exchange.read_json();
  Result<void> read;
  Value request;
  request.set("op", operation);
  if (body) {
    Fields fields(body.value());
    for (const std::string& key : keys) {
      std::optional<std::string> text = fields.text(key);
      if (!text) fields.wrong(key, "is missing");
      request.set(key, text.value_or(""));
    }
    std::optional<std::string> user = fields.text("user");
    if (user) request.set("user", *user);
    read = fields.done();
  } else {
    read = body.error();
  }
  if (!read) {
    co_await answer_error(call, read.error());
    co_return;
  }
  AskOptions options{.writes = act, .names = true};
  co_await answer_from_guest(call, std::move(request), options);
}

Task<void> make_directory(Call& call) {
  std::vector<std::string> keys{"path"};
  co_await ask_by_body(call, "make_directory", std::move(keys), "mkdir");
}

Task<void> move(Call& call) {
  std::vector<std::string> keys{"source", "destination"};
  co_await ask_by_body(call, "move", std::move(keys), "move");
}

// Lines of JSON, the first of them {"type":"started"}, until the client goes.
Task<void> watch(Call& call) {
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return;
  Value request = file_request(call, "watch");
  request.set("recursive", call.exchange.query("recursive").value_or("") == "1");
  request.set("entries", call.exchange.query("entries").value_or("") == "1");
  bool redacts = redacts_files(call, *inside->sandbox);
  std::shared_ptr<Channel> channel = inside->guest->open(request);
  std::shared_ptr<void> watched = cancel_with(*inside, channel);
  Channel::Item first = co_await channel->next();
  if (first.kind != Channel::Item::Kind::message) {
    co_await answer_guest_error(call, first);
    co_return;
  }
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
