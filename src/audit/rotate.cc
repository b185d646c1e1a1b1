// Segments: when one ends, how the next begins, when old ones go.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "audit/line_reader.h"
#include "audit/state.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

constexpr int64_t kDayUs = 86'400'000'000;

// Times the size at which it should be signed.
constexpr uint64_t kOverfull = 4;

// Segments in the space that the log may have.
constexpr uint64_t kPieces = 4;

// A bound on the whole log makes segments smaller, so that removing the oldest frees only a part.
uint64_t rotate_at(const LogOptions& options) {
  return options.most_bytes > 0 ? std::min(options.rotate_bytes, options.most_bytes / kPieces)
                                : options.rotate_bytes;
}

struct Old {
  uint64_t number = 0, size = 0;
  Range range;
  // Of the last record.
  std::string hash, time;
  // Otherwise it may have been tampered with, and no rule removes it.
  bool readable = false;
};

// What a closed segment holds, from its first and last line.
Result<Old> look_at(int directory, uint64_t number) {
  Fd file = TRY(open_in(directory, segment_name(number), O_RDONLY));
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return errno_error(errno, "look at the audit log");
  Old old{.number = number, .size = static_cast<uint64_t>(info.st_size)};
  LineReader reader(file.get(), 0, old.size);
  std::optional<LineReader::Text> text = TRY(reader.next());
  uint64_t end = 0;
  std::string last = TRY(last_line(file.get(), old.size, &end));
  std::optional<Record> head = text && text->whole ? read_record(text->text) : std::nullopt;
  std::optional<Record> tail =
      last.empty() ? std::nullopt : read_record(std::string_view(last).substr(0, last.size() - 1));
  if (!head || !tail || !tail->holds()) return old;
  old.range = {head->seq, tail->seq};
  old.hash = tail->hash;
  old.time = tail->time;
  old.readable = true;
  return old;
}

}  // namespace

// A segment also ends after a day, so that records are sealed even where little happens.
bool Log::State::is_full() const {
  if (head.last.seq <= head.first) return false;  // nothing but its log.open
  int64_t longest = kDayUs;
  if (options.keep_ms > 0)
    longest = std::min(
        longest, static_cast<int64_t>(options.keep_ms) * 1000 / static_cast<int64_t>(kPieces));
  return head.size >= rotate_at(options) || wall_clock_us() - head.opened_us > longest;
}

bool Log::State::is_overfull() const { return head.size >= kOverfull * rotate_at(options); }

// Begins a file with log.open. One that stands there already was put there by somebody, and is
// recorded as damage.
Result<void> Log::State::begin_segment(std::vector<Event> more) {
  image.reset();  // whatever becomes of this, the head is read again
  Head next = head;
  if (head.ended) {
    ++next.segment;
    next.first = head.last.seq + 1;
    next.before = head.last.hash;
  }
  next.size = 0;
  next.ended = false;
  next.opened_us = wall_clock_us();
  std::string name = segment_name(next.segment);
  struct stat info;
  bool stray =
      ::fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_size > 0;
  if (stray) {
    LogEnd log_end{.kind = LogEnd::Kind::damaged,
                   .head = head,
                   .torn = static_cast<uint64_t>(info.st_size),
                   .expected = head,
                   .what = "inserted",
                   .why = cat("the file ", name, " was there before its segment was begun"),
                   .from = head.last.seq + 1};
    more.insert(more.begin(), damage_event(log_end));
  }
  Value data;
  data.set("version", 1);
  data.set("segment", next.segment);
  more.insert(more.begin(), log_event("log.open", data));
  Batch batch = prepare(more, next);
  TRY(announce(batch));
  Fd file(disk->create(directory.get(), name.c_str()));
  if (!file && errno == EEXIST) {
    file = TRY(open_in(directory.get(), name, O_RDWR));
    if (disk->cut(file.get(), 0) != 0)
      return errno_error(errno, cat("empty '", name, "' of the audit log"));
  }
  if (!file) return errno_error(errno, cat("make '", name, "' of the audit log"));
  segment_file = std::move(file);
  open_segment = next.segment;
  TRY(commit(batch));
  if (disk->sync(directory.get()) != 0)
    return errno_error(errno, "wait for the audit log's directory to be on the disk");
  return {};
}

// What is sealed must be on the disk before the next segment begins.
Result<void> Log::State::end_segment(Value seal, std::vector<Event> more) {
  Value data;
  data.set("segment", head.segment);
  data.set("first", head.first);
  data.set("last", head.last.seq);
  for (auto& [key, value] : *seal.as_object()) data.set(key, std::move(value));
  Head next = head;
  next.ended = true;
  TRY(write({log_event("log.seal", data)}, next));
  if (disk->sync(segment_file.get()) != 0)
    return errno_error(errno, "wait for the audit log to be on the disk");
  head.synced = head.last;  // the next write of the head says so
  return begin_segment(std::move(more));
}

// Each removal is recorded, and on the disk, before it is done. One that was recorded and
// interrupted is done now. A segment that somebody changed is kept, and what is younger as well:
// that is an error once the rules want it removed.
Result<void> Log::State::retire() {
  std::vector<Old> olds;
  std::optional<uint64_t> changed;
  uint64_t total = head.size;
  for (uint64_t number : TRY(segment_numbers(directory.get()))) {
    if (number >= head.segment) break;
    if (number <= head.retired) {
      (void)disk->remove(directory.get(), segment_name(number).c_str());
      continue;
    }
    Old old = TRY(look_at(directory.get(), number));
    total += old.size;
    if (!old.readable && !changed) changed = number;
    if (!changed) olds.push_back(std::move(old));
  }
  std::string oldest = rfc3339(wall_clock_us() - static_cast<int64_t>(options.keep_ms) * 1000);
  for (const Old& old : olds) {
    bool aged = options.keep_ms > 0 && old.time < oldest;
    bool large = options.most_bytes > 0 && total > options.most_bytes;
    if (!aged && !large) break;
    Value data;
    data.set("segment", old.number);
    data.set("first", old.range.first);
    data.set("last", old.range.last);
    data.set("records", old.range.last - old.range.first + 1);
    data.set("hash", old.hash);
    data.set("bytes", old.size);
    data.set("rule", aged ? "keep" : "max_size");
    Head next = head;
    next.retired = old.number;
    TRY(write({log_event("log.retired", data)}, next));
    if (disk->sync(segment_file.get()) != 0)
      return errno_error(errno, "wait for the audit log to be on the disk");
    if (disk->remove(directory.get(), segment_name(old.number).c_str()) != 0)
      return errno_error(errno, cat("remove '", segment_name(old.number), "' of the audit log"));
    total -= old.size;
  }
  if (changed && options.most_bytes > 0 && total > options.most_bytes)
    return Error{
        Code::io,
        cat("keep the audit log below its size: ", segment_name(*changed),
            " does not end with what was written, so neither it nor what came after it is removed"),
        "paddock audit verify tells what was done to it; move it away when it has been looked at"};
  return {};
}

}  // namespace paddock::audit
