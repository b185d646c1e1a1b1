#include "api/http/all_routes.h"

#include <gtest/gtest.h>

#include <set>

#include "api/native/openapi.h"
#include "base/text.h"

namespace paddock::api {
namespace {

TEST(Routes, EachHasAHandlerAndIsThereOnce) {
  std::set<std::string> seen;
  for (const Route& route : all_routes()) {
    EXPECT_TRUE(route.handler) << route.path;
    EXPECT_TRUE(seen.insert(cat(route.method, " ", route.path)).second) << route.path;
  }
}

TEST(Routes, ThoseOfE2bTellErrorsAsE2bDoes) {
  for (const Route& route : all_routes()) {
    bool native =
        starts_with(route.path, "/v1/") || route.what || route.path == std::string("/mcp");
    EXPECT_EQ(route.plane == Plane::native, native) << route.path;
  }
}

TEST(Routes, AScopeIsNeededButForAFew) {
  std::set<std::string> open;
  for (const Route& route : all_routes())
    if (!*route.scope) open.insert(route.path);
  EXPECT_EQ(open, (std::set<std::string>{"/health", "/version", "/openapi.json",
                                         "/templates/upload/{permit}", "/volumecontent/{id}/dir",
                                         "/volumecontent/{id}/path", "/volumecontent/{id}/file"}));
}

TEST(Openapi, DescribesTheNativeRoutesAlone) {
  Value document = make_openapi(all_routes());
  const Value* paths = document.find("paths");
  ASSERT_TRUE(paths && paths->as_object());
  EXPECT_TRUE(paths->find("/v1/sandboxes/{id}/exec"));
  EXPECT_FALSE(paths->find("/sandboxes"));
  const Value* create = paths->find("/v1/sandboxes")->find("post");
  ASSERT_TRUE(create);
  EXPECT_EQ(text_in(*create, "operationId"), "post_sandboxes");
  EXPECT_EQ(text_in(*create, "x-scope"), "sandboxes");
  EXPECT_TRUE(create->find("responses")->find("201"));
}

}  // namespace
}  // namespace paddock::api
