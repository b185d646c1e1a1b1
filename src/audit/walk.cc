#include "audit/walk.h"

#include "audit/line_reader.h"
#include "audit/log_directory.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

constexpr size_t kMostNotes = 50;

// In bytes, between two reports of progress.
constexpr uint64_t kTellEvery = 8 << 20;

// Small letters only, as signatures are written.
std::optional<std::string> from_hex(std::string_view text) {
  auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return text.size() % 2 == 0 ? std::optional<std::string>(bytes) : std::nullopt;
}

}  // namespace

// Segment by segment; ends at the first damage.
Result<void> Walk::go(const std::function<void(uint64_t, uint64_t)>& progress) {
  progress_ = progress;
  for (size_t i = 0; i < snapshot_.segments.size(); ++i) {
    uint64_t number = snapshot_.segments[i].number, due = last_segment_ + 1;
    if (begun_ && number != due) {
      (void)fail({"missing_segment", last_.seq + 1, segment_name(due), 0,
                  cat("the file ", segment_name(due), " is gone")});
      break;
    }
    last_segment_ = number;
    if (!TRY(walk_segment(i))) break;
    ++verified.segments;
  }
  check_start();
  if (more_notes_ > 0) verified.notes.push_back(cat("and ", more_notes_, " more of this kind"));
  if (progress_) progress_(done_, snapshot_.bytes());
  return {};
}

// A log that does not begin with record 1 must say why.
void Walk::check_start() {
  if (!begun_ || verified.first == 1 || start_retired_) return;
  uint64_t first = snapshot_.segments.front().number;
  Damage missing{"missing_segment", 1, segment_name(first > 1 ? first - 1 : 1), 0,
                 cat("records 1 to ", verified.first - 1,
                     " are gone, and no record tells that they were retired")};
  if (!verified.damage)
    verified.damage = std::move(missing);
  else
    verified.notes.push_back(missing.why);
}

// The first segments may have been retired; then the first line there is says where the chain
// begins, and check_start() looks whether that is so.
Result<bool> Walk::begin_later(int file, const Snapshot::Segment& segment) {
  LineReader reader(file, 0, segment.size);
  std::optional<LineReader::Text> text = TRY(reader.next());
  std::optional<Record> first = text && text->whole ? read_record(text->text) : std::nullopt;
  uint64_t seq = first ? first->seq : 0;
  bool good = first && first->holds() && first->kind == "log.open";
  std::string prev = good ? std::string(first->prev) : "";
  if (!good) {  // its neighbour knows its number
    text = TRY(reader.next());
    std::optional<Record> second = text && text->whole ? read_record(text->text) : std::nullopt;
    if (second) seq = second->seq - 1;
    return fail({first && first->holds() ? "removed" : "edited", seq, segment_name(segment.number),
                 1, "the segment does not begin with its first record"});
  }
  last_ = {seq - 1, prev};
  verified.first = seq;
  start_prev_ = prev;
  return true;
}

// Whether the first record of a file names the segment that the file is called after.
bool Walk::has_own_name(std::string_view line, const Snapshot::Segment& segment) {
  Result<Value> record = parse_json(line, "record");
  const Value* data = record ? record.value().find("data") : nullptr;
  uint64_t named = data ? count_in(*data, "segment") : 0;
  if (named == segment.number) return true;
  return fail({"swapped", last_.seq + 1, segment_name(segment.number), 1,
               cat("this file is segment ", named, " under another name")});
}

// A record that was counted as good may turn out to be the damaged one.
Result<bool> Walk::fail_at(const Break& broken) {
  Damage damage = TRY(diagnose(snapshot_, broken));
  if (damage.seq == verified.last) {  // it had seemed good until its neighbour was seen
    --verified.records;
    verified.last = before_.seq;
    verified.last_hash = before_.hash;
  }
  return fail(std::move(damage));
}

// Every line must be the record that is due. False: damage.
Result<bool> Walk::walk_segment(size_t index) {
  const Snapshot::Segment& segment = snapshot_.segments[index];
  Fd file = TRY(snapshot_.open(segment));
  LineReader reader(file.get(), 0, segment.size);
  bool is_last = index + 1 == snapshot_.segments.size();
  uint64_t number = 0, last_line_before = last_line_,
           segment_before = index > 0 ? snapshot_.segments[index - 1].number : segment.number;
  while (std::optional<LineReader::Text> text = TRY(reader.next())) {
    ++number;
    done_ += text->size;
    if (progress_ && done_ - told_ >= kTellEvery) {
      told_ = done_;
      progress_(done_, snapshot_.bytes());
    }
    bool unended =
        !text->whole && text->offset + text->size == segment.size && text->size <= kMostRecord;
    if (is_last && unended) {
      torn_end = true;
      torn_bytes = text->size;
      return true;
    }
    std::optional<Record> line = text->whole ? read_record(text->text) : std::nullopt;
    if (!begun_ && number == 1) {
      begun_ = true;
      verified.first = 1;
      if (segment.number > 1 && !TRY(begin_later(file.get(), segment))) return false;
    }
    if (line && line->kind == "log.open" && number == 1 && line->holds() &&
        !has_own_name(text->text, segment))
      return false;
    bool fits = line && line->seq == last_.seq + 1 && line->prev == last_.hash && line->holds();
    if (!fits) {
      Break broken{.last = last_,
                   .before = before_,
                   .last_segment = number > 1 ? segment.number : segment_before,
                   .last_line = number > 1 ? number - 1 : last_line_before,
                   .last_is_seal = last_is_seal_,
                   .segment = index,
                   .line = number,
                   .offset = text->offset,
                   .size = text->size,
                   .text = std::string(text->text),
                   .whole = text->whole};
      return fail_at(broken);
    }
    if (!TRY(accept(*line, text->text, index, number))) return false;
    last_line_ = number;
  }
  bool ends_well = is_last || last_is_seal_;
  if (!ends_well)
    return fail({"missing_seal", last_.seq + 1, segment_name(segment.number), number + 1,
                 cat(segment_name(segment.number), " does not end with a seal")});
  return true;
}

