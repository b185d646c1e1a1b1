// POST /files: files from a client, streamed to the guest as they come.
#include <algorithm>
#include <set>

#include "api/e2b/envd_files.h"
#include "api/http/gunzip.h"
#include "api/native/in_sandbox.h"
#include "base/text.h"
#include "net/multipart.h"

namespace paddock::api {
namespace {

using ItemKind = guest::Channel::Item::Kind;

// The body in pieces, decoded where it is compressed.
class UploadBody {
 public:
  UploadBody(Exchange& exchange, bool compressed) : exchange_(exchange) {
    if (compressed) gunzip_.emplace();
  }

  // Empty at the end.
  io::Task<Result<std::string>> read() {
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

 private:
  Exchange& exchange_;
  std::optional<Gunzip> gunzip_;
  io::Turn turn_;  // of what is decoded: a megabyte may become a gigabyte
  bool any_ = false;
};

// One file on its way into the sandbox.
struct Target {
  std::shared_ptr<guest::Channel> channel;
  std::unique_ptr<Tie> tie;
};

// Records that a file is about to be written and opens it in the guest.
io::Task<Result<Target>> open_target(Envd& envd, std::string path,
                                     std::map<std::string, std::string> metadata) {
  Value request = guest_request(envd, "write");
  request.set("path", path);
  Value fields = file_fields(request);
  if (envd.exchange.head().body.kind == net::Body::Kind::length)
    fields.set("request_bytes", envd.exchange.head().body.length);
  CO_TRY_VOID(co_await record_write(envd.call, envd.sandbox, "upload", std::move(fields)));
  request.set("metadata", text_table(metadata));
  Target target;
  target.channel = envd.guest->open(request);
  target.tie = std::make_unique<Tie>(envd, target.channel, Tie::Client::uploads);
  co_return std::move(target);
}

// The entry that the guest made of it, as E2B says it.
io::Task<Result<Value>> end_of(Envd& envd, Target& target) {
  while (true) {
    guest::Channel::Item item = co_await target.channel->next();
    if (item.kind == ItemKind::failed) co_return guest_error(envd, *target.tie, item);
    if (item.kind != ItemKind::end) continue;
    const Value* entry = item.value.find("entry");
    static const Value kNone = Value::Object{};
    if (!entry) entry = &kNone;
    Value info = Value::Object{{"name", text_field(*entry, "name")},
                               {"type", "file"},
                               {"path", text_field(*entry, "path")}};
    const Value* metadata = entry->find("metadata");
    if (metadata && metadata->as_object() && !metadata->as_object()->empty())
      info.set("metadata", *metadata);
    co_return info;
  }
}

// Sends bytes, or finds out why the guest takes no more.
io::Task<Result<void>> send_bytes(Envd& envd, Target& target, std::string bytes) {
  std::string_view view = bytes;
  bool taken = co_await target.channel->send(view);
  if (taken) co_return Result<void>();
  Result<Value> end = co_await end_of(envd, target);
  if (!end) co_return end.error();
  co_return Error{Code::io, "write a file: the guest ended it early"};
}

// The body is one file.
io::Task<Result<Value>> upload_one(Envd& envd, UploadBody& body,
                                   std::map<std::string, std::string> metadata) {
  std::string path = envd.call.query("path");
  if (path.empty()) co_return Error{Code::invalid, "write a file: path is required"};
  CO_TRY(Target target, co_await open_target(envd, path, metadata));
  while (true) {
    Result<std::string> piece = co_await body.read();
    if (!piece) target.channel->cancel();
    if (!piece) co_return piece.error();
    if (piece.value().empty()) break;
    CO_TRY_VOID(co_await send_bytes(envd, target, std::move(piece.value())));
  }
  target.channel->end_input();
  CO_TRY(Value info, co_await end_of(envd, target));
  co_return Value(Value::Array{std::move(info)});
}

// The files of a form, one after the other. Parts that are not named "file" are passed over.
class FormUpload {
 public:
  FormUpload(Envd& envd, std::map<std::string, std::string> metadata)
      : envd_(envd), metadata_(std::move(metadata)) {}

  io::Task<Result<void>> take(net::MultipartReader::Event event) {
    using EventKind = net::MultipartReader::Event::Kind;
    if (event.kind == EventKind::part && event.part.name == "file") {
      std::string path = envd_.call.query("path");
      if (path.empty()) path = event.part.filename.value_or("");
      if (path.empty())
        co_return Error{Code::invalid, "write a file: neither a path nor a file name was given"};
      if (!paths_.insert(path).second)
        co_return Error{Code::invalid,
                        cat("you cannot upload multiple files to the same path '", printable(path),
                            "' in one upload request, only the first specified file was uploaded")};
      CO_TRY(target_, co_await open_target(envd_, path, metadata_));
    } else if (event.kind == EventKind::data && target_) {
      CO_TRY_VOID(co_await send_bytes(envd_, *target_, std::move(event.data)));
    } else if (event.kind == EventKind::part_end && target_) {
      target_->channel->end_input();
      Result<Value> info = co_await end_of(envd_, *target_);
      target_.reset();
      if (!info) co_return info.error();
      infos_.push_back(info.value());
    }
    co_return Result<void>();
  }

