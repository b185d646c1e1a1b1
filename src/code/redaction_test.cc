#include "code/redaction.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/value.h"

namespace paddock::code {
namespace {

class CellRedactionTest : public testing::Test {
 protected:
  static std::shared_ptr<const redact::Rules> rules() {
    static const auto made =
        redact::Rules::compile({.secrets = {{"KEY", "s3cret-\"value\""}}}).value();
    return made;
  }
  static std::string text_of(const std::string& event, const char* member = "text") {
    Result<Value> value = parse_json(event, "event");
    const Value* found = value ? value.value().find(member) : nullptr;
    return found && found->as_string() ? *found->as_string() : "(none)";
  }
  CellRedaction cell_{rules()};
};

TEST_F(CellRedactionTest, PassesWhatHasNoSecretAsItIs) {
  for (const char* event :
       {R"({"type":"result","text":"a\u00e9\n\"b\"","json":{"x":[1,2.50,null,true,"y"]}})",
        R"({"type":"stdout","text":"plain"})", R"({"type":"stdout","text":""})"})
    EXPECT_EQ(
        cell_.take(std::string(event).find("stdout") != std::string::npos ? "stdout" : "result",
                   event),
        event);
  EXPECT_TRUE(cell_.counts().empty());
}

TEST_F(CellRedactionTest, FindsASecretInAnyText) {
  std::string told = cell_.take(
      "result",
      R"({"type":"result","text":"s3cret-\"value\"","json":{"deep":["s3cret-\u0022value\u0022",{"s3cret-\"value\"":1}]}})");
  EXPECT_EQ(
      told,
      R"({"type":"result","text":"[redacted:KEY]","json":{"deep":["[redacted:KEY]",{"[redacted:KEY]":1}]}})");
  EXPECT_EQ(cell_.counts().at("KEY"), 3u);
}

TEST_F(CellRedactionTest, FindsASecretThatComesInSeveralEvents) {
  EXPECT_EQ(text_of(cell_.take("stdout", R"({"type":"stdout","text":"a s3cr"})")), "a ");
  EXPECT_EQ(cell_.take("stdout", R"({"type":"stdout","text":"et-\"val"})"), "");
  EXPECT_EQ(text_of(cell_.take("stderr", R"({"type":"stderr","text":"ue."})")),
            "ue.");  // another stream
  EXPECT_EQ(text_of(cell_.take("stdout", R"({"type":"stdout","text":"ue\"."})")),
            "[redacted:KEY].");
  EXPECT_EQ(cell_.finish(), "");
}

TEST_F(CellRedactionTest, TellsAtTheEndWhatWasHeldBackForNothing) {
  EXPECT_EQ(cell_.take("stderr", R"({"type":"stderr","text":"s3cret-"})"), "");
  EXPECT_EQ(cell_.finish(), "{\"type\":\"stderr\",\"text\":\"s3cret-\"}\n");
  EXPECT_EQ(cell_.finish(), "");
}

TEST_F(CellRedactionTest, LeavesPicturesAloneAndNothingElseUnderTheirNames) {
  std::string picture = R"({"type":"result","png":"iVBORw0KGgos3cret-\"value\""})";
  EXPECT_EQ(cell_.take("result", picture), picture);
  EXPECT_EQ(text_of(cell_.take("result", R"({"type":"result","png":"s3cret-\"value\""})"), "png"),
            "[redacted:KEY]");
}

TEST_F(CellRedactionTest, RemembersTheNameOfAnError) {
  std::string told = cell_.take(
      "error",
      R"({"type":"error","name":"ValueError","value":"s3cret-\"value\"","traceback":"x"})");
  EXPECT_EQ(text_of(told, "value"), "[redacted:KEY]");
  EXPECT_EQ(cell_.error_name(), "ValueError");
}

TEST_F(CellRedactionTest, DropsWhatIsNoJson) {
  for (const char* event :
       {R"({"type":"result","text":"s3cret)", R"({"type":"result","text":"\x"})",
        R"({"type":"result","text":"\u12"})", R"({"type":"result"}})", R"({"type":["result"})",
        "{\"", "{\"\\"})
    EXPECT_EQ(cell_.take("result", event), "") << event;
}

TEST_F(CellRedactionTest, KeepsCharactersOutsideTheBasicPlane) {
  EXPECT_EQ(text_of(cell_.take(
                "result", R"({"type":"result","text":"\ud83d\ude00 s3cret-\"value\" \ud83d"})")),
            "\xf0\x9f\x98\x80 [redacted:KEY] \xef\xbf\xbd");
}

TEST_F(CellRedactionTest, TakesDeepTextsWithoutATree) {
  std::string deep = "{\"type\":\"result\",\"data\":" + std::string(2'000'000, '[') +
                     std::string(2'000'000, ']') + "}";
  EXPECT_EQ(cell_.take("result", deep), deep);
}

}  // namespace
}  // namespace paddock::code
