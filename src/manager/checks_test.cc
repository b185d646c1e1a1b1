#include "manager/checks.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/text.h"

namespace paddock::manager {
namespace {

TEST(Checks, IdsAndNamesAreSafeInPaths) {
  EXPECT_TRUE(is_id("i0123abc"));
  for (const char* text : {"", "A", "a/b", "..", "a b"}) EXPECT_FALSE(is_id(text)) << text;
  EXPECT_FALSE(is_id(std::string(41, 'a')));
  EXPECT_TRUE(is_name("My.box_1-x"));
  for (const char* text : {"", ".hidden", "-flag", "_x", "a/b", "a b"})
    EXPECT_FALSE(is_name(text)) << text;
  EXPECT_TRUE(is_id(make_id().value()));
  EXPECT_EQ(make_token().value().size(), 43u);
  EXPECT_EQ(make_boot_id().value().size(), 36u);
}

TEST(Checks, VolumesAreMountedOnlyWhereTheyHideNothing) {
  EXPECT_EQ(check_mount_path("/data/./x").value(), "/data/x");
  for (const char* path :
       {"", "data", "/", "/etc", "/proc/x", "/dev/shm", "/sys", "/usr", "/run/paddock/x", "/a\nb"})
    EXPECT_FALSE(check_mount_path(path)) << path;
  EXPECT_FALSE(check_mount_path("/" + std::string(2000, 'x')));
}

TEST(Checks, RefusesEveryOptionThatCannotBe) {
  EXPECT_TRUE(check_options({}));
  struct {
    const char* what;
    std::function<void(CreateOptions&)> spoil;
  } cases[] = {
      {"name", [](CreateOptions& o) { o.name = "a b"; }},
      {"empty key", [](CreateOptions& o) { o.env[""] = "x"; }},
      {"control character", [](CreateOptions& o) { o.env["a\x1b"] = "x"; }},
      {"equals", [](CreateOptions& o) { o.env["a=b"] = "x"; }},
      {"NUL", [](CreateOptions& o) { o.env["a"] = std::string("x\0y", 3); }},
      {"not UTF-8", [](CreateOptions& o) { o.metadata["a"] = "\xff"; }},
      {"long value", [](CreateOptions& o) { o.env["a"] = std::string(100 << 10, 'x'); }},
      {"many entries",
       [](CreateOptions& o) {
         for (int i = 0; i < 300; ++i) o.metadata[std::to_string(i)] = "x";
       }},
      {"much text",
       [](CreateOptions& o) {
         for (int i = 0; i < 10; ++i) o.env[cat("a", i)] = std::string(60 << 10, 'x');
       }},
      {"short secret", [](CreateOptions& o) { o.secrets["A"] = "abc"; }},
      {"long secret", [](CreateOptions& o) { o.secrets["A"] = std::string(5 << 10, 'x'); }},
      {"secret in env",
       [](CreateOptions& o) {
         o.secrets["A"] = "long enough";
         o.env["A"] = "x";
       }},
      {"many secrets",
       [](CreateOptions& o) {
         for (int i = 0; i < 65; ++i) o.secrets[cat("S", i)] = "long enough";
       }},
      {"much secret text",
       [](CreateOptions& o) {
         for (int i = 0; i < 10; ++i) o.secrets[cat("S", i)] = std::string(4 << 10, 'x');
       }},
      {"negative timeout", [](CreateOptions& o) { o.timeout_ms = -1; }},
      {"long timeout", [](CreateOptions& o) { o.idle_timeout_ms = INT64_MAX; }},
      {"template", [](CreateOptions& o) { o.template_name = "a\nb"; }},
      {"host", [](CreateOptions& o) { o.mask_request_host = std::string(300, 'x'); }},
      {"auto-resume",
       [](CreateOptions& o) {
         o.lifecycle.auto_resume = o.lifecycle.pause_on_timeout = true;
         o.lifecycle.pause_keeps_memory = false;
       }},
      {"extra", [](CreateOptions& o) { o.extra = Value(std::string(300 << 10, 'x')); }},
      {"many volumes",
       [](CreateOptions& o) {
         for (int i = 0; i < 17; ++i)
           o.volumes.push_back({.name = cat("v", i), .path = cat("/v", i)});
       }},
      {"volume's name", [](CreateOptions& o) { o.volumes = {{.name = "a b", .path = "/v"}}; }},
      {"volume's path", [](CreateOptions& o) { o.volumes = {{.name = "a", .path = "v"}}; }},
      {"two on one path", [](CreateOptions& o) {
         o.volumes = {{.name = "a", .path = "/v"}, {.name = "b", .path = "/v/"}};
       }}};
  for (const auto& each : cases) {
    CreateOptions options;
    each.spoil(options);
    Result<void> checked = check_options(options);
    ASSERT_FALSE(checked) << each.what;
    EXPECT_EQ(checked.error().code, Code::invalid) << each.what;
  }
}

}  // namespace
}  // namespace paddock::manager
