// Files over plain HTTP: forms and single files from a client, and whole files to it.
#include <algorithm>
#include <set>

#include "api/e2b/envd_services.h"
#include "api/native/sandbox_file.h"
#include "base/error_table.h"
#include "base/text.h"
#include "net/multipart.h"

namespace paddock::api {
namespace {

// The entry in a result of the guest's; an empty one where it has none.
Value entry_in(const Value& result) {
  const Value* entry = result.find("entry");
  return entry ? *entry : Value(Value::Object{});
}

// A file that was uploaded.
Value file_info(const Value& result) {
  Value entry = entry_in(result);
  Value info = Value::Object{
      {"name", text_in(entry, "name")}, {"type", "file"}, {"path", text_in(entry, "path")}};
  const Value* metadata = entry.find("metadata");
  if (metadata && metadata->as_object() && !metadata->as_object()->empty())
    info.set("metadata", *metadata);
  return info;
}

using Metadata = std::map<std::string, std::string>;

Value write_request(const SandboxCall& envd, std::string path, const Metadata& metadata) {
  return guest::to_value(
      guest::WriteRequest{.path = std::move(path), .user = envd.user, .metadata = metadata});
}

// The body is one file.
io::Task<Result<Value>> upload_one(SandboxCall& envd, UploadBody& body, Metadata metadata) {
  std::string path = envd.call.query("path");
  if (path.empty()) co_return Error{Code::invalid, "write a file: path is required"};
  Value request = write_request(envd, path, metadata);
  CO_TRY(Value made, co_await receive_file(envd, body, std::move(request), "upload"));
  co_return Value(Value::Array{file_info(made)});
}

// The files of a form, one after the other. Parts that are not named "file" are passed over.
class FormUpload {
 public:
  FormUpload(SandboxCall& envd, Metadata metadata) : envd_(envd), metadata_(std::move(metadata)) {}

  io::Task<Result<void>> take(net::MultipartReader::Event event) {
    using EventKind = net::MultipartReader::Event::Kind;
    if (event.kind == EventKind::part && event.part.name == "file") {
      CO_TRY(std::string path, path_of(event.part));
      Value request = write_request(envd_, path, metadata_);
      file_.emplace(envd_);
      CO_TRY_VOID(co_await file_->open(std::move(request), "upload"));
      co_return Result<void>();
    }
    if (!file_) co_return Result<void>();
    bool taken = true;
    if (event.kind == EventKind::data) taken = co_await file_->write(event.data);
    if (taken && event.kind != EventKind::part_end) co_return Result<void>();
    CO_TRY(Value made, co_await file_->finish());
    if (!taken) co_return Error{Code::io, "write a file: the guest ended it early"};
    file_.reset();
    infos_.push_back(file_info(made));
    co_return Result<void>();
  }

  Value::Array& infos() { return infos_; }

 private:
  // Where a part goes: to the path of the query, or else to its own name.
  Result<std::string> path_of(const net::MultipartReader::Part& part) {
    std::string path = envd_.call.query("path");
    if (path.empty()) path = part.filename.value_or("");
    if (path.empty())
      return Error{Code::invalid, "write a file: neither a path nor a file name was given"};
    if (!paths_.insert(path).second)
      return Error{Code::invalid,
                   cat("you cannot upload multiple files to the same path '", printable(path),
                       "' in one upload request, only the first specified file was uploaded")};
    return path;
  }

  SandboxCall& envd_;
  Metadata metadata_;
  std::set<std::string> paths_;
  std::optional<FileUpload> file_;
  Value::Array infos_;
};

// The body is a form with files.
io::Task<Result<Value>> upload_form(SandboxCall& envd, UploadBody& body, Metadata metadata) {
  using EventKind = net::MultipartReader::Event::Kind;
  CO_TRY(net::MultipartReader reader,
         net::MultipartReader::create(envd.exchange().header("Content-Type")));
  FormUpload form(envd, std::move(metadata));
  io::Turn turn;  // of parts that are passed over, of which there may be many
  while (true) {
    CO_TRY(net::MultipartReader::Event event, reader.next());
    if (turn.is_over(event.data.size())) co_await envd.loop().yield();
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

constexpr std::string_view kMetadataPrefix = "x-metadata-";
constexpr size_t kLongestKey = 246, kMostMetadata = 4096;

// ASCII letters only: names of headers have no others.
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

io::Task<Result<Reply>> upload_files(SandboxCall& envd) {
  std::string type = envd.exchange().header("Content-Type"),
              encoding = envd.exchange().header("Content-Encoding");
  std::string media = type.substr(0, type.find_first_of("; "));
  bool compressed = same_ignoring_case(encoding, "gzip"),
       whole = same_ignoring_case(media, "application/octet-stream");
  CO_TRY(auto metadata, metadata_of(envd.exchange().head().headers));
  if (!encoding.empty() && !compressed && !same_ignoring_case(encoding, "identity"))
    co_return Error{Code::invalid,
                    cat("unsupported Content-Encoding '", printable(encoding), "': gzip or none")};
  if (!whole && !same_ignoring_case(media, "multipart/form-data"))
    co_return Error{Code::invalid, cat("unsupported Content-Type '", printable(media),
                                       "': multipart/form-data or application/octet-stream")};
  UploadBody body(envd.exchange(), compressed);
  Result<Value> infos = Error{};
  if (whole)
    infos = co_await upload_one(envd, body, metadata);
  else
    infos = co_await upload_form(envd, body, metadata);
  if (!infos) co_return infos.error();
  co_return Reply::json(200, shown_names(envd, std::move(infos.value())));
}

// Puts the parts of a large upload together. The parts are removed by the guest.
io::Task<Result<Reply>> compose_files(SandboxCall& envd) {
  Result<Value> body = co_await envd.exchange().read_json();
  if (!body) co_return Error{Code::invalid, body.error().message};
  if (std::string user = text_field(body.value(), "username"); !user.empty()) envd.user = user;
  guest::ComposeRequest compose{.path = text_field(body.value(), "destination"), .user = envd.user};
  const Value* sources = body.value().find("source_paths");
  if (sources && sources->as_array() && !from_field(*sources, compose.sources))
    co_return Error{Code::invalid, "compose a file: source_paths is not a list of strings"};
  Value request = guest::to_value(compose), fields = file_fields(request);
  CO_TRY_VOID(co_await record_write(envd, "compose", std::move(fields)));
  CO_TRY(Value answer, co_await ask_guest(envd, request));
  Value entry = entry_in(answer);
  Value info = Value::Object{
      {"path", text_in(entry, "path")}, {"name", text_in(entry, "name")}, {"type", "file"}};
  co_return Reply::json(200, shown_names(envd, std::move(info)));
}

io::Task<Result<Reply>> download_file(SandboxCall& envd) {
  if (!takes_identity(envd.exchange().header("Accept-Encoding")))
    co_return refusal(406, "no acceptable encoding: a file is given as it is");
  guest::ReadRequest request{.path = envd.call.query("path"), .user = envd.user};
  Result<Reply> reply = co_await send_file(envd, std::move(request));
  co_return reply;
}

Reply file_error(SandboxCall& envd, const Error& error) {
  note_failure(envd.call, error);
  if (error.kind == Kind::gone) return gone_reply(envd.exchange(), envd.sandbox->info().id);
  int status = connect_status(error) == 429 ? 507 : connect_status(error);
  return refusal(status, redact::redacted(*envd.sandbox->redaction(), error.message));
}

}  // namespace paddock::api
