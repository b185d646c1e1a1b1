#include "audit/verify.h"

#include <fcntl.h>

#include <charconv>

#include "audit/disk.h"
#include "audit/log_directory.h"
#include "audit/log_end.h"
#include "audit/seal.h"
#include "audit/snapshot.h"
#include "audit/walk.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

// How often a check is repeated because a segment vanished under it.
constexpr int kTries = 3;

struct Expected {
  uint64_t seq = 0;
  std::string hash;
};

// "SEQ:HASH", as an earlier check printed it.
Result<std::optional<Expected>> read_expected(const std::string& text) {
  if (text.empty()) return std::optional<Expected>();
  Expected expected;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), expected.seq);
  size_t colon = static_cast<size_t>(end - text.data());
  expected.hash = colon < text.size() ? text.substr(colon + 1) : "";
  if (failed != std::errc() || expected.seq == 0 || text[colon] != ':' ||
      expected.hash.size() != kNoHash.size() ||
      expected.hash.find_first_not_of("0123456789abcdef") != std::string::npos)
    return Error{Code::invalid, cat("what is expected, '", printable(text), "': not SEQ:HASH"),
                 "as verify prints it: 1234:<64 hex digits>"};
  return std::optional<Expected>(expected);
}

// The key to verify with, and whether all keys that are there agree.
struct Keys {
  std::optional<PublicKey> key;
  std::optional<Damage> damage;
};

// The caller's key, or else the log's own, which proves less: whoever can write the log can replace
// it.
Result<Keys> find_key(const Snapshot& snapshot, const std::string& given) {
  Keys keys;
  std::optional<PublicKey> own, written;
  if (snapshot.seed) own = TRY(PublicKey::from_seed(*snapshot.seed));
  Result<Fd> file = open_in(snapshot.directory.get(), "key.pub", O_RDONLY);
  if (file) {
    Result<PublicKey> read = PublicKey::from_pem(TRY(read_all(file.value().get(), 4096)));
    if (read)
      written = std::move(read.value());
    else
      keys.damage = Damage{"other_key", 0, "key.pub", 0, "key.pub is not a key"};
  }
  if (own && written && !(*own == *written))
    keys.damage = Damage{"other_key", 0, "key.pub", 0, "key.pub does not belong to the log's key"};
  if (given.empty()) {
    keys.key = own ? own : written;
    return keys;
  }
  keys.key = TRY(PublicKey::from_pem(given));
  keys.damage.reset();  // a caller with a key asks about that one alone
  if (own && !(*own == *keys.key))
    keys.damage =
        Damage{"other_key", 0, "key", 0, "the log's key is another than the one that was given"};
  return keys;
}

std::string range(uint64_t first, uint64_t last) {
  return first == last ? cat("record ", first) : cat("records ", first, " to ", last);
}

// What is good of it when everything from this record on is doubtful.
void keep_before(uint64_t seq, const Walk& walk, Verified& verified) {
  if (seq > verified.last) return;
  verified.records = seq > verified.first ? seq - verified.first : 0;
  verified.last = seq - 1;
  verified.last_hash = walk.hash_of(verified.last).value_or("");
}

// The end of the log against what `head` says of it.
void check_end(const Snapshot& snapshot, const Walk& walk, Verified& verified) {
  const LogEnd& log_end = *snapshot.log_end;
  using Kind = LogEnd::Kind;
  uint64_t end = log_end.head.last.seq;
  if (log_end.kind == Kind::damaged) {
    std::string segment =
        ends_with(log_end.what, "_head") ? "head" : segment_name(log_end.expected.segment);
    verified.damage = Damage{log_end.what, log_end.from > 0 ? log_end.from : walk.vouched + 1,
                             std::move(segment), 0, log_end.why};
    keep_before(verified.damage->seq, walk, verified);
    return;
  }
  if (log_end.kind == Kind::unacknowledged)
    verified.notes.push_back(
        cat(range(log_end.expected.last.seq + 1, end),
            ": their writer was interrupted before it could say that they are there"));
  if (log_end.kind == Kind::torn)
    verified.notes.push_back(cat("the last ", log_end.torn,
                                 " bytes are the start of an append that was never acknowledged"));
  if (log_end.kind == Kind::lost) {
    if (log_end.missing > 0)
      verified.notes.push_back(cat(range(end + 1, log_end.expected.last.seq),
                                   log_end.missing == 1 ? " is" : " are",
                                   " gone from the end of the log: not known to be on the disk "
                                   "when the machine went down; the next record will tell"));
    if (log_end.adopted > 0)
      verified.notes.push_back(cat(range(end - log_end.adopted + 1, end),
                                   ": 'head' does not vouch for them: newer than it when the "
                                   "machine went down, or added by somebody"));
    if (log_end.torn > 0)
      verified.notes.push_back(
          cat("the last ", log_end.torn, " bytes are no record: the machine went down"));
    if (log_end.slot_torn)
      verified.notes.push_back("a slot of 'head' is not whole: the machine went down");
  }
  if (log_end.head.missing > 0)
    verified.notes.push_back(cat(log_end.head.missing, " records since ",
                                 rfc3339(log_end.head.missing_since_us),
                                 " could not be written; the next record will tell of them"));
}

