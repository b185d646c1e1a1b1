#include "audit/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "audit/state.h"
#include "base/digest.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

// How long after a failed rotation it is tried again, in microseconds.
constexpr int64_t kTryFullAgainUs = 10'000'000;

// Lack of room has one code, wherever it comes from: the disk, a quota, a limit on the size of
// files.
Error write_error(int number, std::string_view what) {
  Error error = errno_error(number, cat("record in the audit log: ", what),
                            number == ENOSPC || number == EDQUOT || number == EFBIG
                                ? "make room, or bound the log: [audit] max_size and keep"
                                : "");
  if (number == EFBIG) error.code = Code::exhausted;
  return error;
}

Result<std::string> read_image(int file) {
  std::string image(kHeadSize + 1, '\0');  // one more, to see whether it is longer
  ssize_t count;
  do count = ::pread(file, image.data(), image.size(), 0);
  while (count < 0 && errno == EINTR);
  if (count < 0) return errno_error(errno, "read the audit log's head");
  image.resize(static_cast<size_t>(count));
  return image;
}

// The size of the file under this name, if it is the one that is open: somebody may have taken it
// away.
Result<std::optional<uint64_t>> size_of(int directory, const std::string& name, int file) {
  struct stat named, open;
  if (file < 0) return std::optional<uint64_t>();
  if (::fstat(file, &open) != 0) return errno_error(errno, "look at the audit log");
  if (::fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0)
    return std::optional<uint64_t>();
  bool same = named.st_ino == open.st_ino && named.st_dev == open.st_dev;
  return same ? std::optional<uint64_t>(open.st_size) : std::nullopt;
}

// The first time in this directory: the head, then the key that it was written with, then a
// segment. So a key without a head means that the head was taken away, and a segment without a key
// that the key was.
Result<void> set_up(Log::State& state) {
  int directory = state.directory.get();
  Result<std::string> seed = read_seed(directory);
  bool fresh = !seed && seed.error().code == Code::not_found;
  if (!seed && !fresh) return seed.error();
  if (fresh && !TRY(segment_numbers(directory)).empty())
    return Error{Code::denied, "open the audit log: its key is gone",
                 "restore the file 'key', or move the log away to begin a new one"};
  state.seed = fresh ? TRY(random_bytes(kSeedSize)) : seed.value();
  state.mac_key = mac_key_of(state.seed);
  if (!fresh) return {};
  Head first;
  first.boot = state.boot;
  (void)state.disk->remove(directory, "head");  // of a start that was interrupted
  TRY(make_file(*state.disk, directory, "head",
                encode_intent(first, first, state.mac_key) + encode_done(first, state.mac_key)));
  TRY(make_file(*state.disk, directory, "key", state.seed));
  return {};
}

}  // namespace

// For records that the log writes about itself.
Event log_event(const char* kind, Value data) {
  Event event;
  event.kind = kind;
  event.time_us = wall_clock_us();
  event.data = std::move(data);
  return event;
}

Log::Log(std::unique_ptr<State> state) : state_(std::move(state)) {}
Log::Log(Log&&) noexcept = default;
Log::~Log() = default;

// Opening makes what is missing; everything else waits for the lock.
Result<Log> Log::open(const LogOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->disk = options.disk ? options.disk : &Disk::real();
  state->boot = state->disk->boot_id();
  state->directory = TRY(open_log_directory(options.directory));
  Lock lock = TRY(state->lock());
  TRY(set_up(*state));
  TRY(state->refresh());
  return Log(std::move(state));
}

// The lock is on the directory that was opened, which must still be the one at its path.
Result<Lock> Log::State::lock() {
  struct stat open, named;
  Lock lock = TRY(Lock::take(directory.get()));
  if (::fstat(directory.get(), &open) != 0) return errno_error(errno, "look at the audit log");
  bool there = ::lstat(options.directory.c_str(), &named) == 0;
  if (there && open.st_dev == named.st_dev && open.st_ino == named.st_ino) return lock;
  return Error{Code::denied,
               cat("record in the audit log: '", printable(options.directory),
                   there ? "' is another directory than the one that was opened"
                         : "' is gone: it was moved or removed"),
               "put it back where it was; to begin a new log there, restart"};
}

// Nothing is read when the head is as this process left it.
Result<void> Log::State::refresh() {
  bool has_head = TRY(size_of(directory.get(), "head", head_file.get())).has_value();
  if (!has_head) {
    image.reset();
    Result<Fd> file = open_in(directory.get(), "head", O_RDWR);
    if (!file && file.error().code != Code::not_found) return file.error();
    has_head = static_cast<bool>(file);
    head_file = file ? std::move(file.value())
                     : TRY(make_file(*disk, directory.get(), "head", std::string(kHeadSize, '\0')));
  }
  std::string now = TRY(read_image(head_file.get()));
  bool known =
      image && *image == now && !head.ended && head.size > 0 && open_segment == head.segment;
  if (known) {
    std::optional<uint64_t> size =
        TRY(size_of(directory.get(), segment_name(head.segment), segment_file.get()));
    if (size && *size == head.size && TRY(ends_at(segment_file.get(), head))) return {};
  }
  Heads heads = read_heads(now, mac_key);
  LogEnd log_end = TRY(examine(directory.get(), heads, has_head, boot));
  image.reset();
  TRY(mend(log_end, heads));
  image = TRY(read_image(head_file.get()));
  return {};
}

