// Every kind of tampering, at random places, is found and named with the first record that is bad.
#include <algorithm>
#include <functional>
#include <random>

#include "audit/audit_test.h"
#include "base/digest.h"

namespace paddock::audit {
namespace {

using Lines = std::vector<std::string>;

// A line with this body: what somebody makes who knows the format.
std::string with_hash(const std::string& body) {
  return cat(body, ",\"hash\":\"", to_hex(sha256_bytes(body)), "\"}");
}
std::string body_of(const std::string& line) { return line.substr(0, line.rfind(",\"hash\":\"")); }
std::string hash_of(const std::string& line) { return line.substr(line.size() - 66, 64); }

std::string with(std::string line, const std::string& from, const std::string& to) {
  size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << line;
  return line.replace(at, from.size(), to);
}
std::string changed(const std::string& line) {
  return with(line, "\"kind\":\"command", "\"kind\":\"Command");
}
std::string with_prev(const std::string& line, const std::string& prev) {
  std::string body = body_of(line);
  return with_hash(body.replace(body.rfind(",\"prev\":\"") + 9, 64, prev));
}
// The chain computed anew from this line on.
void rechain(Lines& lines, size_t from) {
  for (size_t i = from; i < lines.size(); ++i)
    lines[i] = with_prev(lines[i], hash_of(lines[i - 1]));
}

class TamperTest : public AuditTest {
 protected:
  // Segments of `each` records besides log.open and log.seal, and one that is not sealed.
  void make(uint64_t segments, uint64_t each, uint64_t batch) {
    Log log = open_log();
    for (uint64_t i = 0; i < segments; ++i) {
      fill(log, each, batch);
      must(seal_and_rotate(log));
    }
    fill(log, each, batch);
    must(log.sync());
    for (uint64_t i = 1; i <= segments + 1; ++i) originals_.push_back(lines(segment_name(i)));
    ASSERT_EQ(damage(), "");
  }
  void restore() {
    if (!std::filesystem::exists(base_ + "/copy"))
      std::filesystem::copy(directory_, base_ + "/copy");
    std::filesystem::remove_all(directory_);
    std::filesystem::copy(base_ + "/copy", directory_);
    std::filesystem::permissions(directory_, std::filesystem::perms::owner_all);
  }
  // What comes next in the life of a log: writers, and a seal.
  void go_on() {
    {
      Log log = open_log();
      fill(log, 2);
    }
    Log log = open_log();
    must(seal_and_rotate(log));
    fill(log, 1);
  }
  uint64_t first_of(size_t segment) const {
    uint64_t seq = 1;
    for (size_t i = 0; i < segment; ++i) seq += originals_[i].size();
    return seq;
  }

