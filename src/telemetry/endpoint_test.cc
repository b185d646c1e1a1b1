#include "telemetry/endpoint.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace paddock::telemetry {
namespace {

class EndpointTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                             "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_SDK_DISABLED"})
      ::unsetenv(name);
  }
  static Endpoint found(const std::string& given, const TelemetryPolicy& policy) {
    Result<std::optional<Endpoint>> endpoint = find_endpoint(given, policy);
    EXPECT_TRUE(endpoint && endpoint.value());
    return endpoint && endpoint.value() ? *endpoint.value() : Endpoint();
  }
};

TEST_F(EndpointTest, ReadsUrls) {
  Endpoint plain = parse_endpoint("http://127.0.0.1:4318").value();
  EXPECT_EQ(plain.url.host, "127.0.0.1");
  EXPECT_EQ(plain.url.port, 4318);
  EXPECT_EQ(plain.url.path, "/v1/traces");
  EXPECT_FALSE(plain.url.tls);
  Endpoint secure = parse_endpoint("https://[2001:db8::1]/otlp/").value();
  EXPECT_EQ(secure.url.host, "2001:db8::1");
  EXPECT_EQ(secure.url.port, 443);
  EXPECT_EQ(secure.url.path, "/otlp/v1/traces");
  EXPECT_TRUE(secure.url.tls);
  EXPECT_EQ(parse_endpoint("http://collector").value().url.port, 4318);
}

TEST_F(EndpointTest, RefusesWhatIsNoUrl) {
  for (const char* wrong : {"", "collector:4318", "ftp://x", "http://", "http://user@host",
                            "http://host/a?b", "http://host/a\r\nX: y", "http://host:99999"})
    EXPECT_FALSE(parse_endpoint(wrong)) << wrong;
}

TEST_F(EndpointTest, NobodyWantsTracesUnlessSomebodySaysSo) {
  EXPECT_FALSE(find_endpoint("", {}).value());
  ::setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://one:1", 1);
  EXPECT_EQ(found("", {}).url.host, "one");
  ::setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://two:2/whole", 1);
  EXPECT_EQ(found("", {}).url.path, "/whole");
  EXPECT_EQ(found("", {.endpoint = "http://three:3"}).url.host, "three");
  EXPECT_EQ(found("http://four:4", {.endpoint = "http://three:3"}).url.host, "four");
  ::setenv("OTEL_SDK_DISABLED", "true", 1);
  EXPECT_FALSE(find_endpoint("http://four:4", {}).value());
}

TEST_F(EndpointTest, HeadersStayWithTheirEndpoint) {
  ::setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://one:1", 1);
  ::setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, b = c", 1);
  EXPECT_EQ(found("", {}).headers,
            (std::map<std::string, std::string>{{"authorization", "Bearer x"}, {"b", "c"}}));
  TelemetryPolicy policy{.endpoint = "http://three:3", .headers = {{"k", "v"}}};
  EXPECT_EQ(found("", policy).headers, policy.headers);
  EXPECT_EQ(found("http://four:4", policy).headers.count("k"), 0u);
}

TEST_F(EndpointTest, AHeaderCannotBecomeTwo) {
  EXPECT_FALSE(find_endpoint("", {.endpoint = "http://x", .headers = {{"k", "v\r\nX: y"}}}));
  EXPECT_FALSE(find_endpoint("", {.endpoint = "http://x", .headers = {{"k: v\r\nX", "y"}}}));
  ::setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://one:1", 1);
  ::setenv("OTEL_EXPORTER_OTLP_HEADERS", "k=v%0d%0aX:%20y", 1);
  EXPECT_FALSE(find_endpoint("", {}));
}

}  // namespace
}  // namespace paddock::telemetry
