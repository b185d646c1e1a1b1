#include "redact/known.h"

#include <gtest/gtest.h>

namespace paddock::redact {
namespace {

using Secrets = std::map<std::string, std::string>;

TEST(KnownValues, AreRemovedHoweverTheStreamIsCut) {
  const std::string text = "key=hunter22! and hunter2 again hunter22";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    KnownValues known(Secrets{{"KEY", "hunter22"}});
    std::string out = known.feed(text.substr(0, cut));
    out += known.feed(text.substr(cut));
    out += known.finish();
    EXPECT_EQ(out, "key=[redacted:KEY]! and hunter2 again [redacted:KEY]");
    EXPECT_EQ(known.count(), 2u);
  }
}

TEST(KnownValues, TheLongestOneWins) {
  KnownValues known(Secrets{{"A", "secret"}, {"B", "secret-token"}});
  EXPECT_EQ(known.feed("secret-token secret."), "[redacted:B] [redacted:A].");
}

TEST(KnownValues, WaitForALongerOneThatBeginsTheSame) {
  KnownValues known(Secrets{{"A", "secret"}, {"B", "secret-token"}});
  EXPECT_EQ(known.feed("secret"), "");
  EXPECT_EQ(known.feed("-token"), "[redacted:B]");
  EXPECT_EQ(known.feed("secret-to"), "");
  EXPECT_EQ(known.finish(), "[redacted:A]-to");
}

TEST(KnownValues, HoldNothingBackThatCannotBecomeOne) {
  KnownValues known(Secrets{{"A", "secret"}});
  EXPECT_EQ(known.feed("prompt> "), "prompt> ");
  EXPECT_EQ(known.feed("se"), "");
  EXPECT_EQ(known.feed("e"), "see");
}

}  // namespace
}  // namespace paddock::redact