  // One act on one segment; what verify must say of it.
  std::string harm(int kind, size_t segment, Lines& lines, std::mt19937& random) {
    uint64_t first = first_of(segment);
    // Neither log.open nor log.seal, nor their neighbours.
    auto place = [&](size_t spare = 2) {
      return spare + random() % (lines.size() - 2 * spare - 1);
    };
    size_t a = place(6), b = place(6);
    switch (kind) {
      case 0:  // a byte of it
        lines[a] = changed(lines[a]);
        return cat("edited ", first + a);
      case 1:  // and its hash computed anew
        lines[a] = with_hash(body_of(changed(lines[a])));
        return cat("edited ", first + a);
      case 2: {  // only its hash
        size_t at = lines[a].size() - 10;
        lines[a][at] = lines[a][at] == '0' ? '1' : '0';
        return cat("edited ", first + a);
      }
      case 3: {  // some are gone
        size_t count = 1 + random() % 5;
        lines.erase(lines.begin() + static_cast<long>(a),
                    lines.begin() + static_cast<long>(a + count));
        return cat("removed ", first + a);
      }
      case 4:  // two have changed places
        if (a == b) ++b;
        std::swap(lines[a], lines[b]);
        return cat("reordered ", first + std::min(a, b));
      case 5: {  // one was moved
        if (a == b) ++b;
        std::string line = lines[a];
        lines.erase(lines.begin() + static_cast<long>(a));
        lines.insert(lines.begin() + static_cast<long>(b), line);
        return cat("reordered ", first + std::min(a, b));
      }
      case 6:  // a copy of a record, somewhere else
        if (a == b) ++b;
        lines.insert(lines.begin() + static_cast<long>(b), lines[a]);
        return cat("inserted ", first + std::max(b, b == a ? b + 1 : b));
      case 7:  // a copy right behind it
        lines.insert(lines.begin() + static_cast<long>(a) + 1, lines[a]);
        return cat("inserted ", first + a + 1);
      case 8:  // one of somebody's own making, well formed, and linked to the one before it
        lines.insert(lines.begin() + static_cast<long>(a), with_hash(body_of(changed(lines[a]))));
        return cat("inserted ", first + a);
      case 9:  // some text
        lines.insert(lines.begin() + static_cast<long>(a),
                     random() % 2 ? "# nothing happened here" : "");
        return cat("inserted ", first + a);
      case 10:  // another record in place of one
        if (a == b) ++b;
        lines[a] = lines[b];
        return cat("edited ", first + a);
      case 11:  // no text any more
        lines[a] = std::string(1 + random() % 300'000, 'x');
        return cat("edited ", first + a);
      default:  // one changed, and every hash behind it in this segment
        lines[a] = changed(lines[a]);
        rechain(lines, a);
        return "rewritten";
    }
  }
  static constexpr int kKinds = 13;

  void harm_often(int rounds, unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < rounds; ++round) {
      int kind = round % kKinds;
      size_t segment = random() % originals_.size();
      Lines lines = originals_[segment];
      std::string expected = harm(kind, segment, lines, random);
      std::string name = segment_name(segment + 1);
      write_lines(name, lines);
      Verified verified = check();
      ASSERT_TRUE(verified.damage) << kind << " in round " << round;
      std::string found = cat(verified.damage->what, " ", verified.damage->seq);
      if (expected == "rewritten") {
        // Who rewrites is caught by the seal or the head; which record was first changed, nobody
        // can tell any more.
        EXPECT_EQ(verified.damage->what, "rewritten") << verified.damage->why;
        EXPECT_GE(verified.damage->seq + 1, first_of(segment));
      } else {
        EXPECT_EQ(found, expected) << "kind " << kind << ", round " << round << ", " << name << ": "
                                   << verified.damage->why;
        EXPECT_EQ(verified.damage->segment, name);
        EXPECT_EQ(verified.last, verified.damage->seq - 1) << kind;
      }
      write_lines(name, originals_[segment]);
    }
    EXPECT_EQ(damage(), "");
  }

