#include "guest/request.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace paddock::guest {
namespace {

TEST(Refusal, KeepsItsCodeOnTheWire) {
  for (const Error& error :
       {refuse(Code::invalid, "x"), refuse(Code::not_found, "x"), refuse(Code::exhausted, "x"),
        refuse(Code::internal, "x"), refuse(Kind::already_exists, "x"),
        refuse(Kind::failed_precondition, "x"), refuse(Kind::unauthenticated, "x"),
        refuse(Kind::unknown, "x"), refuse(Kind::unimplemented, "x")}) {
    Error read = from_wire(wire_code(error), error.message);
    EXPECT_EQ(read.code, error.code) << wire_code(error);
    EXPECT_EQ(read.kind, error.kind) << wire_code(error);
    EXPECT_EQ(read.message, "x");
  }
}

TEST(Refusal, NamesThatAGuestMustNotUseAreUnknown) {
  for (const char* name : {"", "nonsense", "unavailable", "canceled", "deadline_exceeded"})
    EXPECT_EQ(from_wire(name, "").kind, Kind::unknown) << name;
}

TEST(Refusal, ErrorsOfLibrariesHaveAName) {
  EXPECT_STREQ(wire_code(Error{Code::conflict}), "failed_precondition");
  EXPECT_STREQ(wire_code(Error{Code::denied}), "internal");
  EXPECT_STREQ(wire_code(Error{Code::unsupported}), "internal");
  EXPECT_STREQ(wire_code(Error{Code::io}), "internal");
}

TEST(Refusal, ErrnoBecomesACode) {
  auto code = [](int number) { return std::string(wire_code(refuse_errno(number, "x"))); };
  EXPECT_EQ(code(ENOENT), "not_found");
  EXPECT_EQ(code(EEXIST), "already_exists");
  EXPECT_EQ(code(EACCES), "invalid_argument");
  EXPECT_EQ(code(ENOTEMPTY), "failed_precondition");
  EXPECT_EQ(code(ENOSPC), "resource_exhausted");
  EXPECT_EQ(code(EMFILE), "resource_exhausted");
  EXPECT_EQ(code(EIO), "internal");
  EXPECT_EQ(refuse_errno(EDQUOT, "write").message, "write: not enough disk space");
}

TEST(Request, ReadsMembersByTheirType) {
  Value request = Value::Object{{"text", "a"},           {"flag", true},
                                {"number", 7},           {"texts", Value::Array{"x", "y"}},
                                {"nothing", Value()},    {"pairs", Value::Object{{"k", "v"}}},
                                {"bad", Value::Array{1}}};
  EXPECT_EQ(text_of(request, "text").value(), "a");
  EXPECT_EQ(text_of(request, "nothing", "else").value(), "else");
  EXPECT_FALSE(text_of(request, "flag"));
  EXPECT_TRUE(flag_of(request, "flag").value());
  EXPECT_FALSE(flag_of(request, "text"));
  EXPECT_EQ(number_of(request, "number", 0, 10).value(), 7);
  EXPECT_FALSE(number_of(request, "number", 0, 5));
  EXPECT_FALSE(number_of(request, "missing", 0, 5).value());
  EXPECT_EQ(texts_of(request, "texts").value().size(), 2u);
  EXPECT_FALSE(texts_of(request, "bad"));
  EXPECT_FALSE(texts_of(request, "text"));
  EXPECT_EQ(pairs_of(request, "pairs").value().at("k"), "v");
  EXPECT_FALSE(pairs_of(request, "texts"));
}

TEST(Request, PathsFitIntoACString) {
  EXPECT_FALSE(path_of(Value::Object{{"path", std::string("a\0b", 3)}}, "path"));
  EXPECT_FALSE(path_of(Value::Object{{"path", std::string(5000, 'x')}}, "path"));
  EXPECT_EQ(path_of(Value::Object{{"path", "/a"}}, "path").value(), "/a");
}

}  // namespace
}  // namespace paddock::guest
