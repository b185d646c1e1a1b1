#include "base/error_table.h"

#include <gtest/gtest.h>

#include <cstring>

namespace paddock {
namespace {

constexpr Code kCodes[] = {Code::invalid,  Code::denied,    Code::unsupported, Code::not_found,
                           Code::conflict, Code::exhausted, Code::io,          Code::internal};

TEST(ErrorTable, EveryCodeHasARowOfItsOwn) {
  for (Code code : kCodes) {
    EXPECT_EQ(error_row(code, Kind::none).code, code);
    EXPECT_EQ(http_status(code), http_status(Error{code, "", "only for people"}));
  }
}

TEST(ErrorTable, EveryKindHasARow) {
  for (int number = 0; number <= static_cast<int>(Kind::unknown); ++number) {
    Kind kind = static_cast<Kind>(number);
    for (Code code : kCodes) EXPECT_EQ(error_row(code, kind).kind, kind);
    Error error = make_error(kind, "why");
    EXPECT_EQ(error.kind, kind);
    EXPECT_EQ(error_row(error.code, kind).code, error.code);
  }
}

TEST(ErrorTable, StatusesAreThoseThatClientsKnow) {
  EXPECT_EQ(http_status(Code::invalid), 400);
  EXPECT_EQ(http_status(Code::denied), 403);
  EXPECT_EQ(http_status(Code::unsupported), 400);
  EXPECT_EQ(http_status(Code::not_found), 404);
  EXPECT_EQ(http_status(Code::conflict), 409);
  EXPECT_EQ(http_status(Code::exhausted), 429);
  EXPECT_EQ(http_status(Code::io), 500);
  EXPECT_EQ(http_status(Code::internal), 500);
  EXPECT_EQ(http_status(make_error(Kind::malformed, "")), 422);
}

TEST(ErrorTable, WhatCouldNotBeRecordedIsTheServersFault) {
  EXPECT_EQ(http_status(Error{Code::io, "", "", Kind::unrecorded}), 503);
  EXPECT_EQ(http_status(Error{Code::exhausted, "", "", Kind::unrecorded}), 507);
  EXPECT_STREQ(connect_code(Error{Code::io, "", "", Kind::unrecorded}), "unavailable");
  EXPECT_STREQ(connect_code(Error{Code::exhausted, "", "", Kind::unrecorded}),
               "resource_exhausted");
}

TEST(ErrorTable, NamesOfConnectMeanAnErrorThatHasThisName) {
  for (const char* name :
       {"canceled", "unknown", "invalid_argument", "deadline_exceeded", "not_found",
        "already_exists", "permission_denied", "resource_exhausted", "failed_precondition",
        "aborted", "unimplemented", "internal", "unavailable", "unauthenticated"}) {
    const ErrorRow* row = find_connect_code(name);
    ASSERT_TRUE(row) << name;
    EXPECT_STREQ(connect_code(Error{row->code, "", "", row->kind}), name);
  }
  EXPECT_EQ(find_connect_code("never heard of"), nullptr);
  EXPECT_EQ(find_connect_code("internal")->code, Code::internal);
  EXPECT_EQ(find_connect_code("resource_exhausted")->kind, Kind::none);
}

TEST(ErrorTable, StatusesOfConnectAreThoseOfItsProtocol) {
  EXPECT_EQ(connect_status(Error{Code::not_found}), 404);
  EXPECT_EQ(connect_status(Error{Code::unsupported}), 501);
  EXPECT_EQ(connect_status(make_error(Kind::failed_precondition, "")), 400);
  EXPECT_EQ(connect_status(make_error(Kind::unauthenticated, "")), 401);
  EXPECT_EQ(connect_status(make_error(Kind::deadline_exceeded, "")), 504);
  EXPECT_EQ(connect_status(make_error(Kind::canceled, "")), 499);
}

TEST(ErrorTable, AGuestCannotClaimWhatIsAboutTheConnection) {
  for (const char* name : {"canceled", "unavailable", "deadline_exceeded", "permission_denied"})
    EXPECT_FALSE(find_connect_code(name)->from_guest) << name;
  for (const char* name : {"not_found", "unknown", "unauthenticated"})
    EXPECT_TRUE(find_connect_code(name)->from_guest) << name;
}

}  // namespace
}  // namespace paddock
