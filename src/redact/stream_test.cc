// Streams: what is found does not depend on how the text is cut, and nothing is held back that
// cannot become a secret.
#include "redact/redact_test.h"

namespace paddock::redact {
namespace {

TEST(Stream, FindsEverySecretHoweverItIsCutInTwo) {
  for (const Example& example : examples()) {
    std::string text = "a " + example.text + " b\n", whole = redacted(*Rules::common(), text);
    for (size_t cut = 0; cut <= text.size(); ++cut)
      ASSERT_EQ(in_pieces(*Rules::common(), text, {cut}), whole)
          << example.where << " cut at " << cut << ": " << text;
    ASSERT_EQ(byte_by_byte(*Rules::common(), text), whole) << example.where << ": " << text;
  }
}

TEST(Stream, FindsEverySecretHoweverItIsCutInThree) {
  for (const Example& example : examples()) {
    if (!example.is_secret) continue;
    std::string whole = redacted(*Rules::common(), example.text);
    size_t step = example.text.size() / 60 + 1;
    for (size_t first = 1; first < example.text.size(); first += step)
      for (size_t second = first + 1; second < example.text.size(); second += step)
        ASSERT_EQ(in_pieces(*Rules::common(), example.text, {first, second}), whole)
            << example.where << " cut at " << first << " and " << second;
  }
}

// Text made of what rules look for, whole and in part, and of known values and their forms.
std::string mixture(Random& random, const std::vector<Example>& all,
                    const std::vector<std::string>& extra, size_t size) {
  std::string text;
  while (text.size() < size) {
    switch (random.below(7)) {
      case 0: text += random.pick(all).text; break;
      case 1: {
        const std::string& whole = random.pick(all).text;
        text += whole.substr(0, random.below(whole.size() + 1));
        break;
      }
      case 2: text += random.of(kAlnum, random.below(40)); break;
      case 3: text += random.pick(extra); break;
      case 4: {
        const std::string& whole = random.pick(extra);
        text += whole.substr(0, random.below(whole.size() + 1));
        break;
      }
      case 5: text += random.of(" \n\t:=\"'-_./@", 1 + random.below(4)); break;
      default: text += static_cast<char>(random.below(256));
    }
  }
  return text;
}

TEST(Stream, GivesTheSameForAnyCutOfAnyText) {
  std::vector<Example> all = examples();
  std::vector<std::string> values{
      "hunter22", "aaaaaaaaaaaaaaaaaaab",
      "correct horse/battery+staple=", "line one of the secret\nline two of the secret"};
  Options options{.custom = {{"order", "ORD-\\d{4,8}x?"}, {"loop", "(?i)abab[ab]{4,30}c"}}};
  std::vector<std::string> extra = {"ORD-12345678", "ababababababababababc", "ABABababab"};
  for (const std::string& value : values) {
    options.secrets.push_back({"V" + std::to_string(options.secrets.size()), value});
    extra.push_back(value);
    extra.push_back(base64("x" + value + "yz"));
  }
  std::shared_ptr<const Rules> rules = rules_with(options);
  Random random(11);
  for (int round = 0; round < 400; ++round) {
    std::string text = mixture(random, all, extra, 50 + random.below(1500));
    Counts once, cut_counts;
    std::string whole = redacted(*rules, text, &once);
    for (int way = 0; way < 4; ++way) {
      std::vector<size_t> cuts;
      for (size_t at = 0; (at += 1 + random.below(way == 0   ? 3
                                                  : way == 1 ? 20
                                                             : 400)) < text.size();)
        cuts.push_back(at);
      ASSERT_EQ(in_pieces(*rules, text, cuts, &cut_counts), whole) << "round " << round;
      ASSERT_EQ(cut_counts, once);
    }
    for (const std::string& value : values)
      ASSERT_EQ(whole.find(value), whole.npos) << "round " << round;
  }
}

TEST(Stream, HoldsNothingAtAPrompt) {
  for (const char* prompt :
       {"$ ", "# ", ">>> ", "password: ", "Password for joe: ", "login: ", "user@host:~$ ",
        "Enter token: ", "API key? ", "[y/n] ", "(gdb) ", "Are you sure? ", "mysql> ",
        "In [1]: ", "secret=", "Authorization: Bearer ", "..."}) {
    Engine engine(Rules::common()->compiled());
    std::string out;
    engine.feed(prompt, out);
    EXPECT_EQ(out, prompt);
    EXPECT_EQ(engine.held(), 0u);
  }
}

TEST(Stream, ShowsASecretsReplacementAsSoonAsItIsOver) {
  std::shared_ptr<const Rules> rules = rules_with({.secrets = {{"KEY", "hunter22"}}});
  Engine engine(rules->compiled());
  std::string out;
  engine.feed("it is hunter22", out);
  EXPECT_EQ(out, "it is [redacted:KEY]");
  out.clear();
  engine.feed(
      "\nghp"
      "_0123456789abcdefABCDEF0123456789abcd\n$ ",
      out);
  EXPECT_EQ(out, "\n[redacted:github-token]\n$ ");
}

TEST(Stream, HoldsOnlyWhatCouldStillBecomeASecret) {
  std::shared_ptr<const Rules> rules = rules_with({.secrets = {{"A", "secret"}}});
  Engine engine(rules->compiled());
  std::string out;
  engine.feed("prompt> s", out);
  EXPECT_EQ(out, "prompt> ");
  engine.feed("e", out);
  EXPECT_EQ(engine.held(), 2u);
  engine.feed("e", out);
  EXPECT_EQ(out, "prompt> see");
}

TEST(Stream, WaitsForALongerValueThatBeginsTheSame) {
  std::shared_ptr<const Rules> rules =
      rules_with({.secrets = {{"A", "sevret"}, {"B", "sevret-tocen"}}});
  Engine engine(rules->compiled());
  std::string out;
  engine.feed("sevret", out);
  EXPECT_EQ(out, "");
  engine.feed("-tocen", out);
  EXPECT_EQ(out, "[redacted:B]");
  engine.feed("sevret-to", out);
  EXPECT_EQ(out, "[redacted:B]");
  engine.finish(out);
  EXPECT_EQ(out, "[redacted:B][redacted:A]-to");
}

TEST(Stream, WhatIsTypedIsEchoedWhenNothingFollows) {
  std::shared_ptr<const Rules> rules = rules_with({.secrets = {{"KEY", "grapefruit"}}});
  Engine engine(rules->compiled());
  std::string out;
  engine.feed("g", out);
  EXPECT_EQ(out, "");
  engine.idle(out);
  EXPECT_EQ(out, "g");
  engine.feed("rape", out);
  engine.idle(out);
  engine.idle(out);
  EXPECT_EQ(out, "gra");
  engine.feed("fruit!", out);
  EXPECT_EQ(out, "gra[redacted:KEY]!");
}

TEST(Stream, OverlappingSecretsLeaveNothingOfEither) {
  std::shared_ptr<const Rules> rules =
      rules_with({.secrets = {{"A", "abcdefgh"}, {"B", "efghijkl"}}});
  EXPECT_EQ(redacted(*rules, "-abcdefghijkl-"), "-[redacted:A]-");
  EXPECT_EQ(redacted(*rules, "-abcdefghefghijkl-"), "-[redacted:A][redacted:B]-");
}

TEST(Stream, AKnownValueNamesWhatAPatternAlsoFinds) {
  std::shared_ptr<const Rules> rules = rules_with({.secrets = {{"DB", "k8sPq72mVx91"}}});
  Counts counts;
  EXPECT_EQ(redacted(*rules, "password=k8sPq72mVx91\n", &counts), "password=[redacted:DB]\n");
  EXPECT_EQ(counts, (Counts{{"DB", 1}}));
}

TEST(Stream, BinaryPassesUnharmed) {
  Random random(5);
  std::string bytes;
  for (size_t i = 0; i < 1 << 20; ++i) bytes += static_cast<char>(random.below(256));
  Counts counts;
  EXPECT_EQ(redacted(*Rules::common(), bytes, &counts), bytes);
  EXPECT_TRUE(counts.empty());
}

TEST(Stream, ALineOfAHundredMegabytesIsRedactedWithLittleHeld) {
  const std::string token =
      "ghp"
      "_0123456789abcdefABCDEF0123456789abcd";
  std::string piece = "lorem ipsum dolor sit amet ";
  while (piece.size() < 1 << 20) piece += piece;
  std::shared_ptr<const Rules> rules = rules_with({.secrets = {{"KEY", "hunter22"}}});
  Engine engine(rules->compiled());
  std::string out;
  size_t bytes = 0, most_held = 0, rounds = 100;
  for (size_t i = 0; i < rounds; ++i) {
    out.clear();
    engine.feed(piece, out);
    engine.feed(token.substr(0, 20), out);
    engine.feed(token.substr(20) + " hunt", out);
    most_held = std::max(most_held, engine.held());
    engine.feed("er22 ", out);
    bytes += out.size();
    ASSERT_EQ(out.find("hunter22"), out.npos);
  }
  EXPECT_EQ(bytes, rounds * (piece.size() +
                             std::string("[redacted:github-token] [redacted:KEY] ").size()));
  EXPECT_EQ(engine.counts(), (Counts{{"KEY", rounds}, {"github-token", rounds}}));
  EXPECT_LT(most_held, 64u);
}

TEST(Stream, CanBeUsedAgainAfterItsEnd) {
  std::shared_ptr<const Rules> rules = rules_with({.secrets = {{"KEY", "hunter22"}}});
  Engine engine(rules->compiled());
  std::string out;
  engine.feed("hunt", out);
  engine.finish(out);
  engine.feed("er22 hunter22", out);
  engine.finish(out);
  EXPECT_EQ(out, "hunter22 [redacted:KEY]");
}

}  // namespace
}  // namespace paddock::redact
