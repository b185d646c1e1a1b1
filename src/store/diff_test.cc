#include "store/diff.h"

#include "store/change_test.h"

namespace paddock::store {
namespace {

using DiffTest = ChangeTest;

TEST_F(DiffTest, ShowsAddedChangedRemovedAndMode) {
  write("ws/changed", "old");
  write("ws/removed", "old");
  write("ws/mode", "same", 0644);
  write("ws/untouched", "same");
  start();
  write(up_ + "added", "12345");
  write(up_ + "changed", "newer");
  whiteout("removed");
  write(up_ + "mode", "same", 0755);
  EXPECT_EQ(seen(), (Lines{"added added", "changed changed", "mode mode", "removed removed"}));
  Change change = change_at("changed");
  EXPECT_EQ(change.size_before, 3u);
  EXPECT_EQ(change.size_after, 5u);
  EXPECT_EQ(change_at("mode").mode_after, 0755u);
}

TEST_F(DiffTest, CopiedUpButTheSameIsNoChange) {
  write("ws/f", "same");
  make("ws/d");
  link("f", "ws/l");
  start();
  write(up_ + "f", "same");
  make(up_ + "d");
  link("f", up_ + "l");
  EXPECT_EQ(seen(), Lines{});
}

TEST_F(DiffTest, SameSizeOtherContentIsAChange) {
  write("ws/f", std::string(200'000, 'a') + "x");
  start();
  write(up_ + "f", std::string(200'000, 'a') + "y");
  EXPECT_EQ(seen(), Lines{"changed f"});
}

TEST_F(DiffTest, ARemovedDirectoryStandsWithItsContent) {
  make("ws/d");
  make("ws/d/e");
  write("ws/d/e/f", "x");
  start();
  whiteout("d");
  EXPECT_EQ(seen(), (Lines{"removed d", "removed d/e", "removed d/e/f"}));
}

TEST_F(DiffTest, AnOpaqueDirectoryHidesWhatWasThere) {
  make("ws/d");
  write("ws/d/gone", "x");
  write("ws/d/stays", "x");
  start();
  make(up_ + "d");
  mark("d", "user.overlay.opaque", "y");
  write(up_ + "d/stays", "x");
  write(up_ + "d/new", "x");
  EXPECT_EQ(seen(), (Lines{"removed d/gone", "added d/new"}));
}

TEST_F(DiffTest, AnEmptyFileWithTheWhiteoutAttributeIsARemoval) {
  write("ws/f", "x");
  start();
  write(up_ + "f", "");
  mark("f", "user.overlay.whiteout", "");
  EXPECT_EQ(seen(), Lines{"removed f"});
}

TEST_F(DiffTest, ADirectoryReplacedByAFileLosesItsContent) {
  make("ws/d");
  write("ws/d/f", "x");
  start();
  write(up_ + "d", "now a file");
  EXPECT_EQ(seen(), (Lines{"changed d", "removed d/f"}));
}

TEST_F(DiffTest, RefusesForgedAttributes) {  // P12
  make("ws/d");
  write("ws/f", "x");
  start();
  make(up_ + "d");
  mark("d", "user.overlay.redirect", "/etc");
  write(up_ + "d/child", "x");
  write(up_ + "f", "x");
  mark("f", "user.overlay.metacopy", "");
  write(up_ + "g", "x");
  mark("g", "user.overlay.somethingnew", "");
  EXPECT_EQ(seen(), (Lines{"mode d!", "added d/child!", "changed f!", "added g!"}));
}

TEST_F(DiffTest, TheKernelsOwnAttributesAreFine) {
  start();
  write(up_ + "f", "x");
  mark("f", "user.overlay.origin", "");
  mark("f", "user.overlay.overlay.redirect", "/etc");
  mark("f", "user.mine", "x");
  EXPECT_EQ(seen(), Lines{"added f"});
}

TEST_F(DiffTest, RefusesSpecialFiles) {
  start();
  ASSERT_EQ(::mkfifo(at(up_ + "fifo").c_str(), 0644), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::mknod(at(up_ + "null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
    EXPECT_EQ(seen(), (Lines{"added fifo!", "added null!"}));
  } else {
    EXPECT_EQ(seen(), Lines{"added fifo!"});
  }
}

TEST_F(DiffTest, LinksMustStayInside) {  // P01
  for (const char* target : {"/etc/shadow", "..", "../x", "a/../..", "d/../../x", "./../x", "a/.."})
    EXPECT_NE(link_problem("f", target), "") << target;
  for (const char* target : {"g", "./g", "d/g", ".", "d//g"})
    EXPECT_EQ(link_problem("f", target), "") << target;
  EXPECT_EQ(link_problem("d/f", "../g"), "");
  EXPECT_NE(link_problem("d/f", "../../g"), "");
  EXPECT_NE(link_problem("f", ""), "");
}

TEST_F(DiffTest, ReportsWhatTheHostChangedSince) {  // P13
  write("ws/both", "old");
  write("ws/removed", "old");
  start();
  write("ws/both", "by the host");
  write(up_ + "both", "by the program");
  write("ws/removed", "by the host");
  whiteout("removed");
  write("ws/new", "by the host");
  write(up_ + "new", "by the program");
  EXPECT_EQ(seen(), (Lines{"changed both!", "changed new!", "removed removed!"}));
}

TEST_F(DiffTest, ReportsADirectoryThatBecameALink) {
  make("ws/d");
  make("victim");
  start();
  make(up_ + "d");
  write(up_ + "d/f", "x");
  ASSERT_EQ(::rmdir(at("ws/d").c_str()), 0);
  link("../victim", "ws/d");
  EXPECT_EQ(seen(), (Lines{"changed d!", "added d/f!"}));
}

TEST_F(DiffTest, ReportsWhatTheHostRemovedSince) {
  write("ws/f", "old");
  start();
  write(up_ + "f", "new");
  mark("f", "user.overlay.origin", "");
  ASSERT_EQ(::unlink(at("ws/f").c_str()), 0);
  EXPECT_EQ(seen(), Lines{"added f!"});
}

TEST_F(DiffTest, DeniesByPatternWhatCameLater) {  // P08, P23
  make("ws/secrets");
  start({"**/.env", at("ws/secrets")});
  write(up_ + ".env", "x");
  make(up_ + "d");
  write(up_ + "d/.ENV", "x");
  write(up_ + "d/fine", "x");
  make(up_ + "secrets");
  write(up_ + "secrets/k", "x");
  EXPECT_EQ(seen(),
            (Lines{"added .env!", "added d", "added d/.ENV!", "added d/fine", "added secrets/k!"}));
}

TEST_F(DiffTest, CopesWithDeepAndStrangeNames) {
  start();
  write(up_ + "new\nline\x1b[31m", "x");
  Fd here = open_file(set_.upper, O_RDONLY | O_DIRECTORY).value();
  std::string name(200, 'd');
  for (int i = 0; i < 60; ++i) {
    ASSERT_EQ(::mkdirat(here.get(), name.c_str(), 0755), 0);
    here = kernel::open_beneath(here.get(), name, O_RDONLY | O_DIRECTORY).value();
  }
  std::vector<Change> changes = diff(set_).value();
  EXPECT_LT(changes.size(), 30u);
  EXPECT_FALSE(changes[changes.size() - 2].conflict.empty()) << "too long to be applied";
}

TEST_F(DiffTest, FindsWhatTheHostExecutes) {  // P04, P05, P06, P07
  make("ws/.git");
  make("ws/.git/objects");
  make("ws/.git/refs");
  write("ws/.git/HEAD", "ref: refs/heads/main\n");
  write("ws/.git/config", "[core]\n\tbare = false\n");
  start();
  make(up_ + ".git");
  make(up_ + ".git/hooks");
  write(up_ + ".git/hooks/pre-commit", "x");
  write(up_ + ".git/HEAD", "ref: refs/heads/other\n");
  write(up_ + ".git/config", "[core]\n\tbare = false\n\tfsmonitor = ./x\n");
  make(up_ + "sub");
  make(up_ + "sub/.git");
  write(up_ + "sub/.git/HEAD", "x");
  make(up_ + ".vscode");
  write(up_ + ".vscode/tasks.json", "{}");
  write(up_ + "main.py", "x");
  EXPECT_EQ(seen(),
            (Lines{"changed .git/HEAD", "changed .git/config*", "added .git/hooks",
                   "added .git/hooks/pre-commit*", "added .vscode", "added .vscode/tasks.json*",
                   "added main.py", "added sub", "added sub/.git", "added sub/.git/HEAD*"}));
}

// A bare repository is one wherever git is started.
TEST_F(DiffTest, FindsARepositoryWithoutTheName) {
  make("ws/x");
  write("ws/x/config", "[core]\n\tfsmonitor = ./evil\n");
  start();
  make(up_ + "x");
  write(up_ + "x/HEAD", "ref: refs/heads/main\n");
  make(up_ + "x/objects");
  make(up_ + "x/refs");
  EXPECT_EQ(seen(), (Lines{"added x/HEAD*", "added x/objects*", "added x/refs*"}));
  write(up_ + "HEAD", "ref: refs/heads/main\n");
  make(up_ + "objects");
  make(up_ + "refs");
  write(up_ + "config", "[core]\n\tfsmonitor = ./evil\n");
  EXPECT_EQ(change_at("config").flags.size(), 1u) << "the workspace itself became one";
}

TEST_F(DiffTest, KnowsTheHooksPathOfTheWorkspace) {
  make("ws/.git");
  write("ws/.git/config", "[core]\n\thooksPath = ./scripts/hooks/\n");
  make("ws/scripts");
  start();
  make(up_ + "scripts");
  make(up_ + "scripts/hooks");
  write(up_ + "scripts/hooks/pre-push", "x");
  write(up_ + "scripts/other", "x");
  EXPECT_EQ(seen(),
            (Lines{"added scripts/hooks", "added scripts/hooks/pre-push*", "added scripts/other"}));
}

}  // namespace
}  // namespace paddock::store
