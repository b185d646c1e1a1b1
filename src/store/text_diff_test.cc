#include "store/change_test.h"

namespace paddock::store {
namespace {

class TextDiffTest : public ChangeTest {
 protected:
  std::string between(const std::string& before, const std::string& after) {
    write("ws/f", before);
    start();
    write(up_ + "f", after);
    Result<std::string> text = text_diff(set_, change_at("f"));
    return text ? text.value() : text.error().message;
  }
};

TEST_F(TextDiffTest, ShowsHunksWithContext) {
  EXPECT_EQ(between("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST_F(TextDiffTest, SplitsDistantChangesIntoHunks) {
  std::string before, after;
  for (int i = 0; i < 30; ++i)
    before += cat(i, "\n"), after += i == 3 || i == 20 ? cat(i, "!\n") : cat(i, "\n");
  std::string text = between(before, after);
  EXPECT_NE(text.find("@@ -1,7 +1,7 @@"), std::string::npos) << text;
  EXPECT_NE(text.find("@@ -18,7 +18,7 @@"), std::string::npos) << text;
}

TEST_F(TextDiffTest, SeesAMissingLastNewline) {
  EXPECT_EQ(between("a\nb\n", "a\nb"),
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n");
}

TEST_F(TextDiffTest, ShowsAddedFilesWhole) {
  start();
  write(up_ + "new", "a\nb\n");
  EXPECT_EQ(text_diff(set_, change_at("new")).value(),
            "--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n");
}

TEST_F(TextDiffTest, SendsNoEscapesToTheTerminal) {
  std::string text = between("a\n", "\x1b]52;c;evil\x07\ttab\n");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("\\x1b]52"), std::string::npos);
  EXPECT_NE(text.find("\ttab"), std::string::npos);
}

TEST_F(TextDiffTest, SaysWhatItCannotShow) {
  EXPECT_NE(between(std::string("a\0b", 3), "c").find("not shown: binary"), std::string::npos);
}

TEST_F(TextDiffTest, IsBoundedOnLargeAndUnlikeFiles) {
  std::string before, after;
  for (int i = 0; i < 50'000; ++i) before += cat(i, "\n"), after += cat(i * 7 + 1, "\n");
  EXPECT_NE(between(before, after).find("@@"), std::string::npos);
}

}  // namespace
}  // namespace paddock::store
