// POST /files: files from a client, streamed to the guest as they come.
#include <set>

#include "api/data_events.h"
#include "api/envd_files.h"
#include "api/gunzip.h"
#include "base/text.h"
#include "net/multipart.h"

namespace paddock::api {
namespace {

using Kind = guest::Channel::Item::Kind;

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

io::Task<Result<Target>> open_target(Envd& envd, std::string path,
                                     std::map<std::string, std::string> metadata) {
  Value request = guest_request(envd, "write");
  request.set("path", path);
  Value fields = file_fields(request);
  if (envd.exchange.head().body.kind == net::Body::Kind::length)
    fields.set("request_bytes", envd.exchange.head().body.length);
  Result<void> recorded =
      co_await record_write(envd.call, envd.sandbox, "upload", std::move(fields));
  if (!recorded) co_return unrecorded_rpc(recorded.error());
  Value::Object pairs;
  for (const auto& [key, value] : metadata) pairs.emplace_back(key, value);
  request.set("metadata", std::move(pairs));
  Target target;
  target.channel = envd.guest->open(request);
  target.tie = std::make_unique<Tie>(envd, target.channel, Tie::Client::uploads);
  co_return std::move(target);
}

// The entry that the guest made of it, as E2B says it.
io::Task<Result<Value>> end_of(Envd& envd, Target& target) {
  while (true) {
    guest::Channel::Item item = co_await target.channel->next();
    if (item.kind == Kind::failed) co_return guest_error(envd, *target.tie, item);
    if (item.kind != Kind::end) continue;
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
  co_return Error{Code::io, "write a file: the guest ended it early", "internal"};
}

io::Task<Result<Value>> upload_one(Envd& envd, UploadBody& body,
                                   std::map<std::string, std::string> metadata) {
  std::string path = envd.exchange.query("path").value_or("");
  if (path.empty())
    co_return Error{Code::invalid, "write a file: path is required", "invalid_argument"};
  Result<Target> opened = co_await open_target(envd, path, metadata);
  if (!opened) co_return opened.error();
  Target target = std::move(opened).value();
  while (true) {
    Result<std::string> piece = co_await body.read();
    if (!piece) {
      target.channel->cancel();
      co_return piece.error();
    }
    if (piece.value().empty()) break;
    Result<void> sent = co_await send_bytes(envd, target, std::move(piece.value()));
    if (!sent) co_return sent.error();
  }
  target.channel->end_input();
  Result<Value> info = co_await end_of(envd, target);
  if (!info) co_return info.error();
  co_return Value(Value::Array{info.value()});
}

// The files of a form, one after the other. Parts that are not named "file" are passed over.
class FormUpload {
 public:
  FormUpload(Envd& envd, std::map<std::string, std::string> metadata)
      : envd_(envd), metadata_(std::move(metadata)) {}

  io::Task<Result<void>> take(net::MultipartReader::Event event) {
    using EventKind = net::MultipartReader::Event::Kind;
    if (event.kind == EventKind::part && event.part.name == "file") {
      std::string path = envd_.exchange.query("path").value_or("");
      if (path.empty()) path = event.part.filename.value_or("");
      if (path.empty())
        co_return Error{Code::invalid, "write a file: neither a path nor a file name was given",
                        "invalid_argument"};
      if (!paths_.insert(path).second)
        co_return Error{Code::invalid,
                        cat("you cannot upload multiple files to the same path '", printable(path),
                            "' in one upload request, only the first specified file was uploaded"),
                        "invalid_argument"};
      Result<Target> opened = co_await open_target(envd_, path, metadata_);
      if (!opened) co_return opened.error();
      target_ = std::move(opened).value();
    } else if (event.kind == EventKind::data && target_) {
      Result<void> sent = co_await send_bytes(envd_, *target_, std::move(event.data));
      if (!sent) co_return sent.error();
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

io::Task<Result<Value>> upload_form(Envd& envd, UploadBody& body,
                                    std::map<std::string, std::string> metadata) {
  using EventKind = net::MultipartReader::Event::Kind;
  Result<net::MultipartReader> reader =
      net::MultipartReader::create(envd.exchange.header("Content-Type"));
  if (!reader) co_return reader.error();
  FormUpload form(envd, std::move(metadata));
  io::Turn turn;  // of parts that are passed over, of which there may be many
  while (true) {
    Result<net::MultipartReader::Event> event = reader.value().next();
    if (!event) co_return event.error();
    if (turn.is_over(event.value().data.size())) co_await envd.exchange.loop().yield();
    if (event.value().kind == EventKind::end) break;
    if (event.value().kind == EventKind::more) {
      Result<std::string> piece = co_await body.read();
      if (!piece) co_return piece.error();
      if (piece.value().empty())
        co_return Error{Code::invalid, "read the form: it ends in the middle", "invalid_argument"};
      reader.value().add(piece.value());
      continue;
    }
    Result<void> taken = co_await form.take(std::move(event.value()));
    if (!taken) co_return taken.error();
  }
  co_return Value(std::move(form.infos()));
}

}  // namespace

io::Task<void> upload_files(Envd& envd) {
  std::string type = envd.exchange.header("Content-Type"),
              encoding = envd.exchange.header("Content-Encoding");
  std::string media = type.substr(0, type.find_first_of("; "));
  Result<std::map<std::string, std::string>> metadata = metadata_of(envd.exchange.head().headers);
  Error problem;
  if (!metadata)
    problem = metadata.error();
  else if (!encoding.empty() && !same_ignoring_case(encoding, "gzip") &&
           !same_ignoring_case(encoding, "identity"))
    problem = Error{Code::invalid,
                    cat("unsupported Content-Encoding '", printable(encoding), "': gzip or none")};
  else if (!same_ignoring_case(media, "multipart/form-data") &&
           !same_ignoring_case(media, "application/octet-stream"))
    problem = Error{Code::invalid, cat("unsupported Content-Type '", printable(media),
                                       "': multipart/form-data or application/octet-stream")};
  if (!problem.message.empty()) {
    problem.hint = "invalid_argument";
    co_await answer_file_error(envd, problem);
    co_return;
  }
  bool compressed = same_ignoring_case(encoding, "gzip");
  UploadBody body(envd.exchange, compressed);
  Result<Value> infos = Error{};
  if (same_ignoring_case(media, "application/octet-stream"))
    infos = co_await upload_one(envd, body, metadata.value());
  else
    infos = co_await upload_form(envd, body, metadata.value());
  if (!infos) {
    co_await answer_file_error(envd, infos.error());
    co_return;
  }
  Value shown = shown_names(envd.call, *envd.sandbox, std::move(infos.value()));
  (void)co_await envd.exchange.answer_json(200, std::move(shown));
}

io::Task<void> compose_files(Envd& envd) {
  Result<Value> body = co_await envd.exchange.read_json();
  if (!body) {
    Error error = body.error();
    error.hint = "invalid_argument";
    co_await answer_file_error(envd, error);
    co_return;
  }
  if (std::string user = text_field(body.value(), "username"); !user.empty()) envd.user = user;
  const Value* sources = body.value().find("source_paths");
  Value request = guest_request(envd, "compose");
  request.set("sources", sources && sources->as_array() ? *sources : Value(Value::Array{}));
  request.set("path", text_field(body.value(), "destination"));
  Value fields = file_fields(request);
  Result<void> recorded =
      co_await record_write(envd.call, envd.sandbox, "compose", std::move(fields));
  if (!recorded) {
    Error error = unrecorded_rpc(recorded.error());
    co_await answer_file_error(envd, error);
    co_return;
  }
  Result<Value> answer = co_await ask_guest(envd, request);
  if (!answer) {
    co_await answer_file_error(envd, answer.error());
    co_return;
  }
  const Value* entry = answer.value().find("entry");
  static const Value kNone = Value::Object{};
  if (!entry) entry = &kNone;
  Value info = Value::Object{
      {"path", text_field(*entry, "path")}, {"name", text_field(*entry, "name")}, {"type", "file"}};
  info = shown_names(envd.call, *envd.sandbox, std::move(info));
  (void)co_await envd.exchange.answer_json(200, info);
}

}  // namespace paddock::api