  std::vector<Lines> originals_;
};

TEST_F(TamperTest, EveryKindAtRandomPlacesOfASmallLog) {
  make(3, 60, 7);
  harm_often(40 * kKinds, 1);
}

TEST_F(TamperTest, EveryKindAtRandomPlacesOfAHundredThousandRecords) {
  make(3, 25'000, 500);
  Verified verified = check();
  EXPECT_EQ(verified.sealed, 3U);
  EXPECT_GE(verified.records, 100'000U);
  harm_often(2 * kKinds, 2);
}

TEST_F(TamperTest, ATailCutAnywhereIsMissed) {
  make(1, 40, 4);
  std::string name = segment_name(2), content = read(name);
  uint64_t first = first_of(1);
  for (size_t size = 0; size < content.size(); size += 97) {
    write(name, std::string_view(content).substr(0, size));
    uint64_t whole = static_cast<uint64_t>(
        std::count(content.begin(), content.begin() + static_cast<long>(size), '\n'));
    ASSERT_EQ(damage(), cat("truncated ", first + whole)) << size;
  }
  ASSERT_EQ(::unlink(at(name).c_str()), 0);
  EXPECT_EQ(damage(), cat("truncated ", first));
}

TEST_F(TamperTest, SegmentsThatAreGoneOrExchanged) {
  make(3, 20, 5);
  std::string two = at(segment_name(2)), three = at(segment_name(3)), other = base_ + "/other";
  std::filesystem::rename(two, other);
  EXPECT_EQ(damage(), cat("missing_segment ", first_of(1)));
  std::filesystem::rename(three, two);
  std::filesystem::rename(other, three);
  EXPECT_EQ(damage(), cat("swapped ", first_of(1)));
  std::filesystem::rename(three, other);
  std::filesystem::rename(two, three);
  std::filesystem::rename(other, two);
  EXPECT_EQ(damage(), "");
  std::filesystem::remove(at(segment_name(1)));
  EXPECT_EQ(damage(), "missing_segment 1");
}

TEST_F(TamperTest, TheFirstRecordsOfAll) {
  make(1, 20, 5);
  Lines lines = originals_[0];
  lines.erase(lines.begin());
  write_lines(segment_name(1), lines);
  EXPECT_EQ(damage(), "removed 1");
  lines = originals_[0];
  std::swap(lines[0], lines[1]);
  write_lines(segment_name(1), lines);
  EXPECT_EQ(damage(), "reordered 1");
  lines = originals_[0];
  lines[0][40] ^= 1;
  write_lines(segment_name(1), lines);
  EXPECT_EQ(damage(), "edited 1");
}

TEST_F(TamperTest, SealsThatAreGoneOrOfAnotherKey) {
  make(2, 20, 5);
  Lines lines = originals_[0];
  lines.pop_back();
  write_lines(segment_name(1), lines);
  EXPECT_EQ(damage(), cat("missing_seal ", first_of(1) - 1));
  lines.pop_back();
  write_lines(segment_name(1), lines);
  EXPECT_EQ(damage(), cat("missing_seal ", first_of(1) - 2));
  write_lines(segment_name(1), originals_[0]);

  std::string mine = must(public_key(directory_));
  std::filesystem::create_directory(base_ + "/other");
  std::filesystem::permissions(base_ + "/other", std::filesystem::perms::owner_all);
  Log other = must(Log::open({.directory = base_ + "/other"}));
  must(seal_and_rotate(other));
  std::string theirs = must(public_key(base_ + "/other"));
  EXPECT_FALSE(check(mine).damage);
  EXPECT_EQ(check(theirs).damage->what, "other_key");
  // A copy without the private key, and somebody else's public key in it.
  std::filesystem::remove(at("key"));
  write("key.pub", theirs);
  EXPECT_EQ(damage(), cat("other_key ", first_of(1) - 1));
  EXPECT_FALSE(check(mine).damage);
}

TEST_F(TamperTest, AHeadThatIsGoneOrForged) {
  make(1, 20, 5);
  restore();
  std::string head = read("head");
  std::filesystem::remove(at("head"));
  EXPECT_EQ(check().damage->what, "missing_head");
  // NULs, one slot alone, a number changed, slots exchanged, too much of it: at once, and for good
  // when a writer comes.
  std::string intent = head.substr(0, 2048), done = head.substr(2048), nothing(2048, '\0');
  for (const std::string& forged :
       {std::string(), nothing + nothing, intent + nothing, nothing + done, intent, done + intent,
        head + "x", std::string(5000, 'x'), with(head, "\"synced\":", "\"synced\":1"),
        intent + with(done, "\"missing\":", "\"missing\":1")}) {
    restore();
    write("head", forged);
    EXPECT_EQ(check().damage->what, "bad_head");
    go_on();
    EXPECT_EQ(check().damage->what, "bad_head");
  }
  restore();
  std::filesystem::remove(at("head"));
  go_on();
  EXPECT_EQ(check().damage->what, "missing_head");
}

// What a review did: each hides something, and each was true once the next writer had come.
TEST_F(TamperTest, WhatNobodyCanMakeTrueByWaiting) {
  make(2, 20, 5);
  std::string open = segment_name(3), head = read("head");
  Lines lines = originals_[2];
  struct Act {
    const char* name;
    std::function<void()> act;
    const char* found;
  };
  auto shorter = [](const std::string& line) {
    return with_hash(with(body_of(line), "hello", "h"));
  };
  auto longer = [](const std::string& line) {
    return with_hash(with(body_of(line), "hello", "hello, hello"));
  };
  auto rewritten = [&](auto change) {
    Lines all = lines;
    all[5] = change(all[5]);
    rechain(all, 6);
    write_lines(open, all);
  };
  uint64_t last = first_of(2) + lines.size() - 1;
  auto forged = [&](size_t count) {
    Link link{last, hash_of(lines.back())};
    std::string more;
    for (size_t i = 0; i < count; ++i) append_record(test_event("run.start", i), link, more);
    return more;
  };
  const Act acts[] = {
      {"shorter", [&] { rewritten(shorter); }, "rewritten"},
      {"longer", [&] { rewritten(longer); }, "rewritten"},
      {"as long",
       [&] {
         rewritten([](const std::string& line) {
           return with_hash(with(body_of(line), "hello", "jello"));
         });
       },
       "rewritten"},
      {"removed, the rest renumbered, and filled up",
       [&] {
         Lines all(lines.begin(), lines.begin() + 5);
         Link link{first_of(2) + 4, hash_of(all.back())};
         std::string rest;
         for (size_t i = 5; i < lines.size(); ++i)
           append_record(test_event("run.end", i), link, rest);
         write(open, join(all, "\n") + "\n" + rest);
       },
       "rewritten"},
      {"cut off", [&] { write_lines(open, Lines(lines.begin(), lines.end() - 3)); }, "truncated"},
      {"cut inside a line", [&] { write(open, read(open).substr(0, read(open).size() - 5)); },
       "truncated"},
      {"cut off, and the newest slot with it",
       [&] {
         write_lines(open, Lines(lines.begin(), lines.end() - 3));
         write("head", head.substr(0, 2048) + std::string(2048, '\0'));
       },
       "truncated"},
      {"the open segment removed", [&] { std::filesystem::remove(at(open)); }, "truncated"},
      {"and the one before",
       [&] {
         std::filesystem::remove(at(open));
         std::filesystem::remove(at(segment_name(2)));
       },
       ""},
      {"all segments",
       [&] {
         for (uint64_t i = 1; i <= 3; ++i) std::filesystem::remove(at(segment_name(i)));
       },
       ""},
      {"all segments and the head",
       [&] {
         for (uint64_t i = 1; i <= 3; ++i) std::filesystem::remove(at(segment_name(i)));
         std::filesystem::remove(at("head"));
       },
       "missing_head"},
      {"sealed segments and the head",
       [&] {
         for (uint64_t i = 2; i <= 3; ++i) std::filesystem::remove(at(segment_name(i)));
         std::filesystem::remove(at("head"));
       },
       "missing_head"},
      {"rewritten, without a head",
       [&] {
         rewritten(shorter);
         std::filesystem::remove(at("head"));
       },
       "missing_head"},
      {"one record added", [&] { write(open, read(open) + forged(1)); }, "inserted"},
      {"some records added", [&] { write(open, read(open) + forged(7)); }, "inserted"},
      {"bytes added", [&] { write(open, read(open) + "{\"seq\":"); }, "inserted"},
      {"a file added",
       [&] {
         write(segment_name(4), "");
         write(segment_name(9), "");
       },
       "inserted"},
      {"a file added where the next will be", [&] { write(segment_name(4), forged(2)); },
       "inserted"},
  };
  for (const Act& act : acts) {
    restore();
    act.act();
    ASSERT_TRUE(check().damage) << act.name;
    EXPECT_TRUE(!*act.found || check().damage->what == act.found)
        << act.name << ": " << check().damage->what << ": " << check().damage->why;
    EXPECT_LT(check().last, check().damage->seq) << act.name;
    for (int i = 0; i < 3; ++i) {
      go_on();
      ASSERT_TRUE(check().damage) << act.name << " after a writer came";
    }
    EXPECT_TRUE(!*act.found || check().damage->what == act.found)
        << act.name << ": " << check().damage->what << ": " << check().damage->why;
  }
}

// As above, but under a writer that has the log open.
TEST_F(TamperTest, AWriterThatRunsNoticesToo) {
  make(1, 20, 5);
  std::string open = segment_name(2);
  const std::function<void()> acts[] = {
      [&] { std::filesystem::remove(at("head")); },
      [&] { write("head", std::string(4096, '\0')); },
      [&] { write_lines(open, Lines(originals_[1].begin(), originals_[1].begin() + 5)); },
      [&] { std::filesystem::remove(at(open)); },
      [&] { write(open, read(open) + "x"); },
  };
  for (const auto& act : acts) {
    restore();
    Log log = open_log();
    fill(log, 1);
    act();
    fill(log, 2);
    EXPECT_TRUE(check().damage);
    EXPECT_NE(check().damage->why.find("a writer found damage"), std::string::npos)
        << check().damage->why;
  }
}

TEST_F(TamperTest, ACopyWhoseSignaturesWereTakenOut) {
  make(3, 20, 5);
  std::string key = must(public_key(directory_));
  std::filesystem::remove(at("key"));
  std::filesystem::remove(at("head"));
  auto unsign = [&](size_t from) {
    std::string before = from > 0 ? hash_of(originals_[from - 1].back()) : std::string(kNoHash);
    for (size_t i = from; i < originals_.size(); ++i) {
      Lines all = originals_[i];
      if (i < 3) {
        std::string body = body_of(all.back());
        size_t at = body.find(",\"key\":"), end = body.find("},\"prev\"");
        all.back() = with_hash(body.replace(at, end - at, ",\"signed\":false"));
      }
      all[3] = with_hash(with(body_of(all[3]), "hello", "nothing"));
      all[0] = with_prev(all[0], before);
      rechain(all, 1);
      before = hash_of(all.back());
      write_lines(segment_name(i + 1), all);
    }
  };
  EXPECT_FALSE(check(key).damage);
  EXPECT_EQ(check(key).vouched, first_of(3) - 2);
  unsign(0);
  EXPECT_EQ(check(key).damage->what, "unsigned");
  for (size_t i = 0; i < 4; ++i) write_lines(segment_name(i + 1), originals_[i]);
  unsign(1);
  EXPECT_EQ(check(key).damage->what, "unsigned");
  for (size_t i = 0; i < 4; ++i) write_lines(segment_name(i + 1), originals_[i]);
  unsign(2);  // the last may wait for who signs: then its records are named
  EXPECT_FALSE(check(key).damage);
  EXPECT_NE(check(key).notes.at(0).find("not vouched for"), std::string::npos);
}

TEST_F(TamperTest, ACopyWithThePublicKeyAlone) {
  make(2, 20, 5);
  std::string key = must(public_key(directory_));
  std::filesystem::remove(at("key"));
  std::filesystem::remove(at("head"));
  Verified verified = check(key);
  EXPECT_FALSE(verified.damage);
  ASSERT_EQ(verified.notes.size(), 1U);
  EXPECT_NE(verified.notes[0].find("not vouched for"), std::string::npos) << verified.notes[0];
  std::filesystem::remove(at("key.pub"));
  EXPECT_NE(check().notes.at(0).find("no key"), std::string::npos);
}

TEST_F(TamperTest, WhatWasNotedElsewhereIsExpected) {
  make(1, 20, 5);
  Verified before = check();
  std::string noted = cat(before.last, ":", before.last_hash);
  EXPECT_FALSE(check("", noted).damage);
  EXPECT_EQ(check("", cat(before.last + 1, ":", before.last_hash)).damage->what, "truncated");
  EXPECT_EQ(check("", cat(before.last - 1, ":", before.last_hash)).damage->what, "rewritten");
  for (const char* wrong : {"x", "1", "1:", "1:abc",
                            "0:0000000000000000000000000000000000000000000000000000000000000000"})
    EXPECT_FALSE(verify({.directory = directory_, .expect = wrong})) << wrong;
  // Somebody with the key can make a new log; but not one that holds what was noted.
  std::filesystem::remove_all(directory_);
  make(1, 20, 5);
  EXPECT_EQ(check("", noted).damage->what, "rewritten");
}

TEST_F(TamperTest, WhatWasExpectedAndIsRetiredCannotBeShown) {
  LogOptions small = options();
  small.rotate_bytes = 4096;
  small.most_bytes = 16'384;
  Log log = must(Log::open(small));
  log.on_full = seal_and_rotate;
  fill(log, 10);
  Verified before = check();
  fill(log, 200);
  Verified after = check();
  ASSERT_GT(after.first, before.last + 1);
  EXPECT_FALSE(after.damage);
  Verified expected = check("", cat(before.last, ":", before.last_hash));
  ASSERT_TRUE(expected.damage);
  EXPECT_EQ(expected.damage->what, "not_there");
  std::string start = lines(segment_name(
      must(segment_numbers(must(open_file(directory_, O_RDONLY | O_DIRECTORY)).get())).front()))[0];
  std::string prev = start.substr(start.rfind(",\"prev\":\"") + 9, 64);
  // The one before the first is known by its hash.
  EXPECT_FALSE(check("", cat(after.first - 1, ":", prev)).damage);
  EXPECT_EQ(check("", cat(after.first - 1, ":", kNoHash)).damage->what, "rewritten");
}

}  // namespace
}  // namespace paddock::audit
