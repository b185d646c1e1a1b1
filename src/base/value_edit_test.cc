#include "base/value_edit.h"

#include <gtest/gtest.h>

namespace paddock {
namespace {

Value json(const char* text) { return parse_json(text, "test").value(); }

TEST(ValueEdit, ReplacesAMemberInItsPlaceOrAddsIt) {
  Value object = json(R"({"a":1,"b":2})");
  set_member(object, "a", "x");
  set_member(object, "c", true);
  EXPECT_EQ(to_json(object), R"({"a":"x","b":2,"c":true})");
  Value nothing;
  set_member(nothing, "a", 1);
  EXPECT_EQ(to_json(nothing), R"({"a":1})");
}

TEST(ValueEdit, RemovesAMember) {
  Value object = json(R"({"a":1,"b":2})");
  remove_member(object, "a");
  remove_member(object, "missing");
  EXPECT_EQ(to_json(object), R"({"b":2})");
}

TEST(ValueEdit, FindsAMemberOfAMember) {
  Value object = json(R"({"a":{"b":{"c":3}},"d":4})");
  ASSERT_TRUE(find_path(object, {"a", "b", "c"}));
  EXPECT_EQ(to_json(*find_path(object, {"a", "b"})), R"({"c":3})");
  EXPECT_FALSE(find_path(object, {"a", "x"}));
  EXPECT_FALSE(find_path(object, {"d", "e"}));
}

TEST(ValueEdit, SortsTheMembersOfAllObjects) {
  Value object = json(R"({"b":[{"y":1,"x":2},3],"a":null})");
  EXPECT_EQ(to_json(sorted_members(object)), R"({"a":null,"b":[{"x":2,"y":1},3]})");
  EXPECT_FALSE(object == sorted_members(object));
  EXPECT_TRUE(sorted_members(object) == sorted_members(sorted_members(object)));
}

}  // namespace
}  // namespace paddock
