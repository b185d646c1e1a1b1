// What a writer does when the log does not end where `head` says: it goes on behind what is there,
// and records what it found, so that it stays visible. Nothing here destroys a record that is whole
// and was acknowledged.
#include <fcntl.h>

#include "audit/state.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

Event recovered(const Ending& ending) {
  Value data;
  data.set("bytes", ending.torn);
  if (ending.torn > 0) data.set("sha256", ending.torn_hash);
  data.set("adopted", ending.adopted);
  data.set("seq", ending.head.last.seq);
  std::string why =
      ending.kind == Ending::Kind::torn ? "a writer was interrupted" : "the machine went down";
  if (ending.adopted > 0)
    why +=
        cat("; records ", ending.head.last.seq - ending.adopted + 1, " to ", ending.head.last.seq,
            " are newer than 'head' on the disk, which does not vouch for them: written before "
            "that, or added by somebody");
  if (ending.slot_torn) why += "; a slot of 'head' was not whole";
  data.set("why", why);
  return log_event("log.recovered", data);
}

Event gap(const Ending& ending) {
  Value data;
  data.set("missing", ending.missing);
  data.set("from", ending.head.last.seq + 1);
  data.set("to", ending.expected.last.seq);
  data.set("synced", ending.head.synced.seq);
  data.set("hash", ending.expected.last.hash);  // of the last one that is missing
  data.set("why", "records that were not yet on the disk are gone: the machine went down");
  return log_event("log.gap", data);
}

}  // namespace

Event damage_event(const Ending& ending) {
  auto place = [](const Mark& mark) {
    Value value;
    value.set("segment", mark.segment);
    value.set("seq", mark.last.seq);
    value.set("hash", mark.last.hash);
    value.set("size", mark.size);
    return value;
  };
  Value data;
  data.set("what", ending.what);
  data.set("why", ending.why);
  data.set("from", ending.from);
  data.set("expected", place(ending.expected));
  data.set("found", place(ending.head));
  data.set("bytes", ending.torn);  // that were cut off, since they are no record
  if (!ending.torn_hash.empty()) data.set("sha256", ending.torn_hash);
  return log_event("log.damage", data);
}

Result<void> Log::State::mend(const Ending& ending, const Heads& heads) {
  using Kind = Ending::Kind;
  head = ending.head;
  open_segment = 0;
  if (head.size > 0 && !head.ended) {
    segment_file = TRY(open_in(directory.get(), segment_name(head.segment), O_RDWR));
    open_segment = head.segment;
  }
  std::vector<Event> events;
  if (ending.kind == Kind::lost && ending.missing > 0) events.push_back(gap(ending));
  if (ending.kind == Kind::torn ||
      (ending.kind == Kind::lost && (ending.torn > 0 || ending.adopted > 0 || ending.slot_torn)))
    events.push_back(recovered(ending));
  if (ending.kind == Kind::damaged) events.push_back(damage_event(ending));

  // After the machine was down, the slots may not belong together. Until they do again they keep
  // the boot in which they were written, and one of them what was expected: who is interrupted here
  // leaves what the next one finds in the same way.
  std::string now = boot;
  Result<void> done;
  if (ending.kind == Kind::lost) {
    boot = heads.newest()->boot;
    if (!heads.done) {
      Head known = *heads.intent;
      static_cast<Mark&>(known) = heads.before;
      --known.generation;
      done = write_slot(kDoneAt, encode_done(known, mac_key));
    }
  }
  if (done && ending.torn > 0) {
    Result<Fd> file = open_in(directory.get(), segment_name(ending.cut), O_RDWR);
    if (!file)
      done = file.error();
    else if (disk->cut(file.value().get(), ending.cut_at) != 0)
      done = errno_error(errno, "cut off what is no record of the audit log");
  }
  if (done && ending.kind == Kind::unacknowledged) done = write_done(head);
  bool begins = head.size == 0 || head.ended;
  if (done && begins)
    done = begin_segment(std::move(events));
  else if (done && !events.empty())
    done = write(events);
  boot = std::move(now);
  return done;
}

}  // namespace paddock::audit
