#include "api/native/sandbox_file.h"

#include "api/http/range.h"
#include "api/native/describe.h"
#include "base/instant.h"
#include "base/percent.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using io::Task;
using ItemKind = guest::Channel::Item::Kind;

// A list that is shorter than this is answered in one piece by the native API.
constexpr size_t kShortList = 256 << 10;

// The name for Content-Disposition: as RFC 6266 wants it when there is more in it than plain
// letters.
std::string disposition(const std::string& name) {
  bool plain = !name.empty();
  for (char c : name)
    plain = plain && (isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-');
  return plain ? cat("inline; filename=", name)
               : cat("inline; filename*=utf-8''", percent_encode(name));
}

// What is answered with, once it is known what the file is.
struct Part {
  int status = 200;
  Headers headers;
  std::optional<ByteRange> range;  // with a 206
  std::optional<uint64_t> length;  // none: as long as it turns out to be
  bool redacts = false;
  bool is_archive = false;
};

// What of the file is asked for. A part of one that is redacted could begin in the middle of a
// secret: it is given whole. The error arm: nothing of the file lies in the range.
Result<Part> choose_part(const SandboxCall& inside, const Value& entry) {
  const Exchange& exchange = inside.exchange();
  Part part;
  part.redacts = redacts_files(inside);
  uint64_t size = count_in(entry, "size");
  std::string modified = http_date(number_in(entry, "modified_ns") / 1'000'000'000);
  part.headers = {{"Content-Type", "application/octet-stream"}};
  if (inside.is_envd())
    part.headers.push_back({"Content-Disposition", disposition(text_in(entry, "name"))});
  part.headers.push_back({"Accept-Ranges", part.redacts ? "none" : "bytes"});
  // 0 is also what files say that are made while one reads them (/proc).
  if (size > 0 && !part.redacts) part.length = size;
  if (inside.is_envd()) {
    part.headers.push_back({"Last-Modified", modified});
    part.headers.push_back({"Vary", "Accept-Encoding"});
    if (exchange.header("If-Modified-Since") == modified) part.status = 304;
    std::string condition = exchange.header("If-Range");
    if (part.status == 304 || (!condition.empty() && condition != modified)) return part;
  }
  if (part.redacts) return part;
  part.range = TRY(parse_range(exchange.header("Range"), size));
  if (!part.range) return part;
  part.status = 206;
  part.length = part.range->length;
  part.headers.push_back({"Content-Range", content_range(*part.range, size)});
  return part;
}

// 416, with the size that a client could ask for.
Reply unsatisfiable(const SandboxCall& inside, const Error& why, uint64_t size) {
  Reply reply =
      inside.is_envd() ? refusal(416, why.message) : Reply::json(416, describe_error(why, 416));
  return std::move(reply).with("Content-Range", unsatisfied_range(size));
}

// Passes the data of a channel on as the answer, and notes what was read (`fields`). The status is
// sent with the first of the data; when that turns out not to be whole, the connection can only be
// cut.
Task<Result<Reply>> pass_on(const SandboxCall& inside, GuestChannel& channel, Part part,
                            Value fields) {
  Exchange& exchange = inside.exchange();
  FileRedaction redaction(inside.sandbox->redaction(), part.redacts);
  uint64_t passed = 0;
  bool there = true, last = false;
  std::optional<Error> broken;
  while (there && !last && !(exchange.answered() && passed == part.length)) {
    guest::Channel::Item item = co_await channel->next();
    if (item.kind == ItemKind::message) continue;
    if (item.kind != ItemKind::data && item.kind != ItemKind::end) {
      broken = channel.error(item);
      if (!exchange.answered()) co_return *broken;
      break;
    }
    last = item.kind == ItemKind::end;
    if (!exchange.answered()) {
      if (last && !part.length && inside.is_envd()) part.length = 0;
      there = co_await exchange.begin(part.status, part.headers, part.length);
    }
    std::string_view piece = last ? redaction.finish() : redaction.feed(item.bytes);
    if (part.length) piece = piece.substr(0, *part.length - passed);
    if (there) there = co_await exchange.write(piece);
    if (there) passed += piece.size();
  }
  if (broken) fields.set("error", broken->message);
  if (part.is_archive)
    fields.set("tar", true);
  else
    fields.set("bytes", passed);
  note_read(inside, std::move(fields), redaction.counts());
  if (broken || passed < part.length.value_or(0))
    exchange.cut();
  else if (there)
    (void)co_await exchange.finish();
  co_return Reply::sent();
}

}  // namespace

Task<Result<Reply>> send_file(const SandboxCall& inside, guest::ReadRequest request) {
  Value asked = guest::to_value(request);
  std::optional<GuestChannel> channel(std::in_place, inside, asked);
  guest::Channel::Item first = co_await (*channel)->next();
  const Value* entry = first.value.find("entry");
  if (first.kind != ItemKind::message || !entry) co_return channel->error(first);
  Result<Part> part = choose_part(inside, shown_names(inside, *entry));
  if (!part) co_return unsatisfiable(inside, part.error(), count_in(*entry, "size"));
  if (part.value().status == 304) co_return Reply{304, part.value().headers, ""};
  if (const std::optional<ByteRange>& range = part.value().range) {
    request.offset = static_cast<int64_t>(range->offset);
    request.length = static_cast<int64_t>(range->length);
    channel.emplace(inside, guest::to_value(request));
  }
  Value fields = file_fields(asked);
  Result<Reply> reply = co_await pass_on(inside, *channel, part.value(), std::move(fields));
  co_return reply;
}

Task<Result<Reply>> send_archive(const SandboxCall& inside, guest::PackRequest request) {
  Value asked = guest::to_value(request), fields = file_fields(asked);
  GuestChannel channel(inside, asked);
  Part part{.headers = {{"Content-Type", "application/x-tar"}}, .is_archive = true};
  Result<Reply> reply = co_await pass_on(inside, channel, std::move(part), std::move(fields));
  co_return reply;
}

Task<Result<Reply>> send_entries(const SandboxCall& inside, guest::ListRequest request,
                                 Value (*view)(const Value& entry)) {
  Exchange& exchange = inside.exchange();
  GuestChannel channel(inside, guest::to_value(request));
  std::string text = "{\"entries\":[";
  bool first = true, last = false, there = true;
  while (there && !last) {
    guest::Channel::Item item = co_await channel->next();
    last = item.kind == ItemKind::end;
    if (!last && item.kind != ItemKind::message) co_return channel.error(item);
    if (const Value* entries = item.value.find("entries"); entries && entries->as_array())
      for (const Value& entry : *entries->as_array()) {
        text += cat(first ? "" : ",", to_json(shown_names(inside, view(entry))));
        first = false;
      }
    if (last) text += "]}";
    if (!inside.is_envd() && !exchange.answered() && text.size() < kShortList) continue;
    Headers headers{{"Content-Type", "application/json"}};
    if (!exchange.answered()) there = co_await exchange.begin(200, headers);
    if (there) there = co_await exchange.write(text);
    text.clear();
  }
  if (!exchange.answered()) co_return Reply::text(200, "application/json", std::move(text));
  if (there) (void)co_await exchange.finish();
  co_return Reply::sent();
}

Task<Result<std::string>> UploadBody::read() {
  while (true) {
    if (gunzip_) {
      Result<std::string> decoded = gunzip_->take("");
      if (decoded && turn_.is_over(decoded.value().size())) co_await exchange_.loop().yield();
      if (!decoded || !decoded.value().empty()) co_return std::move(decoded);
    }
    Result<std::string> raw = co_await exchange_.read();
    if (!raw || !gunzip_) co_return std::move(raw);
    if (raw.value().empty()) {
      if (any_ && !gunzip_->ended())
        co_return Error{Code::invalid, "decode the body: it ends in the middle"};
      co_return std::string();
    }
    any_ = true;
    Result<std::string> decoded = gunzip_->take(raw.value());
    if (!decoded || !decoded.value().empty()) co_return std::move(decoded);
  }
}

Task<Result<void>> FileUpload::open(Value request, const char* act) {
  Value fields = file_fields(request);
  const net::Body& body = inside_.exchange().head().body;
  if (body.kind == net::Body::Kind::length)
    fields.set(inside_.is_envd() ? "request_bytes" : "bytes", body.length);
  CO_TRY_VOID(co_await record_write(inside_, act, std::move(fields)));
  channel_.emplace(inside_, request, GuestChannel::Client::not_watched);
  co_return Result<void>();
}

Task<bool> FileUpload::write(std::string_view bytes) { return (*channel_)->send(bytes); }

Task<Result<Value>> FileUpload::finish() {
  (*channel_)->end_input();
  return channel_->result();
}

void FileUpload::cancel() { (*channel_)->cancel(); }

Task<Result<Value>> receive_file(const SandboxCall& inside, UploadBody& body, Value request,
                                 const char* act) {
  FileUpload file(inside);
  CO_TRY_VOID(co_await file.open(std::move(request), act));
  while (true) {
    Result<std::string> piece = co_await body.read();
    if (!piece) file.cancel();
    if (!piece) co_return piece.error();
    if (piece.value().empty()) break;
    bool taken = co_await file.write(piece.value());
    if (!taken) break;
  }
  Result<Value> made = co_await file.finish();
  co_return made;
}

}  // namespace paddock::api
