// GET /files: a file, or a part of it, as it comes from the guest.
#include <ctime>

#include "api/e2b/envd_files.h"
#include "api/http/range.h"
#include "api/native/in_sandbox.h"
#include "base/error_table.h"
#include "base/percent.h"
#include "base/text.h"

namespace paddock::api {
namespace {

using ItemKind = guest::Channel::Item::Kind;

// As Last-Modified has it.
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
  part.headers.push_back({"Content-Range", content_range(*range, size)});
  return part;
}

// The guest's request for a part of the file that the query names.
Value read_request(const Envd& envd, const Part& part) {
  Value request = guest_request(envd, "read");
  request.set("path", envd.call.query("path"));
  if (part.offset > 0) request.set("offset", part.offset);
  if (part.status == 206 && part.length) request.set("length", *part.length);
  return request;
}

// Passes data on until `part` is complete. Cut in the middle when the file turned out shorter than
// was announced.
io::Task<Result<Reply>> pass_on(Envd& envd, std::shared_ptr<guest::Channel> channel, Part part,
                                bool redacts) {
  Tie tie(envd, channel);
  FileRedaction redaction(envd.sandbox->redaction(), redacts);
  uint64_t passed = 0;
  bool begun = false, last = false;
  while (!last && !(begun && part.length && passed == *part.length)) {
    guest::Channel::Item item = co_await channel->next();
    if (item.kind == ItemKind::failed) {
      if (!envd.exchange.answered()) co_return guest_error(envd, tie, item);
      envd.exchange.cut();
      co_return Reply::sent();
    }
    if (item.kind == ItemKind::message) continue;
    last = item.kind == ItemKind::end;
    if (!begun) {
      if (last && !part.length) part.length = 0;
      begun = co_await envd.exchange.begin(part.status, part.headers, part.length);
      if (!begun) co_return Reply::sent();
    }
    if (last && !redacts) break;
    std::string_view piece = last ? redaction.finish() : redaction.feed(item.bytes);
    if (part.length) piece = piece.substr(0, *part.length - passed);
    passed += piece.size();
    bool sent = true;
    if (!piece.empty()) sent = co_await envd.exchange.write(piece);
    if (!sent) co_return Reply::sent();
  }
  Value fields = file_fields(read_request(envd, part));
  fields.set("bytes", passed);
  note_read(envd.call, *envd.sandbox, std::move(fields), redaction.counts());
  if (part.length && passed < *part.length)
    envd.exchange.cut();
  else
    (void)co_await envd.exchange.finish();
  co_return Reply::sent();
}

// Opens the file and waits for what the guest says of it.
io::Task<Result<Value>> entry_of(Envd& envd, std::shared_ptr<guest::Channel> channel) {
  Tie tie(envd, channel);
  guest::Channel::Item item = co_await channel->next();
  if (item.kind == ItemKind::failed) co_return guest_error(envd, tie, item);
  const Value* entry = item.value.find("entry");
  if (item.kind != ItemKind::message || !entry)
    co_return Error{Code::io, "read a file: the guest did not say what it is"};
  co_return *entry;
}

}  // namespace

Reply file_error(Envd& envd, const Error& error) {
  note_failure(envd.call, error);
  if (error.kind == Kind::gone) return gone_reply(envd.exchange, envd.sandbox->info().id);
  int status = connect_status(error) == 429 ? 507 : connect_status(error);
  return refusal(status, redact::redacted(*envd.sandbox->redaction(), error.message));
}

io::Task<Result<Reply>> download_file(Envd& envd) {
  if (!takes_identity(envd.exchange.header("Accept-Encoding")))
    co_return refusal(406, "no acceptable encoding: a file is given as it is");
  Part whole;
  Value request = read_request(envd, whole);
  std::shared_ptr<guest::Channel> channel = envd.guest->open(request);
  CO_TRY(Value entry, co_await entry_of(envd, channel));
  bool redacts = redacts_files(envd.call, *envd.sandbox);
  entry = shown_names(envd.call, *envd.sandbox, std::move(entry));
  Result<Part> part = choose_part(envd.exchange, entry, redacts);
  if (!part) {
    uint64_t size = static_cast<uint64_t>(number_field(entry, "size").value_or(0));
    co_return refusal(416, part.error().message).with("Content-Range", unsatisfied_range(size));
  }
  if (part.value().status == 304) co_return Reply{304, part.value().headers, ""};
  if (part.value().status == 206) {
    request = read_request(envd, part.value());
    channel = envd.guest->open(request);
  }
  Result<Reply> reply = co_await pass_on(envd, channel, part.value(), redacts);
  co_return reply;
}

}  // namespace paddock::api
