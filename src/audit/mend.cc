// What a writer does when the log does not end where `head` says: it goes on after what is there,
// and records what it found, so that it stays visible. Nothing here destroys a record that is whole
// and was acknowledged.
#include <fcntl.h>

#include "audit/state.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

// What was cut off or taken over, and why.
Event recovered(const LogEnd& log_end) {
  Value data;
  data.set("bytes", log_end.torn);
  if (log_end.torn > 0) data.set("sha256", log_end.torn_hash);
  data.set("adopted", log_end.adopted);
  data.set("seq", log_end.head.last.seq);
  std::string why =
      log_end.kind == LogEnd::Kind::torn ? "a writer was interrupted" : "the machine went down";
  if (log_end.adopted > 0)
    why += cat("; records ", log_end.head.last.seq - log_end.adopted + 1, " to ",
               log_end.head.last.seq,
               " are newer than 'head' on the disk, which does not vouch for them: written before "
               "that, or added by somebody");
  if (log_end.slot_torn) why += "; a slot of 'head' was not whole";
  data.set("why", why);
  return log_event("log.recovered", data);
}

// Which records are missing.
Event gap(const LogEnd& log_end) {
  Value data;
  data.set("missing", log_end.missing);
  data.set("from", log_end.head.last.seq + 1);
  data.set("to", log_end.expected.last.seq);
  data.set("synced", log_end.head.synced.seq);
  data.set("hash", log_end.expected.last.hash);  // of the last one that is missing
  data.set("why", "records that were not yet on the disk are gone: the machine went down");
  return log_event("log.gap", data);
}

}  // namespace

// What was expected, and what was found instead.
Event damage_event(const LogEnd& log_end) {
  auto place = [](const Mark& mark) {
    Value value;
    value.set("segment", mark.segment);
    value.set("seq", mark.last.seq);
    value.set("hash", mark.last.hash);
    value.set("size", mark.size);
    return value;
  };
  Value data;
  data.set("what", log_end.what);
  data.set("why", log_end.why);
  data.set("from", log_end.from);
  data.set("expected", place(log_end.expected));
  data.set("found", place(log_end.head));
  data.set("bytes", log_end.torn);  // that were cut off, since they are not records
  if (!log_end.torn_hash.empty()) data.set("sha256", log_end.torn_hash);
  return log_event("log.damage", data);
}

// The order matters: whoever is interrupted here must leave what the next writer understands.
Result<void> Log::State::mend(const LogEnd& log_end, const Heads& heads) {
  using Kind = LogEnd::Kind;
  head = log_end.head;
  open_segment = 0;
  if (head.size > 0 && !head.ended) {
    segment_file = TRY(open_in(directory.get(), segment_name(head.segment), O_RDWR));
    open_segment = head.segment;
  }
  std::vector<Event> events;
  if (log_end.kind == Kind::lost && log_end.missing > 0) events.push_back(gap(log_end));
  if (log_end.kind == Kind::torn ||
      (log_end.kind == Kind::lost &&
       (log_end.torn > 0 || log_end.adopted > 0 || log_end.slot_torn)))
    events.push_back(recovered(log_end));
  if (log_end.kind == Kind::damaged) events.push_back(damage_event(log_end));

  // After the machine was down, the slots may not belong together. Until they do again they keep
  // the boot in which they were written, and one of them what was expected: who is interrupted here
  // leaves what the next one finds in the same way.
  std::string now = boot;
  Result<void> done;
  if (log_end.kind == Kind::lost) {
    boot = heads.newest()->boot;
    if (!heads.done) {
      Head known = *heads.intent;
      static_cast<Mark&>(known) = heads.before;
      --known.generation;
      done = write_slot(kDoneAt, encode_done(known, mac_key));
    }
  }
  if (done && log_end.torn > 0) {
    Result<Fd> file = open_in(directory.get(), segment_name(log_end.cut), O_RDWR);
    if (!file)
      done = file.error();
    else if (disk->cut(file.value().get(), log_end.cut_at) != 0)
      done = errno_error(errno, "cut off what is not a record of the audit log");
  }
  if (done && log_end.kind == Kind::unacknowledged) done = write_done(head);
  bool begins = head.size == 0 || head.ended;
  if (done && begins)
    done = begin_segment(std::move(events));
  else if (done && !events.empty())
    done = write(events);
  boot = std::move(now);
  return done;
}

}  // namespace paddock::audit