// Checks a record whose hash and place in the chain are right: whether it may stand in this place
// of its segment.
Result<bool> Walk::accept(const Record& line, std::string_view text, size_t index,
                          uint64_t number) {
  const Snapshot::Segment& segment = snapshot_.segments[index];
  std::string name = segment_name(segment.number);
  bool begins = line.kind == "log.open";
  if ((number == 1) != begins)
    return fail({"inserted", line.seq, name, number,
                 begins ? "a segment begins in the middle of another"
                        : "the segment does not begin with log.open"});
  if (number == 1)
    first_of_segment_ = line.seq;
  else if (last_is_seal_)
    return fail(
        {"inserted", line.seq, name, number, "a record stands after the seal of its segment"});
  bool seals = line.kind == "log.seal";
  if (starts_with(line.kind, "log.")) {
    Result<Value> record = parse_json(text, "record");
    const Value* data = record ? record.value().find("data") : nullptr;
    if (!data) return fail({"edited", line.seq, name, number, "the record is not JSON"});
    if (seals && !check_seal(line, *data, segment)) {
      verified.damage->segment = name;
      verified.damage->line = number;
      return false;
    }
    if (!seals) note(line, *data);
  }
  before_ = std::move(last_);
  last_ = {line.seq, std::string(line.hash)};
  last_is_seal_ = seals;
  if (auto wanted = hashes_.find(line.seq); wanted != hashes_.end()) wanted->second = line.hash;
  ++verified.records;
  verified.last = line.seq;
  verified.last_hash = line.hash;
  return true;
}

// A seal must name its own segment and records, and its signature must be right.
bool Walk::check_seal(const Record& line, const Value& data, const Snapshot::Segment& segment) {
  auto bad = [&](const char* what, uint64_t seq, std::string why) {
    return fail({what, seq, "", 0, std::move(why)});
  };
  if (count_in(data, "segment") != segment.number || count_in(data, "first") != first_of_segment_ ||
      count_in(data, "last") != last_.seq)
    return bad("bad_seal", line.seq, "the seal speaks of other records than those before it");
  ++closed;
  ++unsigned_since;
  const Value* is_signed = data.find("signed");
  // Vouched for by the next signature, as the chain goes on.
  if (is_signed && is_signed->as_bool() && !*is_signed->as_bool()) return true;
  if (!key_) return true;
  if (text_in(data, "key") != key_->id())
    return bad("other_key", line.seq, "the seal was made with another key");
  std::optional<std::string> signature = from_hex(text_in(data, "signature"));
  if (!signature || signature->size() != 64)
    return bad("bad_seal", line.seq, "the seal has no signature");
  std::string text = to_text(SealText{.segment = segment.number,
                                      .first = first_of_segment_,
                                      .last = last_.seq,
                                      .prev = last_.hash});
  if (!key_->signed_this(text, *signature))
    return bad(
        "rewritten", vouched + 1,
        cat("the signature of ", segment_name(segment.number), " does not fit its records: one of ",
            vouched + 1, " to ", line.seq, " was changed, and the hashes after it computed again"));
  vouched = last_.seq;
  unsigned_since = 0;
  ++verified.sealed;
  return true;
}

// What writers found and recorded: gaps, recoveries, damage, retired segments.
void Walk::note(const Record& line, const Value& data) {
  if (line.kind == "log.retired") {
    start_retired_ |=
        count_in(data, "last") + 1 == verified.first && text_in(data, "hash") == start_prev_;
    return;
  }
  if (line.kind == "log.damage") {
    uint64_t from = count_in(data, "from");
    std::string why = cat("record ", line.seq, " (", line.time,
                          ") tells that a writer found damage: ", printable(text_in(data, "why")));
    if (told.size() < kMostNotes)
      told.push_back({text_in(data, "what"), from > 0 ? from : vouched + 1,
                      segment_name(last_segment_), 0, std::move(why)});
    else
      ++more_notes_;
    return;
  }
  if (line.kind != "log.gap" && line.kind != "log.recovered") return;
  if (verified.notes.size() >= kMostNotes) {
    ++more_notes_;
    return;
  }
  std::string what = line.kind == "log.gap" ? cat(count_in(data, "missing"), " records are missing")
                                            : "the log's end was mended";
  verified.notes.push_back(cat("record ", line.seq, " (", line.time, "): ", what, ": ",
                               printable(text_in(data, "why"))));
}

std::optional<std::string> Walk::hash_of(uint64_t seq) const {
  if (begun_ && verified.first > 1 && seq + 1 == verified.first) return start_prev_;
  auto found = hashes_.find(seq);
  return found == hashes_.end() || found->second.empty()
             ? std::nullopt
             : std::optional<std::string>(found->second);
}

}  // namespace paddock::audit
