#include "net/websocket.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock::net {
namespace {

using Type = WebSocketMessage::Type;

// What a reader makes of the bytes, in one line: "type:payload " each; "!why/code" for an error.
std::string read(std::string_view bytes, size_t step,
                 WebSocketReader::From from = WebSocketReader::From::client,
                 size_t most = 100'000) {
  WebSocketReader reader(from, most);
  std::string said;
  for (size_t at = 0; at < bytes.size(); at += step) {
    reader.add(bytes.substr(at, step));
    while (true) {
      Result<std::optional<WebSocketMessage>> next = reader.next();
      if (!next) return cat(said, "!", close_code(next.error()));
      if (!next.value()) break;
      said +=
          cat(static_cast<int>(next.value()->type), ":",
              next.value()->code ? cat(next.value()->code, "/") : "", next.value()->payload, " ");
    }
  }
  return said;
}

// A mask of zeros.
std::string frame(std::string head, std::string payload) {
  return head + std::string(4, '\0') + payload;
}

TEST(WebSocket, AcceptsAsTheStandardsExample) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_TRUE(is_websocket_key("dGhlIHNhbXBsZSBub25jZQ=="));
  EXPECT_FALSE(is_websocket_key("dGhl"));
}

TEST(WebSocket, ReadsBackWhatItWritesHoweverItArrives) {
  for (size_t size : {0, 1, 125, 126, 65535, 65536}) {
    std::string payload(size, 'x'), expected = cat("1:", payload, " ");
    for (size_t step : {1, 3, 1000, 100'000}) {
      EXPECT_EQ(read(websocket_frame(Type::text, payload, 0x12345678), step), expected);
      EXPECT_EQ(read(websocket_frame(Type::text, payload), step, WebSocketReader::From::server),
                expected);
    }
  }
  EXPECT_EQ(read(websocket_close(1000, "bye", 7), 1), "8:1000/bye ");
}

TEST(WebSocket, JoinsPiecesAroundControlFrames) {
  EXPECT_EQ(read(frame("\x01\x81", "a") + frame("\x89\x81", "p") + frame("\x80\x81", "b"), 1),
            "9:p 1:ab ");
}

TEST(WebSocket, RefusesWhatTheStandardForbids) {
  // Not masked.
  EXPECT_EQ(read("\x81\x01"
                 "a",
                 1),
            "!1002");
  EXPECT_EQ(read(websocket_frame(Type::text, "a", 1), 1, WebSocketReader::From::server), "!1002");
  // Reserved bit.
  EXPECT_EQ(read(frame("\xc1\x81", "a"), 1), "!1002");
  // Opcode.
  EXPECT_EQ(read(frame("\x83\x81", "a"), 1), "!1002");
  // Ping in pieces.
  EXPECT_EQ(read(frame("\x09\x81", "a"), 1), "!1002");
  // Goes on with nothing.
  EXPECT_EQ(read(frame("\x80\x81", "a"), 1), "!1002");
  // Begins anew.
  EXPECT_EQ(read(frame("\x01\x81", "a") + frame("\x81\x81", "b"), 1), "!1002");
  // A long length.
  EXPECT_EQ(read(frame(std::string("\x81\xfe\x00\x01", 4), "a"), 1), "!1002");
  // Half a close code.
  EXPECT_EQ(read(frame("\x88\x81", "a"), 1), "!1002");
  // 1005 on the wire.
  EXPECT_EQ(read(frame("\x88\x82", "\x03\xed"), 1), "!1002");
  EXPECT_EQ(read(frame("\x81\x81", "\xff"), 1), "!1007");
  EXPECT_EQ(read(websocket_frame(Type::binary, std::string(11, 'x'), 1), 5,
                 WebSocketReader::From::client, 10),
            "!1009");
  EXPECT_EQ(read(frame("\x02\x86", "aaaaaa") + frame("\x80\x86", "aaaaaa"), 5,
                 WebSocketReader::From::client, 10),
            "!1009");
}

}  // namespace
}  // namespace paddock::net
