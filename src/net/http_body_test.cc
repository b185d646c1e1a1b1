#include "net/http_body.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock::net {

namespace {

using namespace std::literals;

const Body kChunked{Body::Kind::chunked};

struct Taken {
  bool ok = true, done = false;
  size_t bytes = 0;
  std::string content;
};

// Feeds `bytes` in pieces of `step`.
Taken take(Body body, const std::string& bytes, size_t step) {
  BodyReader reader(body);
  Taken taken;
  while (taken.bytes < bytes.size() && !reader.done()) {
    Result<size_t> count =
        reader.take(std::string_view(bytes).substr(taken.bytes, step), &taken.content);
    if (!count) return {.ok = false};
    taken.bytes += count.value();
  }
  taken.done = reader.done();
  return taken;
}

// Whether it ends where `rest` begins, with that content, however it arrives.
void expect_body(const std::string& bytes, const std::string& content,
                 const std::string& rest = "GET / next") {
  for (size_t step = 1; step <= bytes.size() + rest.size(); ++step) {
    Taken taken = take(kChunked, bytes + rest, step);
    ASSERT_TRUE(taken.ok) << printable(bytes) << " in steps of " << step;
    EXPECT_TRUE(taken.done) << printable(bytes);
    EXPECT_EQ(taken.bytes, bytes.size()) << printable(bytes);
    EXPECT_EQ(taken.content, content);
  }
}

}  // namespace

TEST(HttpBody, NoneIsDoneAtOnce) {
  for (Body body : {Body{}, Body{Body::Kind::length, 0}}) {
    BodyReader reader(body);
    EXPECT_TRUE(reader.done());
    EXPECT_EQ(reader.take("GET").value(), 0u);
  }
}

TEST(HttpBody, TakesAsManyBytesAsItsLength) {
  BodyReader reader({Body::Kind::length, 5});
  std::string content;
  EXPECT_EQ(reader.take("abc", &content).value(), 3u);
  EXPECT_FALSE(reader.done());
  EXPECT_EQ(reader.take("deGET", &content).value(), 2u);
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(reader.take("GET", &content).value(), 0u);
  EXPECT_EQ(content, "abcde");
}

TEST(HttpBody, EndsWithTheStreamOnlyWhenNothingElseSaysWhere) {
  BodyReader until_close({Body::Kind::until_close}), length({Body::Kind::length, 5}),
      chunked(kChunked);
  EXPECT_EQ(until_close.take("abc").value(), 3u);
  EXPECT_FALSE(until_close.done());
  for (BodyReader* reader : {&until_close, &length, &chunked}) reader->at_end_of_stream();
  EXPECT_TRUE(until_close.done());
  EXPECT_FALSE(length.done());
  EXPECT_FALSE(chunked.done());
}

TEST(HttpBody, ReadsChunks) {
  expect_body("0\r\n\r\n", "");
  expect_body("3\r\nabc\r\n0\r\n\r\n", "abc");
  expect_body("1\r\na\r\n0A\r\n0123456789\r\n00\r\n\r\n", "a0123456789");
  expect_body("2\r\n\r\n\r\n0\r\n\r\n", "\r\n");
  expect_body("3;name=\"value\"\r\nabc\r\n0;x\r\n\r\n", "abc");
  expect_body("3;\r\nabc\r\n0\r\n\r\n", "abc");
  expect_body("000000000000003\r\nabc\r\n0\r\n\r\n", "abc");
  expect_body("3\r\nabc\r\n0\r\nX-Digest: abc\r\nY:\r\n\r\n", "abc");
}

TEST(HttpBody, RefusesBrokenChunks) {
  for (const std::string& bytes : {
           "\r\n"s,
           "\n"s,
           "x\r\n"s,
           " 3\r\nabc\r\n"s,
           "3 \r\nabc\r\n"s,
           "3 ;a\r\nabc\r\n"s,
           "0x3\r\nabc\r\n"s,
           "+3\r\nabc\r\n"s,
           "-3\r\nabc\r\n"s,
           "3\nabc\r\n"s,
           "3\r\rabc"s,
           ";a\r\n"s,
           "3;a\nabc\r\n"s,
           "3;a\r\x01"s,
           "3;\x01\r\n"s,
           "3;\x80\r\n"s,
           "3;a\tb\r\n"s,
           "3\r\nabcd\r\n"s,
           "3\r\nabc\n0\r\n\r\n"s,
           "3\r\nabc\r0"s,
           "3\r\nabc0\r\n\r\n"s,
           "0000000000000003\r\nabc\r\n"s,
           "1000000000000000\r\n"s,
           "ffffffffffffffffff\r\n"s,
           "3;" + std::string(257, 'a') + "\r\n",
           "0\r\nX : a\r\n\r\n"s,
           "0\r\n folded\r\n\r\n"s,
           "0\r\nno colon\r\n\r\n"s,
           "0\r\nX: a\nY: b\r\n\r\n"s,
           "0\r\nX: a\rY"s,
           "0\r\nX: \x01\r\n\r\n"s,
           "0\r\n\n"s,
           "0\r\nContent-Length: 5\r\n\r\n"s,
           "0\r\ntransfer-encoding: chunked\r\n\r\n"s,
           "0\r\nHost: a\r\n\r\n"s,
           "0\r\nX: " + std::string(8 << 10, 'a'),
       }) {
    for (size_t step : {size_t{1}, bytes.size()})
      EXPECT_FALSE(take(kChunked, bytes, step).ok) << printable(bytes);
  }
}

TEST(HttpBody, IsNotDoneBeforeItsLastByte) {
  std::string whole = "3;a=b\r\nabc\r\n0\r\nX: a\r\n\r\n";
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(take(kChunked, whole.substr(0, size), 1000).done) << size;
}

TEST(HttpBody, MakesChunksThatReadBack) {
  EXPECT_EQ(make_chunk(""), "0\r\n\r\n");
  EXPECT_EQ(make_chunk("0123456789abcdef"), "10\r\n0123456789abcdef\r\n");
  expect_body(cat(make_chunk("abc"), make_chunk(std::string(300, 'x')), make_chunk("")),
              "abc" + std::string(300, 'x'));
}

}  // namespace paddock::net
