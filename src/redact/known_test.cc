// Known values in the forms in which programs print them.
#include "redact/forms.h"
#include "redact/redact_test.h"

namespace paddock::redact {
namespace {

std::string without(const std::string& value, const std::string& text) {
  std::shared_ptr<const Rules> rules = rules_with({.secrets = {{"KEY", value}}});
  std::string whole = redacted(*rules, text);
  EXPECT_EQ(byte_by_byte(*rules, text), whole);
  return whole;
}

const std::string kValue = "Zürich/7 \"q\" & <b>+=";

TEST(KnownValue, IsFoundPlainAndEscaped) {
  for (const char* form :
       {"Zürich/7 \"q\" & <b>+=", "Z%C3%BCrich%2F7%20%22q%22%20%26%20%3Cb%3E%2B%3D",
        "Z%c3%bcrich%2f7%20%22q%22%20%26%20%3cb%3e%2b%3d",
        "Z%C3%BCrich%2F7+%22q%22+%26+%3Cb%3E%2B%3D",
        "Zürich/7 \\\"q\\\" & <b>+=", "Z\\u00fcrich/7 \\\"q\\\" & <b>+=",
        "Z\\u00FCrich\\/7 \\\"q\\\" & <b>+=", "Z\\u00fcrich/7 \\\"q\\\" \\u0026 \\u003cb\\u003e+=",
        "Zürich/7 &quot;q&quot; &amp; &lt;b&gt;+="})
    EXPECT_EQ(without(kValue, std::string("<<") + form + ">>"), "<<[redacted:KEY]>>") << form;
}

TEST(KnownValue, IsFoundInHexAndInUtf16) {
  std::string value = "k3y-Ωx!", hex, upper, little, big;
  for (unsigned char byte : value) {
    char pair[3];
    std::snprintf(pair, sizeof pair, "%02x", byte);
    hex += pair;
    std::snprintf(pair, sizeof pair, "%02X", byte);
    upper += pair;
  }
  for (char16_t unit : std::u16string(u"k3y-Ωx!")) {
    little += static_cast<char>(unit & 0xff), little += static_cast<char>(unit >> 8);
    big += static_cast<char>(unit >> 8), big += static_cast<char>(unit & 0xff);
  }
  EXPECT_EQ(without(value, "a " + hex + " b"), "a [redacted:KEY] b");
  EXPECT_EQ(without(value, "a " + upper + " b"), "a [redacted:KEY] b");
  EXPECT_EQ(without(value, "a " + little + " b"), "a [redacted:KEY] b");
  EXPECT_EQ(without(value, "a " + big + " b"), "a [redacted:KEY] b");
}

std::string url_safe(std::string text) {
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

// What may be left of a value at either end: the characters that its neighbours decide, too.
void expect_hidden(const std::string& value, const std::string& encoded) {
  std::string out = without(value, encoded);
  size_t at = out.find("[redacted:KEY]");
  ASSERT_NE(at, out.npos) << encoded << " gave " << out;
  size_t shown = out.size() - std::string("[redacted:KEY]").size();
  EXPECT_GE(encoded.size() - shown + 3, (value.size() * 8 - 12) / 6) << out;
}

TEST(KnownValue, IsFoundInBase64AtEveryAlignment) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    std::string value = random.of("abcXYZ019+/?~\xc3\xbf", 9 + random.below(40));
    std::string text =
        random.of(kAlnum, random.below(7)) + value + random.of(kAlnum, random.below(7));
    expect_hidden(value, base64(text));
    expect_hidden(value, url_safe(base64(text)));
    std::string unpadded = base64(text);
    unpadded.erase(std::min(unpadded.find('='), unpadded.size()));
    expect_hidden(value, unpadded);
  }
}

TEST(KnownValue, AloneInBase64LeavesNothing) {
  for (const char* value : {"hunter22", "hunter223", "hunter2234"}) {
    EXPECT_EQ(without(value, base64(value)), "[redacted:KEY]");
    // Echo $KEY | base64.
    EXPECT_EQ(without(value, base64(std::string(value) + "\n") + "\n"), "[redacted:KEY]\n");
  }
}

TEST(KnownValue, IsFoundInBase64ThatIsBrokenIntoLines) {
  Random random(4);
  for (size_t columns : {size_t{64}, size_t{76}}) {
    for (const char* line_end : {"\n", "\r\n", "\n    "}) {
      for (int round = 0; round < 100; ++round) {
        std::string value = random.of(kAlnum, 30 + random.below(60));
        std::string text = base64(random.of(kAlnum, random.below(120)) + value +
                                  random.of(kAlnum, random.below(50))),
                    lines;
        for (size_t at = 0; at < text.size(); at += columns)
          lines += text.substr(at, columns) + line_end;
        std::string out = without(value, lines);
        ASSERT_NE(out.find("[redacted:KEY]"), out.npos) << lines;
        ASSERT_LE(out.size(), lines.size() - value.size() * 4 / 3 + 40) << lines << "\n gave \n"
                                                                        << out;
      }
    }
  }
}

TEST(KnownValue, IsFoundBackwards) {
  EXPECT_EQ(without("open-sesame", "emases-nepo."), "[redacted:KEY].");
}

TEST(KnownValue, OfSeveralLinesIsFoundLineByLineAndAsATerminalShowsIt) {
  std::string value = "first line of the key\nsecond line of the key\nend";
  EXPECT_EQ(without(value, "x" + value + "x"), "x[redacted:KEY]x");
  EXPECT_EQ(without(value, "first line of the key\r\nsecond line of the key\r\nend."),
            "[redacted:KEY].");
  EXPECT_EQ(without(value, "2: second line of the key;"), "2: [redacted:KEY];");
}

TEST(KnownValue, OfThreeBytesIsLeftAlone) { EXPECT_EQ(without("abc", "abc abc"), "abc abc"); }

TEST(KnownValue, ShortOnesAreNotLookedForInEncodings) {
  for (const std::string& form : forms_of("abcd"))
    EXPECT_TRUE(form.find("abcd") != form.npos || form.find('\0') != form.npos) << form;
}

TEST(KnownValue, OfManyKilobytesIsFoundInPieces) {
  Random random(9);
  std::string value = random.of(kAlnum, 40000), out = without(value, "a" + value + "b");
  EXPECT_EQ(out.substr(0, 1), "a");
  EXPECT_EQ(out.back(), 'b');
  EXPECT_LT(out.size(), 100u) << out.substr(0, 200);
}

TEST(KnownValue, TooManyBytesOfThemAreRefused) {
  Result<std::shared_ptr<const Rules>> rules =
      Rules::compile({.secrets = {{"A", std::string(300 << 10, 'x')}}});
  ASSERT_FALSE(rules);
  EXPECT_NE(rules.error().message.find("256K"), std::string::npos) << rules.error().message;
}

TEST(KnownValue, TheLongestOfSeveralThatBeginAlikeNamesIt) {
  std::shared_ptr<const Rules> rules =
      rules_with({.secrets = {{"A", "sesame"}, {"B", "sesame-street"}}});
  EXPECT_EQ(redacted(*rules, "sesame-street sesame."), "[redacted:B] [redacted:A].");
}

TEST(KnownValue, ThousandsOfThemAreFound) {
  Random random(17);
  Options options;
  for (int i = 0; i < 2000; ++i)
    options.secrets.push_back({"K" + std::to_string(i), random.of(kAlnum, 24)});
  std::shared_ptr<const Rules> rules = rules_with(options);
  for (int i = 0; i < 2000; i += 37)
    EXPECT_EQ(redacted(*rules, "is " + options.secrets[i].value + "."),
              "is [redacted:K" + std::to_string(i) + "].");
}

}  // namespace
}  // namespace paddock::redact
