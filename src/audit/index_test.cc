#include "audit/index.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "audit/record.h"
#include "base/event.h"
#include "base/text.h"

namespace paddock::audit {
namespace {

// A log as the index sees one: lines with right hashes, in files with the right names.
class IndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/paddock-index-XXXXXX";
    directory = ::mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  struct Sample {
    std::string kind = "command.start", sandbox = "box", tenant = "local", agent, trace = "11",
                verdict;
    std::string word;  // in its data
  };
  std::string line(const Sample& record) {
    ++seq;
    Event event;
    event.kind = record.kind;
    event.trace = record.trace;
    event.sandbox = record.sandbox;
    event.tenant = record.tenant;
    event.agent = record.agent;
    event.verdict = record.verdict;
    event.time_us = 1'000'000 * static_cast<int64_t>(seq);
    event.data.set("word", record.word);
    std::string text;
    Link link{.seq = seq - 1};
    append_record(event, link, text);
    return text;
  }
  std::string lines(const std::vector<Sample>& records) {
    std::string text;
    for (const Sample& record : records) text += line(record);
    return text;
  }
  std::string file(int segment) { return cat(directory, "/0000000", segment, ".jsonl"); }
  void append(int segment, const std::string& text) {
    std::ofstream(file(segment), std::ios::app | std::ios::binary) << text;
  }
  std::string content(int segment) {
    std::ifstream in(file(segment), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void rewrite(int segment, const std::string& text) {
    std::ofstream(file(segment), std::ios::binary) << text;
  }

  std::vector<uint64_t> ask(Index& index, const Query& query) {
    Result<void> updated = index.update();
    EXPECT_TRUE(updated) << (updated ? "" : updated.error().message);
    Result<std::vector<Found>> found = index.find(query);
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    std::vector<uint64_t> numbers;
    damaged.clear();
    if (found)
      for (const Found& one : found.value()) {
        numbers.push_back(one.seq);
        if (!one.damage.empty()) damaged.push_back(one.seq);
      }
    return numbers;
  }
  std::vector<uint64_t> ask(const Query& query) {
    Result<Index> index = Index::open(directory);
    EXPECT_TRUE(index);
    return ask(index.value(), query);
  }
  static Query all() { return {.limit = 1000, .newest_first = false}; }
  using Numbers = std::vector<uint64_t>;

  std::string directory;
  uint64_t seq = 0;
  Numbers damaged;
};

TEST_F(IndexTest, FindsByEachField) {
  append(1, line({.kind = "log.open", .sandbox = "", .tenant = ""}));
  append(1, line({.agent = "ann"}));
  append(1, line({.kind = "command.end", .trace = "22"}));
  append(2, line({.kind = "denial",
                  .sandbox = "other",
                  .tenant = "second",
                  .verdict = "deny",
                  .word = "a \"quoted\"\nword"}));
  EXPECT_EQ(ask(all()), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(ask({}), (Numbers{4, 3, 2, 1}));
  EXPECT_EQ(ask({.sandbox = "box"}), (Numbers{3, 2}));
  EXPECT_EQ(ask({.tenant = "second"}), (Numbers{4}));
  EXPECT_EQ(ask({.agent = "ann"}), (Numbers{2}));
  EXPECT_EQ(ask({.trace = "22"}), (Numbers{3}));
  EXPECT_EQ(ask({.verdict = "deny"}), (Numbers{4}));
  EXPECT_EQ(ask({.kinds = {"command"}}), (Numbers{3, 2}));
  EXPECT_EQ(ask({.kinds = {"command.end", "log"}}), (Numbers{3, 1}));
  EXPECT_EQ(ask({.kinds = {"comm"}}), (Numbers{}));
  EXPECT_EQ(ask({.since_us = 2'000'000, .until_us = 4'000'000}), (Numbers{3, 2}));
  EXPECT_EQ(ask({.after = 1, .before = 4, .newest_first = false}), (Numbers{2, 3}));
  EXPECT_EQ(ask({.limit = 2}), (Numbers{4, 3}));
  EXPECT_EQ(ask({.text = "\"quoted\"\nword"}), (Numbers{4}));
  EXPECT_EQ(ask({.sandbox = "box", .tenant = "second"}), (Numbers{}));
  EXPECT_EQ(ask({.sandbox = "box' OR '1'='1"}), (Numbers{}));
  EXPECT_EQ(damaged, Numbers{});
}

TEST_F(IndexTest, FindsAFamilyHoweverManyKindsItHas) {
  for (int i = 0; i < 700; ++i) append(1, line({.kind = cat("made.", i)}));
  append(1, line({.kind = "madeup"}));
  EXPECT_EQ(ask({.kinds = {"made"}, .limit = 1000}).size(), 700u);
  EXPECT_EQ(ask({.kinds = {"made.7", "madeup"}, .newest_first = false}), (Numbers{8, 701}));
  EXPECT_EQ(ask({.sandbox = "box", .kinds = {"made"}, .limit = 3}), (Numbers{700, 699, 698}));
}

TEST_F(IndexTest, GoesOnWhereItWas) {
  append(1, line({}));
  Result<Index> index = Index::open(directory);
  ASSERT_TRUE(index);
  EXPECT_EQ(ask(index.value(), all()), (Numbers{1}));
  std::string next = line({});
  append(1, next.substr(0, 40));
  EXPECT_EQ(ask(index.value(), all()), (Numbers{1}));
  append(1, next.substr(40));
  append(2, line({}));
  EXPECT_EQ(ask(index.value(), all()), (Numbers{1, 2, 3}));
  EXPECT_EQ(ask(all()), (Numbers{1, 2, 3}));  // and so does another
}

TEST_F(IndexTest, FollowsALogThatWasRewrittenRetiredOrReplaced) {
  append(1, lines({{}, {.sandbox = "gone"}}));
  append(2, lines({{}, {}}));
  EXPECT_EQ(ask(all()), (Numbers{1, 2, 3, 4}));
  std::filesystem::remove(file(1));
  EXPECT_EQ(ask(all()), (Numbers{3, 4}));
  EXPECT_EQ(ask({.sandbox = "gone"}), (Numbers{}));
  seq = 9;
  rewrite(2, lines({{}, {}, {}}));
  EXPECT_EQ(ask(all()), (Numbers{10, 11, 12}));
  std::string text = content(2);
  rewrite(2, text.substr(0, text.find('\n') + 1));
  EXPECT_EQ(ask(all()), (Numbers{10}));
  rewrite(2, "");
  EXPECT_EQ(ask(all()), (Numbers{}));
}

TEST_F(IndexTest, ShowsDamageAndHidesNothing) {
  append(1, lines({{}, {.word = "before"}, {.sandbox = "else"}}));
  EXPECT_EQ(ask(all()), (Numbers{1, 2, 3}));
  std::string text = content(1);
  text.replace(text.find("before"), 6, "behind");
  rewrite(1, text);
  EXPECT_EQ(ask(all()), (Numbers{1, 2, 3}));
  EXPECT_EQ(damaged, (Numbers{2}));
  rewrite(1, text.substr(0, text.find('\n') + 1) + "rubbish\n" + std::string(3, '\0') + "\n" +
                 text.substr(text.find('\n') + 1));
  // Two lines that may have been anybody's.
  EXPECT_EQ(ask({.sandbox = "else", .newest_first = false}), (Numbers{2, 3, 3}));
  EXPECT_EQ(damaged, (Numbers{2, 3}));
  EXPECT_EQ(ask({.sandbox = "else", .unreadable = false}), (Numbers{3}));
}

TEST_F(IndexTest, NeverShowsWhatTheLogDoesNotSay) {
  append(1, lines({{.tenant = "first"}, {.tenant = "second"}}));
  EXPECT_EQ(ask({.tenant = "first"}), (Numbers{1}));
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((directory + "/index.db").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "UPDATE line SET tenant = 'first', sandbox = 'lie'", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  EXPECT_EQ(ask({.tenant = "first"}), (Numbers{1}));
  EXPECT_EQ(ask({.sandbox = "lie"}), (Numbers{}));
}

TEST_F(IndexTest, ThrowsAwayWhatIsNoIndex) {
  append(1, line({}));
  std::ofstream(directory + "/index.db") << std::string(100'000, 'x');
  ::chmod((directory + "/index.db").c_str(), 0600);
  EXPECT_EQ(ask(all()), (Numbers{1}));

  std::filesystem::remove(directory + "/index.db");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((directory + "/index.db").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "CREATE TABLE line (id); CREATE TABLE mine (x)", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  ::chmod((directory + "/index.db").c_str(), 0600);
  EXPECT_EQ(ask(all()), (Numbers{1}));

  std::filesystem::remove(directory + "/index.db");
  std::ofstream(directory + "/victim") << "precious";
  std::filesystem::create_symlink("victim", directory + "/index.db");
  EXPECT_EQ(ask(all()), (Numbers{1}));
  EXPECT_EQ(std::filesystem::file_size(directory + "/victim"), 8u);
}

TEST_F(IndexTest, SurvivesDamageInTheMiddleOfItsFile) {
  for (int i = 0; i < 3000; ++i) append(1, line({.sandbox = cat("box", i)}));
  EXPECT_EQ(ask({.limit = 5000}).size(), 3000u);
  std::string path = directory + "/index.db";
  {
    std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
    size_t size = std::filesystem::file_size(path);
    ASSERT_GT(size, 40'960u);
    for (size_t at = 8192; at + 4096 < size; at += 4096)
      out.seekp(static_cast<std::streamoff>(at)) << std::string(64, '\xff');
  }
  append(1, line({.sandbox = "box"}));
  EXPECT_EQ(ask({.limit = 5000}).size(), 3001u);
  EXPECT_EQ(ask({.sandbox = "box7"}), (Numbers{8}));
}

TEST_F(IndexTest, IsPrivateAndCanBeRebuilt) {
  append(1, lines({{}, {}}));
  ask(all());
  struct stat info;
  for (const char* name : {"/index.db", "/index.lock"}) {
    ASSERT_EQ(::stat((directory + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777, 0600u) << name;
  }
  EXPECT_EQ(Index::rebuild(directory).value(), 2u);
  Result<Index> other = Index::open(directory);
  ASSERT_TRUE(other);
  EXPECT_EQ(Index::rebuild(directory).value(), 2u);
  EXPECT_EQ(ask(other.value(), all()), (Numbers{1, 2}));
}

TEST_F(IndexTest, IsMadeInMemoryWhereNoneCanBeKept) {
  append(1, line({}));
  ::chmod(directory.c_str(), 0777);
  Result<Index> index = Index::open(directory);
  ASSERT_TRUE(index);
  EXPECT_TRUE(index.value().in_memory());
  EXPECT_EQ(ask(index.value(), all()), (Numbers{1}));
  EXPECT_FALSE(std::filesystem::exists(directory + "/index.db"));
  EXPECT_FALSE(Index::open(directory + "/none"));
}

TEST_F(IndexTest, TakesNoFifoAndNoEndlessLine) {
  ::mkfifo(file(1).c_str(), 0600);
  Result<Index> index = Index::open(directory);
  ASSERT_TRUE(index);
  EXPECT_FALSE(index.value().update());
  std::filesystem::remove(file(1));
  append(1, line({}));
  append(1, std::string(kMostRecord * 40 + 17, 'x') + "\n");
  append(1, line({}));
  EXPECT_EQ(ask(all()), (Numbers{1, 2, 2}));
  EXPECT_EQ(damaged, (Numbers{2}));
}

TEST_F(IndexTest, BoundsWhatASearchLooksThrough) {
  append(1, lines({{.word = std::string(1000, 'x')}, {}}));
  Result<Index> index = Index::open(directory);
  ASSERT_TRUE(index && index.value().update());
  Result<std::vector<Found>> found = index.value().find({.text = "nothing", .most_searched = 1200});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::exhausted);
}

}  // namespace
}  // namespace paddock::audit