// A record that was noted elsewhere must still be there, with the same hash.
void check_expected(const Expected& expected, const Walk& walk, Verified& verified) {
  std::string where = cat("record ", expected.seq);
  std::optional<std::string> hash = walk.hash_of(expected.seq);
  if (!hash && expected.seq < verified.first) {
    verified.damage = Damage{"not_there", expected.seq, "", 0,
                             cat(where, " was expected, but the log begins with ", verified.first,
                                 ": it was retired with its segment, and that it was as noted "
                                 "cannot be shown any more")};
  } else if (!hash) {
    verified.damage = Damage{"truncated", verified.last + 1, "", 0,
                             cat(where, " was expected, but the log ends with ", verified.last)};
  } else if (*hash != expected.hash) {
    verified.damage =
        Damage{"rewritten", walk.vouched < expected.seq ? walk.vouched + 1 : expected.seq, "", 0,
               cat(where,
                   " is another than the one expected: it or one before it was changed, and the "
                   "hashes after it computed again")};
    keep_before(verified.damage->seq, walk, verified);
  }
}

// Without the private key only signatures vouch for anything.
void check_signatures(const Walk& walk, bool key_given, Verified& verified) {
  if (key_given && walk.vouched == 0) {
    verified.damage = Damage{"unsigned", verified.first, "", 0,
                             "nothing in this log was signed with the key that was given"};
  } else if (key_given && walk.unsigned_since > 1) {
    verified.damage = Damage{"unsigned", walk.vouched + 1, "", 0,
                             cat("the last ", walk.unsigned_since,
                                 " segments that have ended are not signed, and no later one is: "
                                 "nothing shows that they were written by who has the key")};
  }
  if (verified.damage) return keep_before(verified.damage->seq, walk, verified);
  if (walk.torn_end)
    verified.notes.push_back(cat("the last ", walk.torn_bytes, " bytes are no whole record"));
  if (walk.vouched < verified.last)
    verified.notes.push_back(
        cat(range(walk.vouched + 1, verified.last),
            ": not vouched for; no seal stands after them, and the private key is not here"));
}

// Files with numbers that no segment of this log has had.
std::vector<uint64_t> take_strays(Snapshot& snapshot) {
  std::vector<uint64_t> strays;
  if (!snapshot.log_end || !snapshot.has_head) return strays;
  while (!snapshot.segments.empty() &&
         snapshot.segments.back().number > snapshot.log_end->last_segment) {
    strays.insert(strays.begin(), snapshot.segments.back().number);
    snapshot.segments.pop_back();
  }
  return strays;
}

// The walk finds damage within the records; what follows compares its result with what the head,
// the signatures and the caller know.
Result<Verified> verify_once(const VerifyOptions& options,
                             const std::optional<Expected>& expected) {
  Snapshot snapshot = TRY(
      Snapshot::take(options.directory, (options.disk ? *options.disk : Disk::real()).boot_id()));
  if (snapshot.segments.empty() && !snapshot.has_head && !snapshot.seed)
    return Error{Code::not_found,
                 cat("verify the audit log '", printable(options.directory), "': there is none"),
                 ""};
  Keys keys = TRY(find_key(snapshot, options.public_key));
  std::vector<uint64_t> strays = take_strays(snapshot);

  Walk walk(snapshot, keys.key);
  if (expected) walk.remember(expected->seq);
  TRY(walk.go(options.progress));

  Verified verified = walk.verified;
  verified.vouched = walk.vouched;
  if (keys.damage && (!verified.damage || verified.damage->what == "other_key"))
    verified.damage = keys.damage;
  if (!verified.damage && expected) check_expected(*expected, walk, verified);
  if (!verified.damage && snapshot.seed) check_end(snapshot, walk, verified);
  if (!verified.damage && !snapshot.seed && keys.key)
    check_signatures(walk, !options.public_key.empty(), verified);
  if (!verified.damage && !keys.key)
    verified.notes.push_back("no key: nothing vouches for these records but their own hashes");
  if (!strays.empty()) {
    Damage stray{"inserted", walk.verified.last + 1, segment_name(strays.front()), 0,
                 cat("the file ", segment_name(strays.front()),
                     " is none of this log's: no segment of this number was begun")};
    if (verified.damage)
      verified.notes.push_back(stray.why);
    else
      verified.damage = std::move(stray);
  }
  // What writers found is damage for good, whatever came after.
  for (const Damage& told : walk.told) {
    if (verified.damage) {
      verified.notes.push_back(told.why);
    } else {
      verified.damage = told;
      keep_before(told.seq, walk, verified);
    }
  }
  return verified;
}

}  // namespace

Result<Verified> verify(const VerifyOptions& options) {
  std::optional<Expected> expected = TRY(read_expected(options.expect));
  // The retention rules of a writer may remove a segment while it is being read.
  for (int i = 1;; ++i) {
    Result<Verified> verified = verify_once(options, expected);
    bool vanished = !verified && verified.error().code == Code::not_found && i < kTries;
    if (!vanished) return verified;
  }
}

// As `paddock audit verify --json` prints it.
Value to_value(const Verified& verified) {
  Value value;
  value.set("ok", !verified.damage);
  value.set("records", verified.records);
  value.set("segments", verified.segments);
  value.set("sealed", verified.sealed);
  value.set("first", verified.first);
  value.set("last", verified.last);
  value.set("last_hash", verified.last_hash);
  value.set("vouched", verified.vouched);
  if (verified.damage) {
    Value damage;
    damage.set("what", verified.damage->what);
    damage.set("seq", verified.damage->seq);
    damage.set("segment", verified.damage->segment);
    damage.set("line", verified.damage->line);
    damage.set("why", verified.damage->why);
    value.set("damage", damage);
  }
  value.set("notes", text_list(verified.notes));
  return value;
}

}  // namespace paddock::audit
