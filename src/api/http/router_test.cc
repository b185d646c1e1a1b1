#include "api/http/router.h"

#include <gtest/gtest.h>

#include "api/http/rate.h"
#include "base/text.h"

namespace paddock::api {
namespace {

Router make_router() {
  Router router;
  router.add({{"GET", "/v1/things", "read", nullptr, "list"},
              {"POST", "/v1/things", "read", nullptr, "make"},
              {"GET", "/v1/things/{id}", "read", nullptr, "one"},
              {"GET", "/v1/things/special", "read", nullptr, "the special one"},
              {"DELETE", "/templates/{template}", "read", nullptr, "remove"},
              {"GET", "/tree/{rest...}", "read", nullptr, "a path"}});
  return router;
}

// "what part=value", "405 allowed", "malformed" or "none".
std::string find(std::string_view method, std::string_view path) {
  Router router = make_router();
  Router::Match match = router.find(method, path);
  if (match.malformed) return "malformed";
  if (!match.route) return match.allowed.empty() ? "none" : cat("405 ", match.allowed);
  std::string text = match.route->what;
  for (const auto& [name, value] : match.parts) text += cat(" ", name, "=", value);
  return text;
}

TEST(Router, FindsByMethodAndPieces) {
  EXPECT_EQ(find("GET", "/v1/things"), "list");
  EXPECT_EQ(find("HEAD", "/v1/things"), "list");
  EXPECT_EQ(find("POST", "/v1/things"), "make");
  EXPECT_EQ(find("GET", "/v1/things/abc"), "one id=abc");
  EXPECT_EQ(find("GET", "/v1/things/special"), "the special one");
  EXPECT_EQ(find("GET", "/tree/a/b%20c/"), "a path rest=a/b c/");
}

TEST(Router, KeepsAnEncodedSlashInItsPiece) {
  EXPECT_EQ(find("DELETE", "/templates/team%2Fn%3Av1"), "remove template=team/n:v1");
}

TEST(Router, TellsUnknownPathsFromUnknownMethods) {
  EXPECT_EQ(find("GET", "/"), "none");
  EXPECT_EQ(find("GET", "/v1/things/"), "none");
  EXPECT_EQ(find("GET", "/v1/things/a/b"), "none");
  EXPECT_EQ(find("PATCH", "/v1/things"), "405 GET, POST");
}

TEST(Router, RefusesIdsThatCannotBe) {
  for (const char* id : {"..%2f..", "%2e%2e", "a%0ab", "a%00b", "a%20b", "%c3%a9", "a%7fb"})
    EXPECT_EQ(find("GET", cat("/v1/things/", id)), "malformed") << id;
  EXPECT_EQ(find("GET", "/v1/things/" + std::string(200, 'a')), "malformed");
  EXPECT_EQ(find("DELETE", "/templates/a%0ab"), "malformed");
}

TEST(RateLimits, FillSteadilyAndSayHowLong) {
  RateLimits rates;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(rates.take("k", 2, 1000), 0) << i;
  EXPECT_FALSE(rates.has("k", 1000));
  EXPECT_TRUE(rates.has("k", 1500));
  EXPECT_TRUE(rates.has("new", 1000));
  EXPECT_EQ(rates.take("k", 2, 1000), 1);
  EXPECT_EQ(rates.take("other", 2, 1000), 0);
  EXPECT_EQ(rates.take("k", 2, 1500), 0);
  EXPECT_EQ(rates.take("k", 2, 1500), 1);
  EXPECT_EQ(rates.take("k", 0, 1500), 0);
}

}  // namespace
}  // namespace paddock::api
