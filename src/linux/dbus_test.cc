#include "linux/dbus.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock::kernel {
namespace {

DbusMessage call() {
  DbusBody body;
  body.text("unit.scope");
  body.text("fail");
  return {.serial = 7,
          .path = "/org/freedesktop/systemd1",
          .interface = "org.freedesktop.systemd1.Manager",
          .member = "StopUnit",
          .destination = "org.freedesktop.systemd1",
          .signature = "ss",
          .body = std::move(body).take()};
}

// The first bytes of this call as sd-bus writes them, up to its first header field.
TEST(Dbus, WritesTheHeaderAsSpecified) {
  std::string bytes = encode({.serial = 1, .path = "/a", .member = "M"});
  std::string expected(
      "l\1\0\1\0\0\0\0\1\0\0\0\x1a\0\0\0\1\1o\0\2\0\0\0/"
      "a\0\0\0\0\0\0\3\1s\0\1\0\0\0M\0\0\0\0\0\0\0",
      48);
  EXPECT_EQ(bytes, expected);
}

TEST(Dbus, ReadsWhatItWrites) {
  Result<DbusMessage> message = parse_dbus_message(encode(call()));
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ(message.value(), call());
  DbusReader reader(message.value().body);
  std::string unit, mode;
  EXPECT_TRUE(reader.text(unit) && reader.text(mode) && reader.at_end());
  EXPECT_EQ(unit + " " + mode, "unit.scope fail");
}

TEST(Dbus, CountsAnArrayWithoutThePaddingBeforeIt) {
  DbusBody body;
  size_t array = body.open_array(8);
  body.open_struct();
  body.number(5);
  body.close_array(array);
  EXPECT_EQ(std::move(body).take(), std::string("\4\0\0\0\0\0\0\0\5\0\0\0", 12));
}

TEST(Dbus, RefusesEveryCutMessage) {
  std::string bytes = encode(call());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse_dbus_message(bytes.substr(0, size))) << size;
  EXPECT_FALSE(parse_dbus_message(bytes + '\0'));
}

TEST(Dbus, RefusesAMessageThatClaimsToBeHuge) {
  std::string bytes = encode(call());
  bytes[7] = 0x7f;
  EXPECT_FALSE(dbus_message_size(bytes));
}

TEST(Dbus, RefusesWhatIsNotASpecifiedMessage) {
  std::string good = encode(call());
  auto with = [&](size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return bytes;
  };
  EXPECT_FALSE(parse_dbus_message(with(0, 'B')));   // another byte order
  EXPECT_FALSE(parse_dbus_message(with(1, 0)));     // no type
  EXPECT_FALSE(parse_dbus_message(with(3, 2)));     // another version
  EXPECT_FALSE(parse_dbus_message(with(8, 0)));     // no serial number
  EXPECT_FALSE(parse_dbus_message(with(16, 0)));    // no header field has this code
  EXPECT_FALSE(parse_dbus_message(with(24, 'x')));  // a path that starts with a letter
}

TEST(Dbus, RefusesMissingRepeatedAndSurplusFields) {
  EXPECT_FALSE(parse_dbus_message(encode({.serial = 1, .path = "/a"})));
  EXPECT_FALSE(parse_dbus_message(encode({.type = DbusMessage::Type::reply, .serial = 1})));
  EXPECT_FALSE(parse_dbus_message(encode({.serial = 1, .path = "/a", .member = "M", .body = "x"})));
  std::string twice = encode({.serial = 1, .path = "/a", .member = "M"});
  twice[32] = 1, twice[34] = 'o', twice[40] = '/';
  EXPECT_FALSE(parse_dbus_message(twice));
}

TEST(Dbus, KnowsObjectPaths) {
  for (const char* path : {"/", "/a", "/org/freedesktop/systemd1/job/7"})
    EXPECT_TRUE(is_dbus_path(path)) << path;
  for (const char* path : {"", "a", "/a/", "//", "/a//b", "/a-b", "/a b"})
    EXPECT_FALSE(is_dbus_path(path)) << path;
}

}  // namespace
}  // namespace paddock::kernel
