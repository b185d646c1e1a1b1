// GET /files: a file, or a part of it, as it comes from the guest.
#include <ctime>

#include "api/data_events.h"
#include "api/envd_files.h"
#include "base/text.h"

namespace paddock::api {
namespace {

using Kind = guest::Channel::Item::Kind;

std::string http_date(int64_t nanoseconds) {
  time_t seconds = nanoseconds / 1'000'000'000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  return std::string(text, strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts));
}

// The name for Content-Disposition: as RFC 6266 wants it when there is more in it than plain
// letters.
std::string disposition(const std::string& name) {
  bool plain = !name.empty();
  for (char c : name)
    plain = plain && (isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-');
  return plain ? cat("inline; filename=", name)
               : cat("inline; filename*=utf-8''", percent_encode(name));
}

// Whether the client takes bytes as they are: unless it says "identity;q=0", or "*;q=0" without
// naming identity.
bool takes_identity(std::string_view accepted) {
  bool takes = true, named = false;
  for (const std::string& entry : split(accepted, ',')) {
    std::string coding = join(words_in(entry), "");
    size_t semicolon = coding.find(';');
    std::string name = coding.substr(0, semicolon);
    std::string quality = semicolon == std::string::npos ? "" : coding.substr(semicolon + 1);
    bool refused =
        starts_with(quality, "q=0") && quality.find_first_not_of("q=0.") == std::string::npos;
    if (same_ignoring_case(name, "identity")) {
      takes = !refused;
      named = true;
    } else if (name == "*" && refused && !named) {
      takes = false;
    }
  }
  return takes;
}

struct Part {
  int status = 200;
  Headers headers;
  uint64_t offset = 0;
  std::optional<uint64_t> length;  // none: as long as it turns out to be
};

// What of the file is asked for, once it is known how long it is. A part of one that is redacted
// could begin in the middle of a secret: it is given whole.
Result<Part> choose_part(const Exchange& exchange, const Value& entry, bool redacts) {
  Part part;
  uint64_t size = static_cast<uint64_t>(number_field(entry, "size").value_or(0));
  std::string modified = http_date(number_field(entry, "modified_ns").value_or(0));
  part.headers = {{"Content-Type", "application/octet-stream"},
                  {"Content-Disposition", disposition(text_field(entry, "name"))},
                  {"Accept-Ranges", redacts ? "none" : "bytes"},
                  {"Last-Modified", modified},
                  {"Vary", "Accept-Encoding"}};
  // 0 is also what files say that are made while one reads them (/proc).
  if (size > 0 && !redacts) part.length = size;
  if (exchange.header("If-Modified-Since") == modified) {
    part.status = 304;
    return part;
  }
  if (redacts) return part;
  std::string condition = exchange.header("If-Range");
  if (!condition.empty() && condition != modified) return part;
  std::optional<ByteRange> range = TRY(parse_range(exchange.header("Range"), size));
  if (!range) return part;
  part.status = 206;
  part.offset = range->offset;
  part.length = range->length;
  part.headers.push_back({"Content-Range", cat("bytes ", range->offset, "-",
                                               range->offset + range->length - 1, "/", size)});
  return part;
}

Value read_request(const Envd& envd, const Part& part) {
  Value request = guest_request(envd, "read");
  request.set("path", envd.exchange.query("path").value_or(""));
  if (part.offset > 0) request.set("offset", part.offset);
  if (part.status == 206 && part.length) request.set("length", *part.length);
  return request;
}

// Passes data on until `part` is complete. Cut in the middle when the file turned out shorter than
// was announced.
io::Task<void> pass_on(Envd& envd, std::shared_ptr<guest::Channel> channel, Part part,
                       bool redacts) {
  Tie tie(envd, channel);
  FileRedaction redaction(envd.sandbox->redaction(), redacts);
  uint64_t passed = 0;
  bool begun = false;
  while (true) {
    guest::Channel::Item item = co_await channel->next();
    if (item.kind == Kind::failed) {
      Error error = guest_error(envd, tie, item);
      if (envd.exchange.answered())
        envd.exchange.cut();
      else
        co_await answer_file_error(envd, error);
      co_return;
    }
    if (item.kind == Kind::message) continue;
    if (!begun) {
      if (item.kind == Kind::end && !part.length) part.length = 0;
      begun = co_await envd.exchange.begin(part.status, part.headers, part.length);
      if (!begun) co_return;
    }
    bool last = item.kind == Kind::end;
    if (last && !redacts) break;
    std::string_view piece = last ? redaction.finish() : redaction.feed(item.bytes);
    if (part.length) piece = piece.substr(0, *part.length - passed);
    passed += piece.size();
    bool sent = true;
    if (!piece.empty()) sent = co_await envd.exchange.write(piece);
    if (!sent) co_return;
    if (last || (part.length && passed == *part.length)) break;
  }
  Value fields = file_fields(read_request(envd, part));
  fields.set("bytes", passed);
  note_read(envd.call, *envd.sandbox, std::move(fields), redaction.counts());
  if (part.length && passed < *part.length)
    envd.exchange.cut();
  else
    (void)co_await envd.exchange.finish();
}

// Opens the file and waits for what the guest says of it.
io::Task<Result<Value>> entry_of(Envd& envd, std::shared_ptr<guest::Channel> channel) {
  Tie tie(envd, channel);
  guest::Channel::Item item = co_await channel->next();
  if (item.kind == Kind::failed) co_return guest_error(envd, tie, item);
  const Value* entry = item.value.find("entry");
  if (item.kind != Kind::message || !entry)
    co_return Error{Code::io, "read a file: the guest did not say what it is", "internal"};
  co_return *entry;
}

}  // namespace

io::Task<void> download_file(Envd& envd) {
  if (!takes_identity(envd.exchange.header("Accept-Encoding"))) {
    Value body = Value::Object{{"code", 406},
                               {"message", "no acceptable encoding: a file is given as it is"}};
    (void)co_await envd.exchange.answer_json(406, body);
    co_return;
  }
  Part whole;
  Value request = read_request(envd, whole);
  std::shared_ptr<guest::Channel> channel = envd.guest->open(request);
  Result<Value> entry = co_await entry_of(envd, channel);
  if (!entry) {
    co_await answer_file_error(envd, entry.error());
    co_return;
  }
  bool redacts = redacts_files(envd.call, *envd.sandbox);
  entry = shown_names(envd.call, *envd.sandbox, std::move(entry).value());
  Result<Part> part = choose_part(envd.exchange, entry.value(), redacts);
  if (!part) {
    Headers headers = {
        {"Content-Range", cat("bytes */", number_field(entry.value(), "size").value_or(0))},
        {"Content-Type", "application/json"}};
    std::string body = to_json(Value::Object{{"code", 416}, {"message", part.error().message}});
    (void)co_await envd.exchange.answer(416, headers, body);
    co_return;
  }
  if (part.value().status == 304) {
    (void)co_await envd.exchange.answer(304, part.value().headers, "");
    co_return;
  }
  if (part.value().status == 206) {
    request = read_request(envd, part.value());
    channel = envd.guest->open(request);
  }
  co_await pass_on(envd, channel, part.value(), redacts);
}

}  // namespace paddock::api
