#include "audit/diagnose.h"

#include "audit/line_reader.h"
#include "audit/log_directory.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

// What stands after the line that does not fit. Records know their neighbours by hash, so the ones
// that belong there can be told from any others, wherever they are now.
struct Behind {
  // The record that should stand here.
  bool rightful = false;
  // The line again.
  bool copy = false;
  // A neighbour of the line: it is a record of this chain.
  bool linked = false;
  // The line right after it.
  bool has_next = false;
  uint64_t next_seq = 0;
  std::string next_prev;
};

// Reads everything after the break once. This is expensive, but only done for a damaged log.
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

// The line that does not fit, what stands after it, and the record that is due there.
struct Site {
  const Break& broken;
  // The name of its file.
  std::string segment;
  uint64_t due = 0;
  std::optional<Record> line;
  Behind behind;

  // Damage at the line that does not fit.
  Damage here(const char* what, std::string why) const {
    return {what, due, segment, broken.line, std::move(why)};
  }
  // Damage at the record before it, which turned out to be the wrong one.
  Damage at_the_last(const char* what, std::string why) const {
    return {what, broken.last.seq, segment_name(broken.last_segment), broken.last_line,
            std::move(why)};
  }
  bool next_names(const Record& record) const {
    return behind.has_next && behind.next_prev == record.hash;
  }
};

// The line is not a record, or its hash is not that of its content.
Damage about_no_record(const Site& site) {
  if (site.behind.rightful)
    return site.here(
        "inserted", cat("a line that is not a record of this log stands before record ", site.due));
  return site.here(
      "edited", site.line ? cat("the content of record ", site.due, " does not give its hash")
                          : cat("what stands in place of record ", site.due, " is not a record"));
}

// Two records claim the same place: the one that the next record names is the true one.
Damage about_second_claim(const Site& site) {
  uint64_t seq = site.broken.last.seq;
  if (site.next_names(*site.line))
    return site.at_the_last(
        "inserted", cat("a record that does not belong there stands before the true record ", seq));
  return site.here("inserted", cat("a second record ", seq, " stands after the true one"));
}

// The record that is due comes later.
Damage about_intruder(const Site& site) {
  const Record& line = *site.line;
  if (site.behind.copy)
    return site.here("inserted",
                     cat("a copy of record ", line.seq, " stands before record ", site.due));
  if (line.seq > site.due && site.behind.linked)
    return site.here("reordered", cat("record ", line.seq, " stands where record ", site.due,
                                      " belongs, which comes later"));
  return site.here("inserted",
                   cat(line.seq < site.due ? "a copy of record " : "a foreign record with number ",
                       line.seq, " stands before record ", site.due));
}

// It has the right number and names another hash for the one before: its own neighbours decide
// which of the two was changed.
Damage about_wrong_link(const Site& site) {
  uint64_t last = site.broken.last.seq;
  if (site.next_names(*site.line) || !site.behind.has_next)
    return site.at_the_last("edited", cat("record ", site.due, " names another hash for record ",
                                          last, ": it was changed and its hash computed again"));
  return site.here("edited", cat("record ", site.due, " does not follow record ", last,
                                 ", nor the next one it: it was changed and its hash computed "
                                 "again"));
}

// Records are missing before this one.
Damage about_gap(const Site& site) {
  uint64_t seq = site.line->seq, due = site.due;
  if (site.line->kind == "log.open" && seq == due + 1 && !site.broken.last_is_seal)
    return site.here("missing_seal", cat("the seal that ended '",
                                         segment_name(site.broken.last_segment), "' was removed"));
  return site.here("removed", cat(records(seq - due), ", from ", due, " to ", seq - 1, ", ",
                                  seq - due == 1 ? "is" : "are", " gone"));
}

}  // namespace

// The order of the questions matters: each one assumes that those before it were answered with no.
Result<Damage> diagnose(const Snapshot& snapshot, const Break& broken) {
  Site site{.broken = broken,
            .segment = segment_name(snapshot.segments[broken.segment].number),
            .due = broken.last.seq + 1,
            .line = broken.whole ? read_record(broken.text) : std::nullopt};
  bool holds = site.line && site.line->holds();
  site.behind = TRY(look_behind(snapshot, broken, holds ? site.line : std::nullopt));
  if (!holds) return about_no_record(site);

  const Record& line = *site.line;
  const Behind& behind = site.behind;
  // Whatever the line is, it stands for one record.
  bool in_place = behind.has_next && behind.next_seq == site.due + 1 && !behind.rightful;
  if (line.hash == broken.last.hash && !in_place)
    return site.here("inserted", cat("a copy of record ", line.seq, " stands after it"));
  if (line.seq == broken.last.seq && line.prev == broken.before.hash && !in_place)
    return about_second_claim(site);
  if (behind.rightful) return about_intruder(site);
  if (line.seq == site.due) return about_wrong_link(site);
  if (line.seq > site.due && !in_place) return about_gap(site);
  if (in_place)
    return site.here("edited", cat("another record (number ", line.seq,
                                   ") stands in place of record ", site.due));
  return site.here("inserted",
                   cat("a copy of record ", line.seq, " stands after record ", broken.last.seq));
}

}  // namespace paddock::audit
