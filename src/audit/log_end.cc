#include "audit/log_end.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "audit/line_reader.h"
#include "audit/log_directory.h"
#include "base/digest.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

// In bytes of what is cut off.
constexpr size_t kMostHashed = 16 << 20;

struct File {
  Fd file;
  // 0 also when there is none.
  uint64_t size = 0;
  explicit operator bool() const { return static_cast<bool>(file); }
};

// A segment that is missing is an empty one.
Result<File> open_segment(int directory, uint64_t number) {
  Result<Fd> file = open_in(directory, segment_name(number), O_RDONLY);
  if (!file && file.error().code == Code::not_found) return File();
  if (!file) return file.error();
  struct stat info;
  if (::fstat(file.value().get(), &info) != 0) return errno_error(errno, "look at the audit log");
  return File{std::move(file.value()), static_cast<uint64_t>(info.st_size)};
}

// Bytes of a segment that are not part of the log.
Result<void> leave_out(const File& file, uint64_t segment, uint64_t from, LogEnd& log_end) {
  log_end.cut = segment;
  log_end.cut_at = from;
  log_end.torn = file.size - from;
  if (log_end.torn == 0) return {};
  Sha256 hash;
  std::string piece(64 << 10, '\0');
  for (uint64_t at = from, end = std::min(file.size, from + kMostHashed); at < end;) {
    ssize_t count = ::pread(file.file.get(), piece.data(),
                            std::min<uint64_t>(piece.size(), end - at), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(errno, "read the audit log");
    if (count == 0) break;
    hash.add(std::string_view(piece).substr(0, static_cast<size_t>(count)));
    at += static_cast<uint64_t>(count);
  }
  log_end.torn_hash = to_hex(hash.finish());
  return {};
}

// ---- while the machine runs ---

// Returns nothing if no writer leaves the files like that.
Result<std::optional<LogEnd>> as_left_by_a_writer(int directory, const Heads& heads) {
  std::optional<LogEnd> none;
  if (!heads.settled() && !heads.under_way()) return none;
  const Head &done = *heads.done, &intent = *heads.intent;
  LogEnd log_end{.head = done, .last_segment = intent.segment, .expected = done};
  File file = TRY(open_segment(directory, done.segment));
  if (file.size < done.size) return none;
  if (file && !TRY(ends_at(file.file.get(), done))) return none;
  if (heads.settled())
    return file.size == done.size ? std::optional<LogEnd>(std::move(log_end)) : none;

  bool begins = intent.segment != done.segment;
  if (begins && file.size != done.size) return none;
  uint64_t from = begins ? 0 : done.size;
  File later = begins ? TRY(open_segment(directory, intent.segment)) : std::move(file);
  if (later.size > intent.size) return none;
  if (later.size == from) {
    log_end.kind = LogEnd::Kind::unbegun;
  } else if (later.size < intent.size) {
    log_end.kind = LogEnd::Kind::torn;
    TRY(leave_out(later, intent.segment, from, log_end));
  } else {
    if (!TRY(ends_at(later.file.get(), intent))) return none;
    log_end.kind = LogEnd::Kind::unacknowledged;
    log_end.head = intent;
    log_end.head.synced = heads.synced();
  }
  return std::optional<LogEnd>(std::move(log_end));
}

// ---- after the machine was down ---

// Follows the chain through a file; the hashes of these records are compared on the way.
struct Followed {
  Mark end;
  // One of the known records has another hash.
  bool differs = false;
};
Result<Followed> follow(const File& file, Mark from, const std::vector<Link>& known) {
  Followed followed{.end = std::move(from)};
  Mark& end = followed.end;
  LineReader reader(file.file.get(), end.size, file.size);
  while (!end.ended) {
    std::optional<LineReader::Text> text = TRY(reader.next());
    std::optional<Record> line = text && text->whole ? read_record(text->text) : std::nullopt;
    if (!line || line->seq != end.last.seq + 1 || line->prev != end.last.hash || !line->holds())
      break;
    end.last = {line->seq, std::string(line->hash)};
    end.size += text->size;
    end.ended = line->kind == "log.seal";
    for (const Link& link : known)
      followed.differs |= link.seq == line->seq && link.hash != line->hash;
  }
  return followed;
}

// The start of the segment that a mark is in.
Mark begin_of(const Mark& mark) {
  Mark begin = mark;
  begin.size = 0;
  begin.last = {mark.first - 1, mark.before};
  begin.ended = false;
  return begin;
}

// The start of the segment that follows a mark.
Mark begin_behind(const Mark& mark) {
  Mark begin = mark;
  ++begin.segment;
  begin.size = 0;
  begin.first = mark.last.seq + 1;
  begin.before = mark.last.hash;
  begin.ended = false;
  return begin;
}

// Returns nothing if that is more than a crash of the machine can do.
Result<std::optional<LogEnd>> as_left_by_the_machine(int directory, const Heads& heads) {
  std::optional<LogEnd> none;
  const Head& newest = *heads.newest();
  Link synced = heads.synced();
  LogEnd log_end{.kind = LogEnd::Kind::lost,
                 .head = newest,
                 .expected = heads.finished(),
                 .slot_torn = !heads.settled() && !heads.under_way()};
  std::vector<Link> known{synced, log_end.expected.last, newest.last};
  File file = TRY(open_segment(directory, newest.segment));
  Mark end = begin_of(newest);
  if (file) {
    Followed followed = TRY(follow(file, end, known));
    if (followed.differs) return none;
    end = followed.end;
    TRY(leave_out(file, newest.segment, end.size, log_end));
  }
  // The head may be older than what stands on the disk: after a segment that has ended there may
  // be others.
  while (end.ended && log_end.torn == 0) {
    Mark begin = begin_behind(end);
    File next = TRY(open_segment(directory, begin.segment));
    if (!next) break;
    Followed followed = TRY(follow(next, begin, known));
    if (followed.differs) return none;
    TRY(leave_out(next, begin.segment, followed.end.size, log_end));
    if (followed.end.size == 0) break;
    end = followed.end;
  }
  if (end.last.seq < synced.seq) return none;
  static_cast<Mark&>(log_end.head) = end;
  log_end.head.generation = newest.generation;
  log_end.head.synced = synced;
  log_end.last_segment = std::max({end.segment, newest.segment, log_end.cut});
  log_end.missing =
      log_end.expected.last.seq > end.last.seq ? log_end.expected.last.seq - end.last.seq : 0;
  log_end.adopted = end.last.seq > newest.last.seq ? end.last.seq - newest.last.seq : 0;
  return std::optional<LogEnd>(std::move(log_end));
}

// ---- neither ---

// The last line of the file that has its own hash, whatever it is.
Result<bool> end_of_what_is_there(const File& file, Mark& end) {
  for (uint64_t until = file.size; until > 0;) {
    uint64_t at = 0;
    std::string text = TRY(last_line(file.file.get(), until, &at));
    if (text.empty()) return false;
    std::optional<Record> line = read_record(std::string_view(text).substr(0, text.size() - 1));
    if (line && line->holds()) {
      end.size = at;
      end.last = {line->seq, std::string(line->hash)};
      end.ended = line->kind == "log.seal";
      return true;
    }
    until = at - text.size();
  }
  return false;
}

// Where the segment that a writer must go on in is: what `head` says, or what follows from the
// files.
Result<Mark> last_known(int directory, const Heads& heads) {
  if (const Head* newest = heads.newest()) return Mark(*newest);
  std::vector<uint64_t> numbers = TRY(segment_numbers(directory));
  Mark mark;
  mark.opened_us = wall_clock_us();
  if (numbers.empty()) return mark;
  mark.segment = numbers.front();
  for (uint64_t number : numbers)  // one that stands alone was put there
    if (number == mark.segment + 1) mark.segment = number;
  File file = TRY(open_segment(directory, mark.segment));
  LineReader reader(file.file.get(), 0, file.size);
  std::optional<LineReader::Text> text = TRY(reader.next());
  std::optional<Record> first = text && text->whole ? read_record(text->text) : std::nullopt;
  if (first) {
    mark.first = first->seq;
    mark.before = first->prev;
  }
  return mark;
}

// Says what kind of damage it is, and the first record that it may be about.
void name_it(const Heads& heads, bool has_head, bool in_place, LogEnd& log_end) {
  const Link &expected = log_end.expected.last, &found = log_end.head.last;
  auto say = [&](const char* what, uint64_t from, std::string why) {
    log_end.what = what;
    log_end.from = from;
    log_end.why = std::move(why);
  };
  if (!has_head)
    return say("missing_head", found.seq + 1,
               "the file 'head', which tells where the log ends, is gone: records may be gone from "
               "the end");
  if (!heads.newest())
    return say(
        "bad_head", found.seq + 1,
        "the file 'head' was not written with this log's key: records may be gone from the end");
  if (found.seq < expected.seq) {
    std::string gone = found.seq + 1 == expected.seq
                           ? cat("record ", expected.seq, " is")
                           : cat("records ", found.seq + 1, " to ", expected.seq, " are");
    return say("truncated", found.seq + 1, cat(gone, " gone from the end of the log"));
  }
  if (!in_place)
    return say("rewritten", 0,
               cat("record ", expected.seq,
                   " is not the one that was written: it or one before it was changed, and the "
                   "hashes after it computed again"));
  if (found.seq > expected.seq)
    return say("inserted", expected.seq + 1,
               cat(found.seq == expected.seq + 1
                       ? cat("record ", found.seq, " stands")
                       : cat("records ", expected.seq + 1, " to ", found.seq, " stand"),
                   " after the end of the log: no writer of this log made them"));
  if (log_end.torn > 0)
    return say("inserted", expected.seq + 1,
               cat(log_end.torn, " bytes that are not a record stand after the end of the log"));
  say("bad_head", found.seq + 1,
      "a slot of the file 'head' is not what was written: what was appended last may be gone");
}

// Somebody changed the files. A writer goes on after what is there, and the damage is recorded.
Result<LogEnd> as_damaged(int directory, const Heads& heads, bool has_head) {
  LogEnd log_end{.kind = LogEnd::Kind::damaged};
  if (const Head* newest = heads.newest()) log_end.head = *newest;
  static_cast<Mark&>(log_end.head) = TRY(last_known(directory, heads));
  if (heads.done)
    log_end.expected = heads.finished();
  else if (heads.intent)
    log_end.expected = *heads.intent;
  log_end.head.generation = std::max(heads.intent ? heads.intent->generation : 0,
                                     heads.done ? heads.done->generation : 0);
  log_end.last_segment = log_end.head.segment;

  File file = TRY(open_segment(directory, log_end.head.segment));
  Mark end = begin_of(log_end.head);
  bool goes_on = TRY(end_of_what_is_there(file, end));
  if (file) TRY(leave_out(file, end.segment, end.size, log_end));
  if (!goes_on && end.segment > 1) {  // it is begun again, after what stands in the one before
    File before = TRY(open_segment(directory, end.segment - 1));
    Mark last;
    if (TRY(end_of_what_is_there(before, last))) {
      end.first = last.last.seq + 1;
      end.before = last.last.hash;
      end.last = last.last;
    }
  }
  static_cast<Mark&>(log_end.head) = end;
  log_end.head.synced = Link();  // nothing is known any more
  File expected = TRY(open_segment(directory, log_end.expected.segment));
  bool in_place = expected.size >= log_end.expected.size &&
                  (!expected || TRY(ends_at(expected.file.get(), log_end.expected)));
  name_it(heads, has_head, in_place, log_end);
  return log_end;
}

}  // namespace

// Compares the last bytes only: cheap enough for every append.
Result<bool> ends_at(int file, const Mark& mark) {
  if (mark.size == 0) return true;
  std::string text(kNoHash.size() + 3, '\0'), expected = cat(mark.last.hash, "\"}\n");
  if (mark.size < text.size()) return false;
  ssize_t count;
  do count = ::pread(file, text.data(), text.size(), static_cast<off_t>(mark.size - text.size()));
  while (count < 0 && errno == EINTR);
  if (count < 0) return errno_error(errno, "read the audit log");
  return text == expected;
}

// The explanations are tried from the most harmless to the worst.
Result<LogEnd> examine(int directory, const Heads& heads, bool has_head, std::string_view boot) {
  std::optional<LogEnd> log_end = TRY(as_left_by_a_writer(directory, heads));
  if (!log_end && heads.newest() && heads.newest()->boot != boot)
    log_end = TRY(as_left_by_the_machine(directory, heads));
  return log_end ? std::move(*log_end) : as_damaged(directory, heads, has_head);
}

}  // namespace paddock::audit
