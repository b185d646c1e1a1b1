#include "cli/audit_line.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "cli/table.h"

namespace paddock::cli {
namespace {

constexpr Colours kPlain{"", "", "", "", "", ""};

TEST(AuditLine, ShowsACommandAsOneWouldTypeIt) {
  audit::Found found{
      .seq = 7,
      .line =
          R"({"seq":7,"time":"2026-01-31T12:00:00.123456Z","kind":"command.start","sandbox":"box","tenant":"local","agent":"ann","verdict":"allow","data":{"argv":["sh","-c","echo 'it'"],"cwd":"/tmp"}})"};
  std::string line = readable(found, kPlain, 0);
  EXPECT_NE(line.find("12:00:00.123       7  command.start   box"), std::string::npos) << line;
  EXPECT_NE(line.find("local/ann  allow  sh -c 'echo '\\''it'\\'''  cwd=/tmp"), std::string::npos)
      << line;
}

TEST(AuditLine, IsOneLineWithoutControlCharactersWhateverStandsInIt) {
  audit::Found found{
      .seq = 1,
      .line =
          R"({"seq":1,"time":"x","kind":"k\n\u001b[2J","sandbox":"\u202egnp","tenant":"\u0007","agent":"\u009b31m","data":{"a\rb":"\u001b]52;c;AAAA\u0007","argv":["\n{\"seq\":2}"]}})"};
  std::string line = readable(found, kPlain, 0);
  for (unsigned char c : line) EXPECT_GE(c, 0x20) << line;
  for (const char* hostile : {"\u202e", "\u009b", "\x7f"})
    EXPECT_EQ(line.find(hostile), std::string::npos);
}

TEST(AuditLine, FitsTheTerminal) {
  audit::Found found{
      .seq = 1,
      .line = R"({"seq":1,"time":"2026-01-31T12:00:00Z","kind":"run.start","data":{"argv":[")" +
              std::string(5000, 'x') + R"("]}})"};
  EXPECT_LE(display_width(readable(found, kPlain, 100)), 100u);
  found.damage = "changed";
  EXPECT_LE(display_width(readable(found, kPlain, 100)), 100u);
}

TEST(AuditLine, SaysWhatIsDamaged) {
  audit::Found found{.seq = 3,
                     .line =
                         "rub\x1b"
                         "bish",
                     .segment = "00000001.jsonl",
                     .offset = 12,
                     .damage = "it is no record"};
  EXPECT_NE(readable(found, kPlain, 0)
                .find("DAMAGED (00000001.jsonl at byte 12): it is no record: rub\\x1bbish"),
            std::string::npos)
      << readable(found, kPlain, 0);
  EXPECT_TRUE(parse_json(audit::as_json(found), "line"));
}

}  // namespace
}  // namespace paddock::cli
