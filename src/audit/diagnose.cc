#include "audit/diagnose.h"

#include "audit/line_reader.h"
#include "audit/place.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

// What stands behind the line that does not fit. Records know their neighbours by hash, so the ones
// that belong there can be told from any others, wherever they are now.
struct Behind {
  bool rightful = false;  // the record that should stand here
  bool copy = false;      // the line again
  bool linked = false;    // a neighbour of the line: it is a record of this chain
  bool has_next = false;  // the line right behind
  uint64_t next_seq = 0;
  std::string next_prev;
};

Result<Behind> look_behind(const Snapshot& snapshot, const Break& broken,
                           const std::optional<Record>& line) {
  Behind behind;
  uint64_t from = broken.offset + broken.size;
  for (size_t i = broken.segment; i < snapshot.segments.size(); ++i, from = 0) {
    Fd file = TRY(snapshot.open(snapshot.segments[i]));
    LineReader reader(file.get(), from, snapshot.segments[i].size);
    while (std::optional<LineReader::Text> text = TRY(reader.next())) {
      std::optional<Record> other = text->whole ? read_record(text->text) : std::nullopt;
      if (!behind.has_next) {
        behind.has_next = true;
        behind.next_seq = other ? other->seq : 0;
        behind.next_prev = other ? other->prev : "";
      }
      if (!other) continue;
      behind.rightful |=
          other->seq == broken.last.seq + 1 && other->prev == broken.last.hash && other->holds();
      behind.copy |= line && other->hash == line->hash;
      behind.linked |= line && (other->prev == line->hash || other->hash == line->prev);
    }
  }
  return behind;
}

std::string records(uint64_t count) { return count == 1 ? "1 record" : cat(count, " records"); }

}  // namespace

Result<Damage> diagnose(const Snapshot& snapshot, const Break& broken) {
  uint64_t due = broken.last.seq + 1;
  std::string name = segment_name(snapshot.segments[broken.segment].number);
  auto here = [&](const char* what, std::string why) {
    return Damage{what, due, name, broken.line, std::move(why)};
  };
  auto the_last = [&](const char* what, std::string why) {
    return Damage{what, broken.last.seq, segment_name(broken.last_segment), broken.last_line,
                  std::move(why)};
  };

  std::optional<Record> line = broken.whole ? read_record(broken.text) : std::nullopt;
  bool holds = line && line->holds();
  Behind behind = TRY(look_behind(snapshot, broken, holds ? line : std::nullopt));

  if (!holds) {
    if (behind.rightful)
      return here("inserted",
                  cat("a line that is no record of this log stands before record ", due));
    return here("edited", line ? cat("the content of record ", due, " does not give its hash")
                               : cat("what stands in place of record ", due, " is no record"));
  }
  // Whatever the line is, it stands for one record.
  bool in_place = behind.has_next && behind.next_seq == due + 1 && !behind.rightful;
  if (line->hash == broken.last.hash && !in_place)
    return here("inserted", cat("a copy of record ", line->seq, " stands behind it"));
  if (line->seq == broken.last.seq && line->prev == broken.before.hash && !in_place) {
    // Two that claim the same place: the one that the next record names is the true one.
    if (behind.has_next && behind.next_prev == line->hash)
      return the_last("inserted",
                      cat("a record that does not belong there stands before the true record ",
                          broken.last.seq));
    return here("inserted", cat("a second record ", line->seq, " stands behind the true one"));
  }
  if (behind.rightful) {
    if (behind.copy)
      return here("inserted", cat("a copy of record ", line->seq, " stands before record ", due));
    if (line->seq > due && behind.linked)
      return here("reordered", cat("record ", line->seq, " stands where record ", due,
                                   " belongs, which comes later"));
    return here("inserted",
                cat(line->seq < due ? "a copy of record " : "a foreign record with number ",
                    line->seq, " stands before record ", due));
  }
  if (line->seq == due) {
    // Its own neighbours decide which of the two was changed: this one, or the one before.
    bool follows = behind.has_next && behind.next_prev == line->hash;
    if (follows || !behind.has_next)
      return the_last("edited",
                      cat("record ", due, " names another hash for record ", broken.last.seq,
                          ": it was changed and its hash computed anew"));
    return here("edited", cat("record ", due, " does not follow record ", broken.last.seq,
                              ", nor the next one it: it was changed and its hash computed anew"));
  }
  if (line->seq > due && !in_place) {
    if (line->kind == "log.open" && line->seq == due + 1 && !broken.last_is_seal)
      return here("missing_seal",
                  cat("the seal that ended '", segment_name(broken.last_segment), "' was removed"));
    return here("removed", cat(records(line->seq - due), ", from ", due, " to ", line->seq - 1,
                               ", ", line->seq - due == 1 ? "is" : "are", " gone"));
  }
  if (in_place)
    return here("edited",
                cat("another record (number ", line->seq, ") stands in place of record ", due));
  return here("inserted",
              cat("a copy of record ", line->seq, " stands behind record ", broken.last.seq));
}

}  // namespace paddock::audit
