#include "mcp/http_headers.h"

#include <gtest/gtest.h>

namespace paddock::mcp {
namespace {

Message call(const char* params, const char* method = "tools/call") {
  return request(1, method, parse_json(params, "test").value());
}

std::string said(const std::optional<Problem>& problem) { return problem ? problem->message : ""; }

constexpr const char* kMeta =
    R"({"name":"résumé","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})";

TEST(HttpHeaders, MustSayWhatTheBodySays) {
  Message message = call(kMeta);
  HttpHeaders headers{{"mcp-protocol-version", "2026-07-28"},
                      {"MCP-METHOD", "tools/call"},
                      {"Mcp-Name", "=?base64?csOpc3Vtw6k=?="}};
  EXPECT_EQ(said(check_standard_headers(headers, message)), "");
  for (size_t i = 0; i < headers.size(); ++i) {
    HttpHeaders less = headers, other = headers, twice = headers;
    less.erase(less.begin() + static_cast<long>(i));
    other[i].value = "x";
    twice.push_back(headers[i]);
    EXPECT_EQ(check_standard_headers(less, message).value().code, kHeaderMismatch);
    EXPECT_EQ(check_standard_headers(other, message).value().code, kHeaderMismatch);
    EXPECT_EQ(check_standard_headers(twice, message).value().code, kHeaderMismatch);
  }
  headers[2].value = "résumé";  // not a header's character
  EXPECT_EQ(check_standard_headers(headers, message).value().code, kHeaderMismatch);
}

TEST(HttpHeaders, DecodesTheSentinelStrictly) {
  EXPECT_EQ(decode_header_value("plain"), "plain");
  EXPECT_EQ(decode_header_value("=?base64?SGVsbG8=?="), "Hello");
  EXPECT_EQ(decode_header_value("=?base64?SGVsbG8="), "=?base64?SGVsbG8=");
  EXPECT_EQ(decode_header_value("=?base64?"
                                "?="),
            "");
  for (const char* bad : {"=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "caf\xc3\xa9", "a\x01"})
    EXPECT_FALSE(decode_header_value(bad)) << bad;
}

TEST(HttpHeaders, ComparesMirroredParameters) {
  Value schema =
      parse_json(
          R"({"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
    "in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"bad":{"x-mcp-header":"no space"}}})",
          "test")
          .value();
  std::vector<MirroredParam> params = mirrored_params(schema);
  ASSERT_EQ(params.size(), 2u);
  auto check = [&](HttpHeaders headers, const char* arguments) {
    return said(check_mirrored(headers, params, parse_json(arguments, "test").value()));
  };
  EXPECT_EQ(check({}, "{}"), "");
  EXPECT_EQ(check({}, R"({"region":null})"), "");
  EXPECT_EQ(check({{"Mcp-Param-Region", "eu"}, {"Mcp-Param-N", "42.0"}},
                  R"({"region":"eu","in":{"n":42}})"),
            "");
  EXPECT_EQ(check({{"Mcp-Param-Unknown", "x"}}, "{}"), "");
  EXPECT_NE(check({}, R"({"region":"eu"})"), "");
  EXPECT_NE(check({{"Mcp-Param-Region", "us"}}, R"({"region":"eu"})"), "");
  EXPECT_NE(check({{"Mcp-Param-Region", "eu"}}, "{}"), "");
  EXPECT_NE(check({{"Mcp-Param-Region", "eu"}, {"Mcp-Param-Region", "eu"}}, R"({"region":"eu"})"),
            "");
  EXPECT_NE(check({{"Mcp-Param-N", "42x"}}, R"({"in":{"n":42}})"), "");
}

TEST(HttpHeaders, KeepsPagesOut) {
  HostRules local{
      .loopback_only = true, .hosts = {"box.example"}, .origins = {"https://app.example"}},
      open{.loopback_only = false, .hosts = {}, .origins = {}};
  auto is_let_in = [](HttpHeaders headers, const HostRules& rules) {
    return check_host_and_origin(headers, rules).empty();
  };
  for (const char* host :
       {"localhost", "localhost:8000", "127.0.0.1:1", "[::1]:9", "LOCALHOST", "box.example"})
    EXPECT_TRUE(is_let_in({{"Host", host}}, local)) << host;
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "",
                           "[::1].evil:1", "0.0.0.0"})
    EXPECT_FALSE(is_let_in({{"Host", host}}, local)) << host;
  EXPECT_TRUE(is_let_in({{"Host", "evil.example"}}, open));
  for (const char* origin : {"http://localhost:80", "https://app.example"})
    EXPECT_TRUE(is_let_in({{"Host", "localhost:80"}, {"Origin", origin}}, local)) << origin;
  // Whoever has that port.
  EXPECT_FALSE(is_let_in({{"Host", "localhost:8000"}, {"Origin", "http://localhost:3000"}}, local));
  for (const char* origin :
       {"null", "", "http://localhost:3000", "https://127.0.0.1", "http://evil.example",
        "http://localhost.evil.example", "https://app.example.evil"})
    EXPECT_FALSE(is_let_in({{"Host", "localhost"}, {"Origin", origin}}, local)) << origin;
  EXPECT_FALSE(is_let_in({{"Host", "localhost"}, {"Host", "localhost"}}, local));
  EXPECT_FALSE(is_let_in({{"Host", "a.example"}, {"Origin", "http://localhost"}}, open));
}

TEST(HttpHeaders, ReadsAcceptAndContentType) {
  EXPECT_TRUE(accepts({}, "text/event-stream"));
  EXPECT_TRUE(
      accepts({{"Accept", "application/json, text/event-stream;q=0.5"}}, "text/event-stream"));
  EXPECT_TRUE(accepts({{"accept", "text/*"}}, "text/event-stream"));
  EXPECT_TRUE(accepts({{"Accept", "*/*"}}, "application/json"));
  EXPECT_FALSE(accepts({{"Accept", "application/json"}}, "text/event-stream"));
  EXPECT_TRUE(has_json_body({{"Content-Type", "Application/JSON; charset=utf-8"}}));
  for (const char* type : {"text/plain", "application/jsonx", "application/json, text/plain", ""})
    EXPECT_FALSE(has_json_body({{"Content-Type", type}})) << type;
}

}  // namespace
}  // namespace paddock::mcp