// Makes the lines and the head that follows them; nothing is written yet.
Log::State::Batch Log::State::prepare(const std::vector<Event>& events, Head change) const {
  Batch batch;
  batch.at = change.size;
  batch.next = std::move(change);
  for (const Event& event : events) append_record(event, batch.next.last, batch.lines);
  batch.next.size += batch.lines.size();
  batch.next.generation = head.generation + 1;
  batch.next.boot = boot;
  return batch;
}

// A slot is written as a whole. After a failure the file's content is unknown, so it is read again.
Result<void> Log::State::write_slot(uint64_t at, const std::string& slot) {
  ssize_t count = disk->write_at(head_file.get(), slot, at);
  if (count != static_cast<ssize_t>(slot.size())) {
    image.reset();
    return write_error(count < 0 ? errno : ENOSPC, "write 'head'");
  }
  if (image && image->size() == kHeadSize)
    image->replace(at, slot.size(), slot);
  else
    image.reset();
  return {};
}

// The intent says what will be written, so that a crash can be told from tampering.
Result<void> Log::State::announce(const Batch& batch) {
  return write_slot(kIntentAt, encode_intent(batch.next, head, mac_key));
}

// Writes the lines and then says so in `head`. If either fails, the segment is cut back.
Result<void> Log::State::commit(const Batch& batch) {
  std::string_view left = batch.lines;
  int failure = 0;
  for (uint64_t at = batch.at; !left.empty() && !failure;) {
    ssize_t count = disk->write_at(segment_file.get(), left, at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) failure = count < 0 ? errno : ENOSPC;
    if (count <= 0) break;
    left.remove_prefix(static_cast<size_t>(count));
    at += static_cast<uint64_t>(count);
  }
  Result<void> done =
      failure ? Result<void>(write_error(failure, "write")) : write_done(batch.next);
  if (done) return done;
  // A part of it must not stay. If it does (nothing can be done about it here), the next writer
  // finds and removes it.
  (void)disk->cut(segment_file.get(), batch.at);
  image.reset();
  return done;
}

Result<void> Log::State::write(const std::vector<Event>& events, Head change) {
  Batch batch = prepare(events, std::move(change));
  TRY(announce(batch));
  return commit(batch);
}

// In-memory state follows the disk, never the reverse.
Result<void> Log::State::write_done(Head next) {
  next.boot = boot;
  TRY(write_slot(kDoneAt, encode_done(next, mac_key)));
  head = std::move(next);
  return {};
}

// All events in one write, under one lock. What is full is rotated first.
Result<void> Log::append(const std::vector<Event>& events, Sync sync) {
  State& state = *state_;
  {
    Lock lock = TRY(state.lock());
    TRY(state.refresh());
    int64_t now = wall_clock_us();
    if (on_full && state.is_full() && now - state.full_failed_us > kTryFullAgainUs) {
      lock.release();
      // Who set it knows; the segment may grow for a while.
      if (!on_full(*this)) state.full_failed_us = now;
      lock = TRY(state.lock());
      TRY(state.refresh());
    }
    if (state.distrusted) {
      Value unsure;
      unsure.set("missing", 0);
      unsure.set("unsure_from", state.head.synced.seq + 1);
      unsure.set("unsure_to", state.head.last.seq);
      unsure.set("why",
                 "the disk reported an error: these records were written, but may not be on it");
      TRY(state.end_segment(Value::Object{{"signed", false}, {"why", "the disk reported an error"}},
                            {log_event("log.gap", unsure)}));
      state.distrusted = false;
    } else if (state.is_overfull()) {
      TRY(state.end_segment(
          Value::Object{{"signed", false}, {"why", "full, and nobody came to sign it"}}, {}));
      (void)state.retire();  // the next signer says why it does not work
    }
    if (events.empty() && state.head.missing == 0) return {};
    Head next = state.head;
    std::vector<Event> all;
    if (state.head.missing > 0) {
      Value gap;
      gap.set("missing", state.head.missing);
      gap.set("since", rfc3339(state.head.missing_since_us));
      gap.set("until", rfc3339(now));
      gap.set("why", "there was no room for them");
      all.push_back(log_event("log.gap", gap));
      next.missing = 0;
      next.missing_since_us = 0;
    }
    if (!all.empty()) all.insert(all.end(), events.begin(), events.end());
    TRY(state.write(all.empty() ? events : all, next));
    state.appended = {state.head.last.seq - events.size() + 1, state.head.last.seq};
    state.appended_last = state.head.last;
  }
  return sync == Sync::disk ? this->sync() : Result<void>();
}

Range Log::appended() const { return state_->appended; }

// The lock is not held while the disk works: others may append meanwhile.
Result<void> Log::sync() {
  State& state = *state_;
  Link last = state.appended_last;
  if (state.disk->sync(state.segment_file.get()) != 0) {
    int number = errno;
    state.distrusted = true;
    return write_error(number, "wait for the disk");
  }
  Lock lock = TRY(state.lock());
  TRY(state.refresh());
  if (state.head.synced.seq >= last.seq) return {};
  Head next = state.head;
  next.synced = last;
  return state.write_done(next);
}

// Needs no room on the disk: the slot is overwritten in place.
Result<void> Log::count_missing(uint64_t count) {
  State& state = *state_;
  Lock lock = TRY(state.lock());
  Heads heads = read_heads(TRY(read_image(state.head_file.get())), state.mac_key);
  state.image.reset();
  if (!heads.done)
    return Error{Code::io, "count a missing record: the audit log's head cannot be read",
                 "paddock audit verify"};
  state.head = *heads.done;
  Head next = state.head;
  if (next.missing == 0) next.missing_since_us = wall_clock_us();
  next.missing += count;
  return state.write_done(next);
}

bool Log::is_full() const { return state_->is_full(); }

}  // namespace paddock::audit
