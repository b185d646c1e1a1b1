#include "base/fields.h"

#include <gtest/gtest.h>

namespace paddock {
namespace {

Value json(const char* text) { return std::move(parse_json(text, "test")).value(); }

TEST(Fields, GiveWhatIsThereAndNullAsMissing) {
  Value body = json(R"({"a":"x","b":true,"c":3.0,"d":{"k":"v"},"e":["1"],"f":null})");
  Fields fields(body);
  EXPECT_EQ(fields.text("a"), "x");
  EXPECT_EQ(fields.flag("b"), true);
  EXPECT_EQ(fields.number("c"), 3);
  EXPECT_EQ(fields.texts_by_name("d").at("k"), "v");
  EXPECT_EQ(fields.texts("e")->front(), "1");
  EXPECT_EQ(fields.text("f"), std::nullopt);
  EXPECT_TRUE(fields.done());
}

TEST(Fields, NameTheFirstThingThatIsWrong) {
  Value body = json(R"({"timeout":"soon","tiemout_ms":1})");
  Fields fields(body);
  EXPECT_EQ(fields.number("timeout"), std::nullopt);
  EXPECT_EQ(fields.number("timeout_ms"), std::nullopt);
  EXPECT_EQ(fields.done().error().message, "timeout must be a whole number, not a string");
  Fields again(body);
  (void)again.any("timeout");
  (void)again.any("timeout_ms");
  EXPECT_EQ(again.done().error().hint, "did you mean 'timeout_ms'?");
  EXPECT_FALSE(Fields(json("[]")).done());
}

}  // namespace
}  // namespace paddock
