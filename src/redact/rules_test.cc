// Every rule of presets/redact against its own examples.
#include "redact/redact_test.h"

namespace paddock::redact {
namespace {

TEST(Rules, FindTheirTrueExamplesUnderTheirOwnKind) {
  for (const Example& example : examples()) {
    if (!example.is_secret) continue;
    Counts counts;
    std::string out = redacted(*Rules::common(), "x " + example.text + "\n", &counts);
    EXPECT_EQ(counts[example.kind], 1u)
        << example.where << " " << example.text << "\n  gave " << out;
    EXPECT_EQ(total(counts), 1u) << example.where << " " << example.text << "\n  gave " << out;
  }
}

TEST(Rules, LeaveTheirFalseExamplesAlone) {
  for (const Example& example : examples()) {
    if (example.is_secret) continue;
    Counts counts;
    std::string out = redacted(*Rules::common(), "x " + example.text + "\n", &counts);
    EXPECT_EQ(counts[example.kind], 0u)
        << example.where << " " << example.text << "\n  gave " << out;
  }
}

TEST(Rules, FindTheirTrueExamplesAtTheVeryEndAndTheVeryStart) {
  for (const Example& example : examples()) {
    if (!example.is_secret) continue;
    Counts counts;
    (void)redacted(*Rules::common(), example.text, &counts);
    EXPECT_EQ(counts[example.kind], 1u) << example.where << " " << example.text;
  }
}

// Tool output is coloured, JSON or part of an address more often than not.
TEST(Rules, FindTheirTrueExamplesBehindEscapes) {
  for (const Example& example : examples()) {
    if (!example.is_secret) continue;
    for (const char* front :
         {"\x1b[31m", "\x1b[01;31m\x1b[K", "\x1b[38;2;255;100;100m", "\x1b(B", "\\n", "\\t", "\\r",
          "\\\\n", "\\u0022", "\\u001b[31m", "\\033[1m", "%20", "%22", "%0A"}) {
      Counts counts;
      std::string text = cat("line", front, example.text, "\x1b[0m\n"),
                  out = redacted(*Rules::common(), text, &counts);
      EXPECT_GE(counts[example.kind], 1u) << example.where << " " << text << "\n  gave " << out;
      ASSERT_EQ(byte_by_byte(*Rules::common(), text), out) << text;
    }
  }
}

TEST(Rules, FindAPrivateKeyInAnyDress) {
  Random random(9);
  std::vector<std::string> lines{
      "-----BEGIN "
      "RSA PRIVATE KEY-----"},
      body;
  for (int i = 0; i < 8; ++i) body.push_back(random.of(kBase64, i < 7 ? 64 : 24));
  lines.insert(lines.end(), body.begin(), body.end());
  lines.push_back("-----END RSA PRIVATE KEY-----");
  struct Dress {
    std::string front, back;
  };
  for (const Dress& dress : std::vector<Dress>{{"", "\n"},
                                               {"-", "\n"},
                                               {"+", "\n"},
                                               {"\x1b[31m-", "\x1b[m\n"},
                                               {"> ", "\n"},
                                               {"# ", "\n"},
                                               {"dir/file.pem:", "\n"},
                                               {"file.pem-", "\n"},
                                               {"web-1  | ", "\n"},
                                               {"2026-01-01T00:00:00Z stdout F ", "\n"},
                                               {"'", "\\n', "},
                                               {"    \"", "\\n\" +\n"},
                                               {"", "<br>"},
                                               {"", "%0A"},
                                               {"", "\\u000a"},
                                               {"", "\\r\\n"},
                                               {"| ", " |\n"},
                                               {"", " "}}) {
    for (bool slashes : {false, true}) {
      std::string text = "before\n";
      for (std::string line : lines) {
        for (size_t at = 0; slashes && (at = line.find('/', at)) != line.npos; at += 2)
          line.insert(at, "\\");
        text += dress.front + line + dress.back;
      }
      text += "\nafter this comes ordinaryTextThatStays\n";
      Counts counts;
      std::string out = redacted(*Rules::common(), text, &counts);
      for (const std::string& line : body)
        for (size_t at = 0; at + 12 <= line.size(); ++at)
          ASSERT_EQ(out.find(line.substr(at, 12)), out.npos) << text << "\n  gave " << out;
      EXPECT_NE(out.find("ordinaryTextThatStays"), out.npos) << out;
      EXPECT_EQ(counts, (Counts{{"private-key", 1}})) << out;
      EXPECT_EQ(byte_by_byte(*Rules::common(), text), out);
    }
  }
}

TEST(Rules, AHeaderAloneTakesNothingElse) {
  std::string text =
                  "-----BEGIN "
                  "PRIVATE KEY-----\n",
              rest;
  for (int i = 0; i < 500; ++i)
    rest += cat("INFO: request ", i, " done\nsrc/file", i, ".cc\nname\n");
  EXPECT_EQ(redacted(*Rules::common(), text + rest), "[redacted:private-key]\n" + rest);
}

TEST(Rules, AreNotHurtByOtherRules) {
  // A kind alone finds what all together find: no rule hides another's start.
  std::set<std::string> names;
  for (const KindInfo& info : kinds()) names.insert(info.name);
  for (const KindInfo& info : kinds()) {
    Options options{.skip = names};
    options.skip.erase(info.name);
    std::shared_ptr<const Rules> rules = rules_with(options);
    for (const Example& example : examples()) {
      if (!example.is_secret || example.kind != info.name) continue;
      Counts alone, together;
      EXPECT_EQ(redacted(*rules, example.text, &alone),
                redacted(*Rules::common(), example.text, &together))
          << example.where << " " << example.text;
      EXPECT_EQ(total(alone), 1u) << example.text;
    }
  }
}

TEST(Rules, SkippedKindsAreNotLookedFor) {
  std::shared_ptr<const Rules> rules = rules_with({.skip = {"github-token"}});
  std::string token =
      "ghp"
      "_0123456789abcdefABCDEF0123456789abcd";
  EXPECT_EQ(redacted(*rules, token), token);
  EXPECT_EQ(redacted(*Rules::common(), token), "[redacted:github-token]");
}

TEST(Rules, AnUnknownKindToSkipIsRefusedWithTheNearestName) {
  Result<std::shared_ptr<const Rules>> rules = Rules::compile({.skip = {"github-tokn"}});
  ASSERT_FALSE(rules);
  EXPECT_NE(rules.error().hint.find("github-token"), std::string::npos) << rules.error().hint;
}

TEST(Rules, EachKindSaysWhatItIsAndWhereItsFormatIsDefined) {
  EXPECT_GE(kinds().size(), 60u);
  for (const KindInfo& info : kinds()) {
    EXPECT_FALSE(info.what.empty()) << info.name;
    EXPECT_TRUE(info.source.rfind("https://", 0) == 0 || info.source.rfind("docs/", 0) == 0)
        << info.name;
  }
}

TEST(Rules, EveryCheckThatIsNamedExists) {
  for (size_t i = 0; i < kEmbeddedRuleCount; ++i) {
    std::string check = kEmbeddedRules[i].check;
    EXPECT_TRUE(check.empty() || check == "key-body" || check_named(check))
        << kEmbeddedRules[i].kind << ": " << check;
  }
}

TEST(Rules, TheirKindsAreTheOnesThatTheDocumentationLists) {
  std::string page = read_file(PADDOCK_SOURCE_DIR "/docs/redaction.md").value();
  for (const KindInfo& info : kinds())
    EXPECT_NE(page.find(cat("| `", info.name, "` | ", info.what, " |")), page.npos) << info.name;
}

}  // namespace
}  // namespace paddock::redact
