#include "mcp/message.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock::mcp {
namespace {

// What is made of it, in one line: how it is written anew, or the code and the id it is refused
// with.
std::string read(std::string_view text) {
  Parsed parsed = parse_message(text);
  return parsed.message ? to_text(*parsed.message)
                        : cat(parsed.problem.code, " ", to_json(parsed.id));
}

TEST(Message, ReadsBackWhatItWrites) {
  for (const char* text : {
           R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"b":1,"a":[1.5,null,"é"]}})",
           R"({"jsonrpc":"2.0","id":"1","method":"ping"})",
           R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})",
           R"({"jsonrpc":"2.0","id":-7,"result":{}})",
           R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}})",
           R"({"jsonrpc":"2.0","id":"","error":{"code":1,"message":"m","data":{"k":[]}}})",
       })
    EXPECT_EQ(read(text), text);
}

TEST(Message, RefusesWhatStrictJsonRefuses) {
  for (const char* text : {"", "{", "nonsense", R"({"jsonrpc":"2.0","id":1,"id":1,"method":"a"})",
                           R"({"jsonrpc":"2.0","id":1,"method":"a","params":{"x":NaN}})",
                           R"({"jsonrpc":"2.0","id":1,"method":"a"} {})",
                           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"})
    EXPECT_EQ(read(text), "-32700 null") << text;
  EXPECT_EQ(read(std::string(100, '[') + std::string(100, ']')), "-32700 null");
}

TEST(Message, RefusesWhatWouldFillTheMemory) {
  auto numbers = [](size_t count) {
    std::string text = R"({"jsonrpc":"2.0","id":1,"result":{"a":[0)";
    for (size_t i = 1; i < count; ++i) text += ",0";
    return text + "]}}";
  };
  EXPECT_EQ(read(numbers(190'000)), numbers(190'000));
  EXPECT_EQ(read(numbers(200'000)), "-32700 null");
}

TEST(Message, RefusesWholeNumbersThatWouldBecomeOthers) {
  auto with = [](const std::string& number) {
    return read(R"({"jsonrpc":"2.0","id":1,"result":{"n":)" + number + "}}");
  };
  for (const char* kept :
       {"9223372036854775807", "-9223372036854775808", "100000000000000000000",
        "-100000000000000000000", "18446744073709552000", "0", "-0", "9007199254740993"})
    EXPECT_EQ(with(kept).find("-32700"), std::string::npos) << kept;
  for (const char* changed :
       {"9223372036854775808", "18446744073709551615", "18446744073709551616",
        "-9223372036854775809", "100000000000000000001", "123456789012345678901234567890"})
    EXPECT_EQ(with(changed), "-32700 null") << changed;
}

TEST(Message, RefusesEnvelopesThatAreNoneAndNamesTheirId) {
  EXPECT_EQ(read(R"([{"jsonrpc":"2.0","id":1,"method":"a"}])"), "-32600 null");
  EXPECT_EQ(read(R"({"jsonrpc":"1.0","id":1,"method":"a"})"), "-32600 1");
  EXPECT_EQ(read(R"({"id":"x","method":"a"})"), "-32600 \"x\"");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1.5,"method":"a"})"), "-32600 null");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":null,"method":"a"})"), "-32600 null");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":100000000000000000000,"method":"a"})"), "-32600 null");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":""})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":"a","params":[]})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":"a","result":{}})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}})"),
            "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"result":[]})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","result":{}})"), "-32600 null");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":"a","extra":1})"), "-32600 1");
}

}  // namespace
}  // namespace paddock::mcp