  Value::Array& infos() { return infos_; }

 private:
  Envd& envd_;
  std::map<std::string, std::string> metadata_;
  std::set<std::string> paths_;
  std::optional<Target> target_;
  Value::Array infos_;
};

// The body is a form with files.
io::Task<Result<Value>> upload_form(Envd& envd, UploadBody& body,
                                    std::map<std::string, std::string> metadata) {
  using EventKind = net::MultipartReader::Event::Kind;
  CO_TRY(net::MultipartReader reader,
         net::MultipartReader::create(envd.exchange.header("Content-Type")));
  FormUpload form(envd, std::move(metadata));
  io::Turn turn;  // of parts that are passed over, of which there may be many
  while (true) {
    CO_TRY(net::MultipartReader::Event event, reader.next());
    if (turn.is_over(event.data.size())) co_await envd.exchange.loop().yield();
    if (event.kind == EventKind::end) break;
    if (event.kind == EventKind::more) {
      CO_TRY(std::string piece, co_await body.read());
      if (piece.empty()) co_return Error{Code::invalid, "read the form: it ends in the middle"};
      reader.add(piece);
      continue;
    }
    CO_TRY_VOID(co_await form.take(std::move(event)));
  }
  co_return Value(std::move(form.infos()));
}

constexpr std::string_view kMetadataPrefix = "x-metadata-";
constexpr size_t kLongestKey = 246, kMostMetadata = 4096;

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(tolower(c)); });
  return small;
}

}  // namespace

Result<std::map<std::string, std::string>> metadata_of(const std::vector<net::Header>& headers) {
  std::map<std::string, std::string> metadata;
  size_t total = 0;
  for (const net::Header& header : headers) {
    std::string name = lower(header.name);
    if (!starts_with(name, kMetadataPrefix)) continue;
    std::string key = name.substr(kMetadataPrefix.size());
    if (key.empty() || key.size() > kLongestKey)
      return Error{Code::invalid, cat("store metadata: a key has 1 to ", kLongestKey, " bytes")};
    bool printable_ascii = std::all_of(header.value.begin(), header.value.end(),
                                       [](char c) { return c >= 0x20 && c < 0x7f; });
    if (!printable_ascii)
      return Error{Code::invalid, cat("store metadata: the value of '", printable(key),
                                      "' is not printable ASCII")};
    total += key.size() + header.value.size();
    if (total > kMostMetadata)
      return Error{Code::invalid,
                   cat("store metadata: more than ", kMostMetadata, " bytes in all")};
    if (!metadata.emplace(key, header.value).second)
      return Error{Code::invalid, cat("store metadata: '", printable(key), "' is given twice")};
  }
  return metadata;
}

io::Task<Result<Reply>> upload_files(Envd& envd) {
  std::string type = envd.exchange.header("Content-Type"),
              encoding = envd.exchange.header("Content-Encoding");
  std::string media = type.substr(0, type.find_first_of("; "));
  bool compressed = same_ignoring_case(encoding, "gzip"),
       whole = same_ignoring_case(media, "application/octet-stream");
  CO_TRY(auto metadata, metadata_of(envd.exchange.head().headers));
  if (!encoding.empty() && !compressed && !same_ignoring_case(encoding, "identity"))
    co_return Error{Code::invalid,
                    cat("unsupported Content-Encoding '", printable(encoding), "': gzip or none")};
  if (!whole && !same_ignoring_case(media, "multipart/form-data"))
    co_return Error{Code::invalid, cat("unsupported Content-Type '", printable(media),
                                       "': multipart/form-data or application/octet-stream")};
  UploadBody body(envd.exchange, compressed);
  Result<Value> infos = Error{};
  if (whole)
    infos = co_await upload_one(envd, body, metadata);
  else
    infos = co_await upload_form(envd, body, metadata);
  if (!infos) co_return infos.error();
  co_return Reply::json(200, shown_names(envd.call, *envd.sandbox, std::move(infos.value())));
}

io::Task<Result<Reply>> compose_files(Envd& envd) {
  Result<Value> body = co_await envd.exchange.read_json();
  if (!body) co_return Error{Code::invalid, body.error().message};
  if (std::string user = text_field(body.value(), "username"); !user.empty()) envd.user = user;
  const Value* sources = body.value().find("source_paths");
  Value request = guest_request(envd, "compose");
  request.set("sources", sources && sources->as_array() ? *sources : Value(Value::Array{}));
  request.set("path", text_field(body.value(), "destination"));
  Value fields = file_fields(request);
  CO_TRY_VOID(co_await record_write(envd.call, envd.sandbox, "compose", std::move(fields)));
  CO_TRY(Value answer, co_await ask_guest(envd, request));
  const Value* entry = answer.find("entry");
  static const Value kNone = Value::Object{};
  if (!entry) entry = &kNone;
  Value info = Value::Object{
      {"path", text_field(*entry, "path")}, {"name", text_field(*entry, "name")}, {"type", "file"}};
  co_return Reply::json(200, shown_names(envd.call, *envd.sandbox, std::move(info)));
}

}  // namespace paddock::api
