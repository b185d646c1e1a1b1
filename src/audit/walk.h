// A log from its first line to its last: every record's hash, its place in the chain, and every
// seal.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "audit/diagnose.h"
#include "audit/seal.h"
#include "audit/verify.h"

namespace paddock::audit {

class Walk {
 public:
  Walk(const Snapshot& snapshot, const std::optional<PublicKey>& key)
      : snapshot_(snapshot), key_(key) {}

  // Its hash is wanted afterwards.
  void remember(uint64_t seq) { hashes_[seq]; }
  Result<void> go(const std::function<void(uint64_t, uint64_t)>& progress);

  // Except for what only `head` knows.
  Verified verified;
  // Records up to this one are covered by a signature.
  uint64_t vouched = 0;
  // Segments that have ended; of them without a signature, since the last that has one.
  uint64_t closed = 0, unsigned_since = 0;
  // What writers found, by their log.damage records.
  std::vector<Damage> told;
  // The last line has no end.
  bool torn_end = false;
  uint64_t torn_bytes = 0;
  // That was to be remembered, and is there; also of the one before the first.
  std::optional<std::string> hash_of(uint64_t seq) const;

 private:
  // Returns false on damage.
  Result<bool> walk_segment(size_t index);
  Result<bool> begin_later(int file, const Snapshot::Segment& segment);
  Result<bool> accept(const Record& line, std::string_view text, size_t index, uint64_t number);
  bool check_seal(const Record& line, const Value& data, const Snapshot::Segment& segment);
  void note(const Record& line, const Value& data);
  bool fail(Damage damage) {
    verified.damage = std::move(damage);
    return false;
  }
  bool has_own_name(std::string_view line, const Snapshot::Segment& segment);
  // With what diagnose() finds there.
  Result<bool> fail_at(const Break& broken);
  void check_start();

  const Snapshot& snapshot_;
  const std::optional<PublicKey>& key_;
  std::map<uint64_t, std::string> hashes_;
  Link last_, before_;
  bool begun_ = false, last_is_seal_ = false;
  uint64_t last_segment_ = 0, last_line_ = 0, first_of_segment_ = 0;
  // The hash before the first record that is there.
  std::string start_prev_;
  // A record says why there is nothing before it.
  bool start_retired_ = false;
  uint64_t done_ = 0, told_ = 0;
  std::function<void(uint64_t, uint64_t)> progress_;
  size_t more_notes_ = 0;
};

}  // namespace paddock::audit
