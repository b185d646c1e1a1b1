#include <algorithm>

#include "base/base64.h"
#include "base/event.h"
#include "base/text.h"
#include "guest/protocol.h"
#include "manager/operation_record.h"
#include "tools/builtin/guest_file.h"
#include "tools/builtin/job.h"
#include "tools/builtin/progress.h"
#include "tools/builtin/result.h"

namespace paddock::tools::builtin {

namespace {

using guest::Channel;
using io::Task;

// In bytes, to find the lines that were asked for.
constexpr size_t kMostScanned = 32 << 20;

// In bytes of the lines that are returned.
constexpr size_t kMostText = 256 << 10;
constexpr size_t kMostPicture = 3 << 20, kMostBase64 = 512 << 10;
constexpr int64_t kDefaultLines = 2000;
constexpr size_t kMostEntries = 2000;

// How long the guest may take for one step.
constexpr io::Milliseconds kPatience = 60'000;

Error no_answer() { return {Code::io, "the sandbox does not answer", ""}; }

// Runs beside the call, so that a guest that does not take the content cannot block it.
Task<void> feed(std::shared_ptr<Channel> channel, std::string content) {
  (void)co_await channel->send(content);
  channel->end_input();
}

// Goes by the first bytes, since the name of a file says nothing certain. Returns null for others.
const char* picture_type(std::string_view bytes) {
  if (starts_with(bytes, "\x89PNG\r\n\x1a\n")) return "image/png";
  if (starts_with(bytes, "\xff\xd8\xff")) return "image/jpeg";
  if (starts_with(bytes, "GIF87a") || starts_with(bytes, "GIF89a")) return "image/gif";
  if (starts_with(bytes, "RIFF") && bytes.size() > 12 && bytes.substr(8, 4) == "WEBP")
    return "image/webp";
  return nullptr;
}

// Valid UTF-8 without NUL.
bool is_text(std::string_view bytes) {
  if (bytes.find('\0') != std::string_view::npos) return false;
  bool changed = false;
  (void)to_utf8(bytes, &changed);
  return !changed;
}

struct Lines {
  std::string text;
  // Numbers of lines, counted from 1. If last < first there are none.
  int64_t first = 0, last = 0;
  // How many lines there are in what was looked at.
  int64_t seen = 0;
  // There are more lines after the last one.
  bool more = false;
};

// The lines from `first` on, as many as were asked for and fit into kMostText.
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

// The bytes as an embedded resource, which clients may save.
Value resource(const std::string& sandbox, const std::string& path, std::string_view bytes) {
  Value inner = Value::Object{{"uri", cat("paddock://sandbox/", sandbox, path)},
                              {"mimeType", "application/octet-stream"},
                              {"blob", base64(bytes)}};
  return Value::Object{{"type", "resource"}, {"resource", std::move(inner)}};
}

// The lines that were asked for, and a note on how to read on.
void tell_text(const Job& job, const FilePart& part, const std::string& path, ToolReport& report) {
  int64_t first = std::max<int64_t>(1, job.number("offset", 1)),
          count = std::max<int64_t>(1, job.number("limit", kDefaultLines));
  Lines lines = lines_of(part.bytes, first, count);
  bool more = lines.more || !part.is_whole;
  report.data.set("encoding", "text");
  report.data.set("first_line", lines.first);
  report.data.set("last_line", lines.last);
  report.data.set("lines", part.is_whole ? Value(lines.seen) : Value());
  report.data.set("truncated", more || first > 1);
  report.data.set("content", lines.text);
  report.text = std::move(lines.text);
  if (lines.last < lines.first)
    report.notes.push_back(
        lines.seen == 0
            ? cat(path, " is empty")
            : cat(path, " has ", lines.seen, " lines: there is nothing from line ", first, " on"));
  else if (more)
    report.notes.push_back(cat("lines ", lines.first, " to ", lines.last,
                               part.is_whole ? cat(" of ", lines.seen) : std::string(),
                               "; read on with offset=", lines.last + 1));
}

}  // namespace

// Text is given by lines, pictures as pictures, and other bytes as base64 where that was asked
// for.
Task<Result<Value>> read_file(Job job) {
  CO_TRY(Chosen chosen, co_await choose(job));
  manager::RunningSandbox inside = chosen.inside;
  const manager::Sandbox& sandbox = *inside.sandbox;
  std::string wanted = placed(sandbox, job.text("path")), encoding = job.text("encoding");
  Result<FilePart> part =
      co_await read_beginning(job.loop(), job.context, inside, wanted, kMostScanned);
  if (!part) co_return manager::without_secrets(sandbox, part.error());
  FilePart& file = part.value();
  std::string path = text_in(file.entry, "path", wanted);
  uint64_t size = std::max<uint64_t>(count_in(file.entry, "size"), file.bytes.size());
  Value fields = Value::Object{{"path", path}, {"bytes", size}};
  manager::note_read(job.manager(), job.caller, sandbox, std::move(fields), {});

  ToolReport report{.notes = chosen.notes};
  report.data.set("sandbox", sandbox.info().id);
  report.data.set("path", path);
  report.data.set("size", size);
  const char* picture = encoding.empty() || encoding == "auto" ? picture_type(file.bytes) : nullptr;
  if (picture && file.is_whole && file.bytes.size() <= kMostPicture) {
    report.data.set("encoding", "image");
    report.data.set("mime_type", picture);
    report.text = cat(path, ": ", picture, ", ", human_size(size));
    report.more.push_back(
        Value::Object{{"type", "image"}, {"data", base64(file.bytes)}, {"mimeType", picture}});
    co_return to_result(std::move(report));
  }
  if (encoding == "text" || (encoding != "base64" && !picture && is_text(file.bytes))) {
    file.bytes = to_utf8(file.bytes);
    tell_text(job, file, path, report);
    co_return to_result(std::move(report));
  }
  if (encoding == "base64" && file.is_whole && file.bytes.size() <= kMostBase64) {
    report.data.set("encoding", "base64");
    report.text = cat(path, ": ", human_size(size), " as base64");
    report.more.push_back(resource(sandbox.info().id, path, file.bytes));
    report.data.set("content", base64(file.bytes));
    co_return to_result(std::move(report));
  }
  co_return error_result(cat(
      path, " is ", picture ? "a picture" : "no text", " of ", human_size(size), ", ",
      encoding == "base64" || picture ? "too large to be given here" : "so it is not shown",
      ". Look at it inside the sandbox with run_code or run_command (file, xxd, python)",
      encoding == "base64" || picture
          ? "."
          : cat(", or read it with encoding=\"base64\" (at most ", human_size(kMostBase64), ").")));
}

// The write is recorded before it is done; a failure is recorded after it.
Task<Result<Value>> write_file(Job job) {
  std::optional<std::string> content = job.text_if("content");
  std::optional<std::string> encoded = job.text_if("base64");
  if (content.has_value() == encoded.has_value()) {
    co_return Error{Code::invalid, "give either `content` (text) or `base64` (bytes), not both",
                    ""};
  }
  if (encoded) {
    Result<std::string> bytes = from_base64(*encoded);
    if (!bytes) {
      co_return Error{Code::invalid, cat("base64: ", bytes.error().message), ""};
    }
    content = std::move(bytes).value();
  }
  CO_TRY(Chosen chosen, co_await choose(job));
  manager::RunningSandbox inside = chosen.inside;
  const manager::Sandbox& sandbox = *inside.sandbox;
  guest::WriteRequest write{.path = placed(sandbox, job.text("path")),
                            .append = job.flag("append", false),
                            .own_rights = true};
  Value request = guest::to_value(write);
  if (job.flag("executable", false)) request.set("mode", 0755);
  Value fields = manager::file_fields(request);
  fields.set("bytes", static_cast<uint64_t>(content->size()));
  std::string act = "upload";
  CO_TRY(Event recorded, co_await manager::record_write(job.manager(), job.caller, inside.sandbox,
                                                        act, std::move(fields)));
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
    job.manager().note_failure(recorded, error);
    co_return error;
  }
  const Value* entry = last.value.find("entry");
  std::string path = text_in(entry ? *entry : Value(), "path", job.text("path"));
  uint64_t size = entry ? count_in(*entry, "size") : content->size();
  ToolReport report{.notes = chosen.notes};
  report.text =
      cat(job.flag("append", false) ? "added " : "wrote ", content->size(), " bytes to ", path,
          job.flag("append", false) ? cat(", which has ", size, " now") : std::string());
  report.data.set("sandbox", sandbox.info().id);
  report.data.set("path", path);
  report.data.set("size", size);
  report.data.set("written", static_cast<uint64_t>(content->size()));
  co_return to_result(std::move(report));
}

