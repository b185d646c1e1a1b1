#include "mcp/message.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock::mcp {
namespace {

// What is made of it, in one line: how it is written anew, or the code and the id it is refused with.
std::string read(std::string_view text) {
  Parsed parsed = parse_message(text);
  return parsed.message ? to_text(*parsed.message) : cat(parsed.problem.code, " ", to_json(parsed.id));
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
  for (const char* text : {"", "{", "nonsense", R"({"jsonrpc":"2.0","id":1,"id":1,"method":"a"})", R"({"jsonrpc":"2.0","id":1,"method":"a","params":{"x":NaN}})",
                           R"({"jsonrpc":"2.0","id":1,"method":"a"} {})", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"})
    EXPECT_EQ(read(text), "-32700 null") << text;
  EXPECT_EQ(read(std::string(100, '[') + std::string(100, ']')), "-32700 null");
}

TEST(Message, RefusesEnvelopesThatAreNoneAndNamesTheirId) {
  EXPECT_EQ(read(R"([{"jsonrpc":"2.0","id":1,"method":"a"}])"), "-32600 null");
  EXPECT_EQ(read(R"({"jsonrpc":"1.0","id":1,"method":"a"})"), "-32600 1");
  EXPECT_EQ(read(R"({"id":"x","method":"a"})"), "-32600 \"x\"");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1.5,"method":"a"})"), "-32600 null");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":null,"method":"a"})"), "-32600 null");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":99999999999999999999,"method":"a"})"), "-32600 null");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":""})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":"a","params":[]})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":"a","result":{}})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"result":[]})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","result":{}})"), "-32600 null");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}})"), "-32600 1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":"a","extra":1})"), "-32600 1");
}

}  // namespace
}  // namespace paddock::mcp
