#include "net/multipart.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock::net {
namespace {

constexpr const char* kType = "multipart/form-data; boundary=XX";

// What the events say, in one line: "[name|filename]content;" for each part, "." at the end; "!"
// and why for an error.
std::string read(std::string_view type, std::string_view body, size_t step) {
  Result<MultipartReader> reader = MultipartReader::create(type);
  if (!reader) return cat("!", reader.error().message);
  std::string said;
  for (size_t at = 0; at < body.size(); at += step) {
    reader.value().add(body.substr(at, step));
    while (true) {
      Result<MultipartReader::Event> event = reader.value().next();
      if (!event) return cat(said, "!", event.error().message);
      MultipartReader::Event& it = event.value();
      if (it.kind == MultipartReader::Event::Kind::more ||
          it.kind == MultipartReader::Event::Kind::end)
        break;
      if (it.kind == MultipartReader::Event::Kind::part)
        said += cat("[", it.part.name, "|", it.part.filename.value_or("-"), "]");
      if (it.kind == MultipartReader::Event::Kind::data) said += it.data;
      if (it.kind == MultipartReader::Event::Kind::part_end) said += ";";
    }
  }
  return said + (reader.value().ended() ? "." : "…");
}

std::string part(std::string_view disposition, std::string_view content) {
  return cat("--XX\r\nContent-Disposition: ", disposition, "\r\n\r\n", content, "\r\n");
}

void expect_for_all_steps(std::string_view body, const std::string& expected) {
  for (size_t step : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{64}, body.size()})
    EXPECT_EQ(read(kType, body, step), expected) << step;
}

TEST(Multipart, GivesPartsInOrderHoweverTheBytesArrive) {
  std::string body = part("form-data; name=\"file\"; filename=\"a/b/c.txt\"", "hello") +
                     part("form-data; name=file; filename=d", "") +
                     part("form-data; name=\"x\"", "\r\n--X\r\n-") + "--XX--\r\nafterwards";
  expect_for_all_steps(body, "[file|a/b/c.txt]hello;[file|d];[x|-]\r\n--X\r\n-;.");
}

TEST(Multipart, SkipsWhatStandsBeforeTheFirstBoundary) {
  expect_for_all_steps("hello\r\n" + part("form-data; name=a", "1") + "--XX--", "[a|-]1;.");
}

TEST(Multipart, LeavesPercentEscapesAndTakesBackslashes) {
  expect_for_all_steps(part(R"(form-data; name="a"; filename="x%22y\"z\\w;v")", "1") + "--XX--",
                       "[a|x%22y\"z\\w;v]1;.");
}

TEST(Multipart, KnowsThatABodyIsCutShort) {
  EXPECT_EQ(read(kType, part("form-data; name=a", "12"), 5), "[a|-]12…");
}

TEST(Multipart, RefusesWhatIsNoForm) {
  EXPECT_EQ(read("text/plain", "", 1),
            "!read multipart body: the content is not multipart/form-data");
  EXPECT_EQ(read("multipart/form-data", "", 1),
            "!read multipart body: no boundary, or none that can be one");
  EXPECT_EQ(read("multipart/form-data; boundary=\"a\x01\"", "", 1),
            "!read multipart body: no boundary, or none that can be one");
  EXPECT_EQ(read(kType, "--XX\r\nA: b\r\n\r\n1\r\n--XX--", 99),
            "!read multipart body: a part without Content-Disposition");
  EXPECT_EQ(read(kType, "--XX\r\n\r\n1\r\n--XX--", 99),
            "!read multipart body: a part without Content-Disposition");
  EXPECT_EQ(read(kType, part("form-data; filename=x", "1"), 99),
            "!read multipart body: a part without a name");
  EXPECT_EQ(read(kType, part("attachment; name=x", "1"), 99),
            "!read multipart body: a part that is no form-data");
  EXPECT_EQ(read(kType, "--XXX\r\n", 99), "!read multipart body: a boundary that goes on");
}

TEST(Multipart, BoundsHeadsAndPreambles) {
  EXPECT_EQ(read(kType, "--XX\r\nA: " + std::string(20'000, 'x'), 1000),
            "!read multipart body: a part whose head is too long");
  EXPECT_EQ(read(kType, std::string(20'000, 'x'), 1000),
            "!read multipart body: too much before the first boundary");
}

TEST(HeaderParameter, FindsQuotedAndBareValues) {
  EXPECT_EQ(header_parameter("form-data; a=1; B=\"2;3\"; c", "b"), "2;3");
  EXPECT_EQ(header_parameter("x; a=\"b=c\"; d=e", "d"), "e");
  EXPECT_EQ(header_parameter("x; a=\"b=c", "d"), std::nullopt);
  EXPECT_EQ(header_parameter("x", "x"), std::nullopt);
}

}  // namespace
}  // namespace paddock::net
