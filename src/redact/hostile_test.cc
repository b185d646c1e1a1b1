// Inputs made to be slow or to be held: the work per byte and what is held stay bounded. Steps are
// counted, not time.
#include "redact/redact_test.h"

namespace paddock::redact {
namespace {

std::string repeated(std::string_view piece, size_t size) {
  std::string text;
  while (text.size() < size) text += piece;
  return text;
}

struct Cost {
  double work_per_byte = 0;
  size_t most_held = 0;
};

Cost cost_of(const Rules& rules, std::string_view text, size_t chunk) {
  Engine engine(rules.compiled());
  Cost cost;
  std::string out;
  for (size_t at = 0; at < text.size(); at += chunk) {
    out.clear();
    engine.feed(text.substr(at, chunk), out);
    cost.most_held = std::max(cost.most_held, engine.held());
  }
  engine.finish(out);
  cost.work_per_byte = static_cast<double>(engine.work()) / static_cast<double>(text.size());
  return cost;
}

constexpr size_t kSize = 256 << 10;
constexpr double kWork = 60;    // steps per byte, at the very most
constexpr size_t kHeld = 4200;  // bytes for patterns: Thread::kLongestValue and a little

std::vector<std::string> hostile_texts() {
  std::vector<std::string> texts;
  for (const char* piece : {"a",
                            "aaaaaaab",
                            "-",
                            "-----BEGIN ",
                            "-----BEGIN RSA PRIVATE KEY-----\n",
                            "4111 ",
                            "4111111111111111",
                            "eyJ",
                            "eyJhbGciOiJIUzI1NiJ9.",
                            "sk-",
                            "ghp_",
                            "token",
                            "token=",
                            "password:",
                            "secret_",
                            "api_key=a",
                            "://",
                            "://a:",
                            "://a:b",
                            "Bearer ",
                            "0",
                            "1234567890",
                            "=",
                            "\n",
                            " ",
                            "_pass=",
                            "AKIA",
                            "SG.",
                            "cookie: session",
                            "xoxb-1",
                            "machine a login b ",
                            "AAAAA:AA",
                            "authorization: token ",
                            "\\n",
                            "abab"})
    texts.push_back(repeated(piece, kSize));
  // The beginnings of everything, one behind the other, and each with a long tail of what may
  // follow.
  std::string starts;
  for (const Example& example : examples())
    starts += example.text.substr(0, example.text.size() / 2);
  texts.push_back(repeated(starts, kSize));
  Random random(2);
  std::string tails, mixed;
  std::vector<Example> all = examples();
  while (tails.size() < kSize)
    tails += random.pick(all).text.substr(0, 12) + random.of("aA1-_", 300);
  while (mixed.size() < kSize) mixed += random.pick(all).text.substr(0, 3 + random.below(8));
  texts.push_back(tails);
  texts.push_back(mixed);
  return texts;
}

TEST(Hostile, WorkPerByteIsBoundedAndSoIsWhatIsHeld) {
  double worst = 0;
  size_t most_held = 0;
  for (const std::string& text : hostile_texts()) {
    for (size_t chunk : {size_t{64} << 10, size_t{1000}}) {
      Cost cost = cost_of(*Rules::common(), text, chunk);
      EXPECT_LT(cost.work_per_byte, kWork) << text.substr(0, 60);
      EXPECT_LT(cost.most_held, kHeld) << text.substr(0, 60);
      worst = std::max(worst, cost.work_per_byte);
      most_held = std::max(most_held, cost.most_held);
    }
  }
  std::printf("[ worst    ] %.1f steps per byte, %zu bytes held\n", worst, most_held);
}

TEST(Hostile, PeriodicKnownValuesCostTwoStepsPerByteOfEachSearch) {
  for (const std::string& value :
       {std::string(1000, 'a') + "b", repeated("ab", 1000) + "c", std::string(12000, 'x')}) {
    std::shared_ptr<const Rules> rules =
        rules_with({.secrets = {{"V", value}, {"W", value.substr(0, value.size() / 2) + "!"}}});
    for (const std::string& text :
         {std::string(kSize, value[0]), repeated(value.substr(0, value.size() - 1), kSize),
          repeated(value, kSize)}) {
      Cost cost = cost_of(*rules, text, 4096);
      EXPECT_LT(cost.work_per_byte, 20) << value.substr(0, 10);
      EXPECT_LE(cost.most_held, value.size() * 6) << value.substr(0, 10);
    }
  }
}

TEST(Hostile, CustomPatternsThatOverlapThemselvesAreBoundedToo) {
  std::shared_ptr<const Rules> rules =
      rules_with({.custom = {{"A", "aaaa{1,400}b"},
                             {"B", "(?i)abab[ab]{0,400}c"},
                             {"C", "\\w{4}\\w{0,400}!"},
                             {"D", "aaaa[a-z ]*\\K[a-z ]{100,}9"}}});
  for (const std::string& text :
       {std::string(kSize, 'a'), repeated("ab", kSize), repeated("aaaa ", kSize)}) {
    for (size_t chunk : {size_t{64} << 10, size_t{777}}) {
      Cost cost = cost_of(*rules, text, chunk);
      // Threads, words, patterns, and joining the oldest.
      EXPECT_LT(cost.work_per_byte, (16 + 32) * 8 * 4 * 2) << text.substr(0, 10);
      EXPECT_LT(cost.most_held, kHeld) << text.substr(0, 10);
    }
  }
}

TEST(Hostile, MoreStartsThanThreadsLoseNoMatch) {
  std::shared_ptr<const Rules> rules = rules_with({.custom = {{"A", "aaaa{1,60}b"}}});
  std::string text = std::string(500, 'a') + "b.";
  std::string out = redacted(*rules, text);
  EXPECT_EQ(out.substr(out.size() - 13), "[redacted:A].");
  EXPECT_LE(out.size(), 500u - 63 + 13);
  for (size_t chunk : {size_t{1}, size_t{7}, size_t{100}}) {
    std::vector<size_t> cuts;
    for (size_t at = chunk; at < text.size(); at += chunk) cuts.push_back(at);
    EXPECT_EQ(in_pieces(*rules, text, cuts), out) << chunk;
  }
}

TEST(Hostile, AnEndlessTokenIsHeldOnlyForAWhile) {
  Engine engine(Rules::common()->compiled());
  std::string out;
  engine.feed(
      "x ghp"
      "_",
      out);
  for (int i = 0; i < 1000; ++i) engine.feed(std::string(100, 'a' + i % 26), out);
  EXPECT_EQ(out, "x [redacted:github-token]");
  EXPECT_LT(engine.held(), 200u);
  engine.feed(" and on", out);
  engine.finish(out);
  EXPECT_EQ(out, "x [redacted:github-token] and on");
  EXPECT_EQ(engine.counts(), (Counts{{"github-token", 1}}));
}

TEST(Hostile, WhatIsSwallowedTakesNoMemory) {
  std::shared_ptr<const Rules> rules = rules_with({.custom = {{"A", "aaaa[a-z0-9]*\\K[0-9]{8}x"}}});
  for (const char* start : {"token=", "Authorization: Bearer ",
                            "ghp"
                            "_",
                            "aaaa"}) {
    Engine engine(rules->compiled());
    Random random(3);
    std::string out, piece = start == std::string_view("aaaa") ? repeated("a1", 64 << 10)
                                                               : random.of(kAlnum, 64 << 10);
    engine.feed(start, out);
    size_t most = 0;
    for (int i = 0; i < 1024; ++i) {  // 64 MB
      engine.feed(piece, out);
      out.clear();
      most = std::max(most, engine.kept());
    }
    EXPECT_LT(most, 256u << 10) << start;
  }
}

TEST(Hostile, CustomPatternsHaveABudget) {
  std::vector<Pattern> many;
  for (int i = 0; i < 32; ++i) many.push_back({cat("P", i), "abcd[a-z]{0,500}"});
  Result<std::shared_ptr<const Rules>> rules = Rules::compile({.custom = many});
  ASSERT_FALSE(rules);
  EXPECT_NE(rules.error().message.find("'P4'"), std::string::npos) << rules.error().message;
  std::string groups;
  for (int i = 0; i < 7; ++i) groups += "(?:a|b)";
  EXPECT_FALSE(check_pattern(groups + std::string(480, 'x')));
  EXPECT_TRUE(check_pattern("abcd[a-z]{0,500}"));
}

TEST(Hostile, ManyKeysOfAnObjectStayApart) {
  Value::Object members;
  for (int i = 0; i < 20000; ++i)
    members.emplace_back(
        "ghp"
        "_" +
            std::string(36, 'a') + std::to_string(i),
        Value(std::string("x")));
  Value out = redacted(*Rules::common(), Value(std::move(members)));
  std::set<std::string> names;
  for (const auto& [name, member] : *out.as_object()) names.insert(name);
  EXPECT_EQ(names.size(), 20000u);
}

TEST(Hostile, AKeyWithoutItsEndDoesNotSwallowWhatFollows) {
  std::string header =
      "-----BEGIN "
      "PRIVATE KEY-----\n";
  EXPECT_EQ(redacted(*Rules::common(), header + "$ ls\nfile\n"),
            "[redacted:private-key]\n$ ls\nfile\n");
  EXPECT_EQ(redacted(*Rules::common(),
                     "a \"-----BEGIN "
                     "PRIVATE KEY-----\" b (c) d"),
            "a \"[redacted:private-key]\" b (c) d");
  std::string endless = header + repeated(std::string(64, 'A') + "\n", 200 << 10);
  std::string out = redacted(*Rules::common(), endless);
  EXPECT_GT(out.size(), 100u << 10);
  EXPECT_LT(out.size(), endless.size() - (60 << 10));
}

}  // namespace
}  // namespace paddock::redact