namespace {

// An entry as structured data: the members that the output schema names.
Value described(const Value& entry, bool details) {
  Value value;
  value.set("path", text_in(entry, "path"));
  value.set("type", text_in(entry, "type"));
  value.set("size", count_in(entry, "size"));
  if (!text_in(entry, "target").empty()) value.set("target", text_in(entry, "target"));
  if (!details) return value;
  for (const char* key : {"permissions", "owner", "group"}) value.set(key, text_in(entry, key));
  value.set("modified", rfc3339(number_in(entry, "modified_ns") / 1000, 0));
  return value;
}

// An entry as a line, much as ls shows it.
std::string line_of(const Value& entry, bool details) {
  std::string type = text_in(entry, "type"), path = text_in(entry, "path");
  std::string shown =
      cat(path, type == "directory" ? "/" : "",
          type == "symlink" ? cat(" -> ", text_in(entry, "target")) : std::string());
  if (type == "file") shown += cat("  ", human_size(count_in(entry, "size")));
  return details ? cat(text_in(entry, "permissions"), " ", text_in(entry, "owner"), " ",
                       text_in(entry, "modified"), "  ", shown, "\n")
                 : cat(shown, "\n");
}

}  // namespace

// Stops after kMostEntries, and says so.
Task<Result<Value>> list_files(Job job) {
  CO_TRY(Chosen chosen, co_await choose(job));
  manager::RunningSandbox inside = chosen.inside;
  const manager::Sandbox& sandbox = *inside.sandbox;
  std::string path = placed(sandbox, job.text("path").empty() ? "." : job.text("path"));
  bool details = job.flag("details", false);
  guest::ListRequest request{.path = path, .depth = job.number("depth", 1), .own_rights = true};
  std::shared_ptr<Channel> channel = inside.guest->open(guest::to_value(request));
  std::shared_ptr<void> watched = manager::cancel_with(inside, channel);
  OnCancel cancel(job.context, [channel] { channel->cancel(); });
  ToolReport report{.notes = chosen.notes};
  Value::Array entries;
  bool more = false;
  io::Milliseconds deadline = job.loop().now() + kPatience;
  while (!more) {
    Channel::Item item = co_await channel->next(deadline);
    if (item.kind == Channel::Item::Kind::end) break;
    if (item.kind == Channel::Item::Kind::failed)
      co_return manager::without_secrets(sandbox, manager::from_guest(item.error));
    if (item.kind == Channel::Item::Kind::late) {
      channel->cancel();
      co_return no_answer();
    }
    const Value* some = item.value.find("entries");
    if (!some || !some->as_array()) continue;
    for (const Value& entry : *some->as_array()) {
      more = entries.size() >= kMostEntries;
      if (more) break;
      entries.push_back(described(entry, details));
      report.text += line_of(entries.back(), details);
    }
  }
  if (more) channel->cancel();
  if (more)
    report.notes.push_back(
        cat("there are more than ", kMostEntries,
            " entries: these are the first. List a directory further down, or use search_files"));
  if (entries.empty()) report.text = "(nothing is there)";
  report.data.set("sandbox", sandbox.info().id);
  report.data.set("path", path);
  report.data.set("truncated", more);
  report.data.set("entries", std::move(entries));
  co_return to_result(std::move(report));
}

}  // namespace paddock::tools::builtin
