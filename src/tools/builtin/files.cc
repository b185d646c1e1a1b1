#include <algorithm>

#include "base/base64.h"
#include "base/event.h"
#include "base/text.h"
#include "manager/operation_record.h"
#include "tools/builtin/guest_file.h"
#include "tools/builtin/job.h"
#include "tools/builtin/progress.h"
#include "tools/builtin/result.h"

namespace paddock::tools::builtin {

namespace {

using guest::Channel;
using io::Task;

constexpr size_t kMostScanned = 32 << 20;  // to find the lines that were asked for
constexpr size_t kMostText = 256 << 10;    // of them are given
constexpr size_t kMostPicture = 3 << 20, kMostBase64 = 512 << 10;
constexpr int64_t kDefaultLines = 2000;
constexpr size_t kMostEntries = 2000;
constexpr io::Milliseconds kPatience = 60'000;

Error no_answer() { return {Code::io, "the sandbox does not answer", ""}; }

Task<void> feed(std::shared_ptr<Channel> channel, std::string content) {
  (void)co_await channel->send(content);
  channel->end_input();
}

const char* picture_type(std::string_view bytes) {
  if (starts_with(bytes, "\x89PNG\r\n\x1a\n")) return "image/png";
  if (starts_with(bytes, "\xff\xd8\xff")) return "image/jpeg";
  if (starts_with(bytes, "GIF87a") || starts_with(bytes, "GIF89a")) return "image/gif";
  if (starts_with(bytes, "RIFF") && bytes.size() > 12 && bytes.substr(8, 4) == "WEBP")
    return "image/webp";
  return nullptr;
}

bool is_text(std::string_view bytes) {
  if (bytes.find('\0') != std::string_view::npos) return false;
  bool changed = false;
  (void)to_utf8(bytes, &changed);
  return !changed;
}

struct Lines {
  std::string text;
  int64_t first = 0, last = 0;  // numbers; 1-based. last < first: none
  int64_t seen = 0;             // how many there are in what was looked at
  bool more = false;            // behind the last
};

Lines lines_of(std::string_view bytes, int64_t first, int64_t count) {
  Lines lines{.first = first, .last = first - 1};
  for (size_t at = 0; at < bytes.size();) {
    size_t end = bytes.find('\n', at);
    size_t next = end == std::string_view::npos ? bytes.size() : end + 1;
    ++lines.seen;
    bool wanted = lines.seen >= first && lines.seen < first + count;
    if (wanted && lines.text.size() + (next - at) <= kMostText) {
      lines.text.append(bytes.substr(at, next - at));
      lines.last = lines.seen;
    } else if (wanted && lines.text.empty()) {  // one line that is too long by itself
      lines.text = cat(bytes.substr(at, kMostText), "[… the line goes on …]\n");
      lines.last = lines.seen;
    } else if (lines.seen >= first) {
      lines.more = true;
      count = 0;
    }
    at = next;
  }
  return lines;
}

Value resource(const std::string& sandbox, const std::string& path, std::string_view bytes) {
  Value inner = Value::Object{{"uri", cat("paddock://sandbox/", sandbox, path)},
                              {"mimeType", "application/octet-stream"},
                              {"blob", base64(bytes)}};
  return Value::Object{{"type", "resource"}, {"resource", std::move(inner)}};
}

void tell_text(const Job& job, const FilePart& part, const std::string& path, Told& told) {
  int64_t first = std::max<int64_t>(1, job.number("offset", 1)),
          count = std::max<int64_t>(1, job.number("limit", kDefaultLines));
  Lines lines = lines_of(part.bytes, first, count);
  bool more = lines.more || !part.is_whole;
  told.data.set("encoding", "text");
  told.data.set("first_line", lines.first);
  told.data.set("last_line", lines.last);
  told.data.set("lines", part.is_whole ? Value(lines.seen) : Value());
  told.data.set("truncated", more || first > 1);
  told.data.set("content", lines.text);
  told.text = std::move(lines.text);
  if (lines.last < lines.first)
    told.notes.push_back(
        lines.seen == 0
            ? cat(path, " is empty")
            : cat(path, " has ", lines.seen, " lines: there is nothing from line ", first, " on"));
  else if (more)
    told.notes.push_back(cat("lines ", lines.first, " to ", lines.last,
                             part.is_whole ? cat(" of ", lines.seen) : std::string(),
                             "; read on with offset=", lines.last + 1));
}

}  // namespace

Task<Value> read_file(Job job) {
  Result<Chosen> chosen = co_await choose(job);
  if (!chosen) co_return refusal(chosen.error());
  manager::RunningSandbox inside = chosen.value().inside;
  const manager::Sandbox& sandbox = *inside.sandbox;
  std::string wanted = placed(sandbox, job.text("path")), encoding = job.text("encoding");
  Result<FilePart> part =
      co_await read_beginning(job.loop(), job.context, inside, wanted, kMostScanned);
  if (!part) co_return refusal(manager::without_secrets(sandbox, part.error()));
  FilePart& file = part.value();
  std::string path = path_in(file.entry, wanted);
  uint64_t size = std::max<uint64_t>(size_of(file.entry), file.bytes.size());
  Value fields = Value::Object{{"path", path}, {"bytes", size}};
  manager::note_read(job.manager(), job.caller, sandbox, std::move(fields), {});

  Told told{.notes = chosen.value().notes};
  told.data.set("sandbox", sandbox.info().id);
  told.data.set("path", path);
  told.data.set("size", size);
  const char* picture = encoding.empty() || encoding == "auto" ? picture_type(file.bytes) : nullptr;
  if (picture && file.is_whole && file.bytes.size() <= kMostPicture) {
    told.data.set("encoding", "image");
    told.data.set("mime_type", picture);
    told.text = cat(path, ": ", picture, ", ", human_size(size));
    told.more.push_back(
        Value::Object{{"type", "image"}, {"data", base64(file.bytes)}, {"mimeType", picture}});
    co_return to_result(std::move(told));
  }
  if (encoding == "text" || (encoding != "base64" && !picture && is_text(file.bytes))) {
    file.bytes = to_utf8(file.bytes);
    tell_text(job, file, path, told);
    co_return to_result(std::move(told));
  }
  if (encoding == "base64" && file.is_whole && file.bytes.size() <= kMostBase64) {
    told.data.set("encoding", "base64");
    told.text = cat(path, ": ", human_size(size), " as base64");
    told.more.push_back(resource(sandbox.info().id, path, file.bytes));
    told.data.set("content", base64(file.bytes));
    co_return to_result(std::move(told));
  }
  co_return error_result(cat(
      path, " is ", picture ? "a picture" : "no text", " of ", human_size(size), ", ",
      encoding == "base64" || picture ? "too large to be given here" : "so it is not shown",
      ". Look at it inside the sandbox with run_code or run_command (file, xxd, python)",
      encoding == "base64" || picture
          ? "."
          : cat(", or read it with encoding=\"base64\" (at most ", human_size(kMostBase64), ").")));
}

Task<Value> write_file(Job job) {
  std::optional<std::string> content = job.text_if("content");
  std::optional<std::string> encoded = job.text_if("base64");
  if (content.has_value() == encoded.has_value()) {
    Error error{Code::invalid, "give either `content` (text) or `base64` (bytes), not both", ""};
    co_return refusal(error);
  }
  if (encoded) {
    Result<std::string> bytes = from_base64(*encoded);
    if (!bytes) {
      Error error{Code::invalid, cat("base64: ", bytes.error().message), ""};
      co_return refusal(error);
    }
    content = std::move(bytes).value();
  }
  Result<Chosen> chosen = co_await choose(job);
  if (!chosen) co_return refusal(chosen.error());
  manager::RunningSandbox inside = chosen.value().inside;
  const manager::Sandbox& sandbox = *inside.sandbox;
  Value request = Value::Object{{"op", "write"},
                                {"own_rights", true},
                                {"path", placed(sandbox, job.text("path"))},
                                {"append", job.flag("append", false)}};
  if (job.flag("executable", false)) request.set("mode", 0755);
  Value fields = manager::file_fields(request);
  fields.set("bytes", static_cast<uint64_t>(content->size()));
  std::string act = "upload";
  Result<Event> recorded = co_await manager::record_write(job.manager(), job.caller, inside.sandbox,
                                                          act, std::move(fields));
  if (!recorded) co_return refusal(recorded.error());
  std::shared_ptr<Channel> channel = inside.guest->open(request);
  std::shared_ptr<void> watched = manager::cancel_with(inside, channel);
  OnCancel cancel(job.context, [channel] { channel->cancel(); });
  // What does not take it must not keep us from looking at the time.
  io::spawn(feed(channel, *content));
  io::Milliseconds deadline = job.loop().now() + kPatience;
  Channel::Item last;
  do {
    last = co_await channel->next(deadline);
  } while (last.kind == Channel::Item::Kind::message || last.kind == Channel::Item::Kind::data);
  if (last.kind != Channel::Item::Kind::end) {
    if (last.kind == Channel::Item::Kind::late) channel->cancel();
    Error error = last.kind == Channel::Item::Kind::late
                      ? no_answer()
                      : manager::without_secrets(sandbox, manager::from_guest(last.error));
    job.manager().note_failure(recorded.value(), error);
    co_return refusal(error);
  }
  const Value* entry = last.value.find("entry");
  std::string path = path_in(entry ? *entry : Value(), job.text("path"));
  uint64_t size = entry ? size_of(*entry) : content->size();
  Told told{.notes = chosen.value().notes};
  told.text =
      cat(job.flag("append", false) ? "added " : "wrote ", content->size(), " bytes to ", path,
          job.flag("append", false) ? cat(", which has ", size, " now") : std::string());
  told.data.set("sandbox", sandbox.info().id);
  told.data.set("path", path);
  told.data.set("size", size);
  told.data.set("written", static_cast<uint64_t>(content->size()));
  co_return to_result(std::move(told));
}

namespace {

Value described(const Value& entry, bool details) {
  Value told;
  told.set("path", text_in(entry, "path"));
  told.set("type", text_in(entry, "type"));
  told.set("size", size_of(entry));
  if (!text_in(entry, "target").empty()) told.set("target", text_in(entry, "target"));
  if (!details) return told;
  for (const char* key : {"permissions", "owner", "group"}) told.set(key, text_in(entry, key));
  const Value* modified = entry.find("modified_ns");
  told.set("modified", rfc3339(modified && modified->as_int() ? *modified->as_int() / 1000 : 0, 0));
  return told;
}

std::string line_of(const Value& entry, bool details) {
  std::string type = text_in(entry, "type"), path = text_in(entry, "path");
  std::string shown =
      cat(path, type == "directory" ? "/" : "",
          type == "symlink" ? cat(" -> ", text_in(entry, "target")) : std::string());
  if (type == "file") shown += cat("  ", human_size(size_of(entry)));
  return details ? cat(text_in(entry, "permissions"), " ", text_in(entry, "owner"), " ",
                       text_in(entry, "modified"), "  ", shown, "\n")
                 : cat(shown, "\n");
}

}  // namespace

Task<Value> list_files(Job job) {
  Result<Chosen> chosen = co_await choose(job);
  if (!chosen) co_return refusal(chosen.error());
  manager::RunningSandbox inside = chosen.value().inside;
  const manager::Sandbox& sandbox = *inside.sandbox;
  std::string path = placed(sandbox, job.text("path").empty() ? "." : job.text("path"));
  bool details = job.flag("details", false);
  Value request = Value::Object{
      {"op", "list"}, {"own_rights", true}, {"path", path}, {"depth", job.number("depth", 1)}};
  std::shared_ptr<Channel> channel = inside.guest->open(request);
  std::shared_ptr<void> watched = manager::cancel_with(inside, channel);
  OnCancel cancel(job.context, [channel] { channel->cancel(); });
  Told told{.notes = chosen.value().notes};
  Value::Array entries;
  bool more = false;
  io::Milliseconds deadline = job.loop().now() + kPatience;
  while (!more) {
    Channel::Item item = co_await channel->next(deadline);
    if (item.kind == Channel::Item::Kind::end) break;
    if (item.kind == Channel::Item::Kind::failed)
      co_return refusal(manager::without_secrets(sandbox, manager::from_guest(item.error)));
    if (item.kind == Channel::Item::Kind::late) {
      channel->cancel();
      co_return refusal(no_answer());
    }
    const Value* some = item.value.find("entries");
    if (!some || !some->as_array()) continue;
    for (const Value& entry : *some->as_array()) {
      more = entries.size() >= kMostEntries;
      if (more) break;
      entries.push_back(described(entry, details));
      told.text += line_of(entries.back(), details);
    }
  }
  if (more) channel->cancel();
  if (more)
    told.notes.push_back(
        cat("there are more than ", kMostEntries,
            " entries: these are the first. List a directory further down, or use search_files"));
  if (entries.empty()) told.text = "(nothing is there)";
  told.data.set("sandbox", sandbox.info().id);
  told.data.set("path", path);
  told.data.set("truncated", more);
  told.data.set("entries", std::move(entries));
  co_return to_result(std::move(told));
}

}  // namespace paddock::tools::builtin
