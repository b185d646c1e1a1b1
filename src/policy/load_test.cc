// Layers and how they combine: the cases of tests/cases/policy/combine.toml, driven through load().
#include "policy/load.h"

#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/presets.h"
#include "policy/test_cases.h"

namespace paddock::policy {

namespace {

LoadContext context_with(const Value* files) {
  return {.paths = {.base_directory = "/work/project", .home = "/home/agent"},
          .read = [files](const std::string& path) -> Result<std::string> {
            const Value* text = files ? files->find(path) : nullptr;
            if (!text) return Error{Code::not_found, "no such file", ""};
            return *text->as_string();
          }};
}

Policy call_of(const Value& entry) {
  DecodeContext context;
  context.base_directory = "/work/project";
  context.refuse_wide_network = false;
  Result<Policy> call = decode_text(text_of(entry, "call"), "call", context);
  EXPECT_TRUE(call) << call.error().message;
  if (!call) return {};
  if (entry.find("raw_write")) call.value().files.write = texts_of(entry, "raw_write");
  return call.value();
}

// What load() refuses because the call asks for too much, combined all the same.
Result<Combined> combine_anyway(const std::vector<std::string>& names, const Policy& call,
                                const LoadContext& context) {
  std::vector<Layer> layers;
  for (const std::string& name : names)
    for (Layer& layer : TRY(load_layers(name, context))) layers.push_back(std::move(layer));
  return combine(layers, call, TRY(preset("default")));
}

}  // namespace

TEST(Load, DecidesEveryCase) {
  for (const Value& entry : test_cases("combine.toml", "case")) {
    SCOPED_TRACE(text_of(entry, "name"));
    Result<Combined> combined =
        load(texts_of(entry, "names"), call_of(entry), context_with(entry.find("files")));
    if (entry.find("refused")) {
      ASSERT_FALSE(combined);
      EXPECT_EQ(combined.error().code, Code::denied);
      EXPECT_EQ(combined.error().message, join(texts_of(entry, "refused"), "; "));
      combined = combine_anyway(texts_of(entry, "names"), call_of(entry),
                                context_with(entry.find("files")));
    }
    if (entry.find("denied")) {
      ASSERT_FALSE(combined);
      EXPECT_NE(combined.error().message.find(text_of(entry, "denied")), std::string::npos)
          << combined.error().message;
      EXPECT_NE(combined.error().hint.find(text_of(entry, "hint")), std::string::npos)
          << combined.error().hint;
      continue;
    }
    ASSERT_TRUE(combined) << combined.error().message;
    Value effective = to_value(combined.value().policy);
    expect_keys(effective, entry.find("expect"));
    for (const std::string& path : texts_of(entry, "absent"))
      EXPECT_EQ(at_path(effective, path), nullptr) << path;
    if (!entry.find("notes")) continue;
    EXPECT_EQ(combined.value().notes, texts_of(entry, "notes"));
  }
}

TEST(Load, NamesTheResultAfterWhatWasNamed) {
  Result<Combined> nothing = load({}, {}, context_with(nullptr));
  Result<Combined> two = load({"python", "strict"}, {}, context_with(nullptr));
  ASSERT_TRUE(nothing);
  ASSERT_TRUE(two);
  EXPECT_EQ(nothing.value().policy.name, "default");
  EXPECT_EQ(two.value().policy.name, "python + strict");
}

TEST(Load, ADeniedCombinationIsNoInvalidFile) {
  Policy call;
  call.wall = WallKind::process;
  Result<Combined> combined = load({"default"}, call, context_with(nullptr));
  ASSERT_FALSE(combined);
  EXPECT_EQ(combined.error().code, Code::denied);
}

TEST(Load, CombiningAPolicyWithItselfChangesNothing) {
  for (const char* name : {"default", "python", "node", "strict", "offline-build"}) {
    Result<Combined> once = load({name}, {}, context_with(nullptr));
    Result<Combined> twice = load({name, name}, {}, context_with(nullptr));
    ASSERT_TRUE(once) << once.error().message;
    ASSERT_TRUE(twice) << twice.error().message;
    EXPECT_EQ(to_json(to_value(once.value().policy)), to_json(to_value(twice.value().policy)));
  }
}

}  // namespace paddock::policy
