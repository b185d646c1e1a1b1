// The small grammars of /files: ranges, metadata headers, and errors.
#include <algorithm>

#include "api/envd_files.h"
#include "base/text.h"
#include "net/connect_rpc.h"

namespace paddock::api {
namespace {

constexpr std::string_view kMetadataPrefix = "x-metadata-";
constexpr size_t kLongestKey = 246, kMostMetadata = 4096;

std::optional<uint64_t> digits(std::string_view text) {
  if (text.empty() || text.size() > 18 ||
      text.find_first_not_of("0123456789") != std::string_view::npos)
    return {};
  return std::stoull(std::string(text));
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(tolower(c)); });
  return small;
}

}  // namespace

Result<std::optional<ByteRange>> parse_range(std::string_view header, uint64_t size) {
  std::optional<ByteRange> none;
  if (!starts_with(header, "bytes=") || header.find(',') != std::string_view::npos) return none;
  std::string_view text = header.substr(6);
  size_t dash = text.find('-');
  if (dash == std::string_view::npos) return none;
  std::optional<uint64_t> first = digits(text.substr(0, dash)),
                          last = digits(text.substr(dash + 1));
  // Not a range at all: ignored.
  if ((!first && dash > 0) || (!last && dash + 1 < text.size()) || (!first && !last)) return none;
  if (first && last && *last < *first) return none;
  Error unsatisfiable{Code::invalid, cat("read a range: '", printable(header),
                                         "' lies outside of the file's ", size, " bytes")};
  if (!first) {  // the last so many
    if (*last == 0 || size == 0) return unsatisfiable;
    uint64_t length = std::min(*last, size);
    return std::optional<ByteRange>(ByteRange{size - length, length});
  }
  if (*first >= size) return unsatisfiable;
  uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  return std::optional<ByteRange>(ByteRange{*first, end - *first + 1});
}

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

io::Task<void> answer_file_error(Envd& envd, Error error) {
  note_failure(envd.call, error);
  std::string code = connect_code(error);
  if (error.hint == "gone") {
    co_await answer_gone(envd.exchange, envd.sandbox->info().id);
    co_return;
  }
  int status = code == "resource_exhausted" ? 507 : net::http_status_of(code);
  Value body = Value::Object{
      {"code", status}, {"message", redact::redacted(*envd.sandbox->redaction(), error.message)}};
  (void)co_await envd.exchange.answer_json(status, body);
}

}  // namespace paddock::api
