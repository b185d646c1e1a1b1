#include "template/recipe.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "template/steps.h"

namespace paddock::templates {
namespace {

Result<Recipe> recipe(const std::string& text) {
  return parse_recipe(parse_json(text, "test").value());
}
std::string why_not(const std::string& text) {
  Result<Recipe> read = recipe(text);
  return read ? "" : read.error().message;
}

TEST(Recipe, ReadsWhatTheSdkSends) {
  std::string hash(64, 'a');
  Recipe read =
      recipe(
          cat(R"({"fromImage":"e2bdev/base","force":true,"startCmd":"serve","readyCmd":"true","steps":[
      {"type":"RUN","args":["id","root"],"force":false},
      {"type":"COPY","args":["a/*","b","","0755"],"filesHash":")",
              hash, R"(","forceUpload":true},
      {"type":"ENV","args":["A","1"]},{"type":"WORKDIR","args":["/app"]},{"type":"USER","args":["user"]}]})"))
          .value();
  EXPECT_EQ(read.from_image, "e2bdev/base");
  EXPECT_TRUE(read.force);
  EXPECT_EQ(read.start_command, "serve");
  ASSERT_EQ(read.steps.size(), 5u);
  EXPECT_EQ(describe(read.steps[0]), "RUN id");
  EXPECT_EQ(describe(read.steps[1]), "COPY a/* b 0755");
  EXPECT_EQ(describe(read.steps[2]), "ENV A=1");
  EXPECT_EQ(describe(read.steps[2], Values::hidden), "ENV A=…");
  EXPECT_EQ(read.steps[1].files, hash);
}

TEST(Recipe, RefusesWhatCannotBeAStep) {
  EXPECT_NE(why_not(R"({"steps":[{"type":"ADD","args":["a","b"]}]})").find("step 1"),
            std::string::npos);
  EXPECT_NE(why_not(R"({"steps":[{"type":"RUN","args":[]}]})"), "");
  EXPECT_NE(why_not(R"({"steps":[{"type":"COPY","args":["a","b"],"filesHash":"../../etc"}]})"), "");
  EXPECT_NE(why_not(R"({"steps":[{"type":"COPY","args":["a","b","","9"],"filesHash":")" +
                    std::string(64, 'a') + R"("}]})"),
            "");
  EXPECT_NE(why_not(R"({"steps":[{"type":"ENV","args":["A"]}]})"), "");
  EXPECT_NE(why_not(R"({"steps":[{"type":"ENV","args":["A=B","x"]}]})"), "");
  EXPECT_NE(why_not(R"({"steps":[{"type":"USER","args":["-x"]}]})"), "");
  EXPECT_NE(why_not(R"({"fromImage":"a","fromTemplate":"b"})"), "");
  EXPECT_NE(why_not(R"({"steps":{}})"), "");
  EXPECT_NE(why_not(R"([])"), "");
}

TEST(Recipe, ExpandsVariablesAsAShellWould) {
  std::map<std::string, std::string> env{{"PATH", "/bin"}, {"A", "x"}};
  EXPECT_EQ(expand_variables("/opt:$PATH", env).value(), "/opt:/bin");
  EXPECT_EQ(expand_variables("${A}${B}c", env).value(), "xc");
  EXPECT_EQ(expand_variables("\\$A $ 5$", env).value(), "$A $ 5$");
  EXPECT_EQ(expand_variables("${A", env).value(), "${A");
  EXPECT_EQ(expand_variables("${A:-b}", env).value(), "${A:-b}");
}

TEST(BuildRecipe, ExpandsToNoMoreThanAnArgumentMayBe) {
  std::map<std::string, std::string> env{{"A", std::string(100 << 10, 'x')}};
  EXPECT_TRUE(expand_variables("$A", env));
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "$A";
  EXPECT_EQ(expand_variables(many, env).error().code, Code::exhausted);
}

TEST(Recipe, ImagesHaveNamesThatFilesCanHave) {
  EXPECT_EQ(image_name_for("ubuntu:22.04"), "ubuntu-22.04");
  EXPECT_EQ(image_name_for("ghcr.io/a/b:1"), "ghcr.io-a-b-1");
  EXPECT_TRUE(is_e2b_base("e2bdev/base:latest"));
  EXPECT_FALSE(is_e2b_base("evil/e2bdev/base"));
}

TEST(Recipe, AStepIsAnotherOneOnOtherLayersOrWithOtherFiles) {
  store::Template last;
  last.layers = {"a"};
  BuildStep step{StepKind::run, {"id"}, "", false};
  std::string key = step_key(last, step);
  EXPECT_EQ(step_key(last, step), key);
  store::Template other = last;
  other.layers = {"b"};
  EXPECT_NE(step_key(other, step), key);
  other = last;
  other.env["A"] = "1";
  EXPECT_NE(step_key(other, step), key);
  BuildStep copy{StepKind::copy, {"a", "b"}, "1", false},
      changed{StepKind::copy, {"a", "b"}, "2", false};
  EXPECT_NE(step_key(last, copy), step_key(last, changed));
}

}  // namespace
}  // namespace paddock::templates
