// The keywords of draft 2020-12 that the suite in Debian does not know, and where draft-07 differs.
#include "schema/test_cases.h"

namespace paddock::schema {
namespace {

TEST(Draft2020, PrefixItemsAndItems) {
  expect(R"({"prefixItems":[{"type":"integer"},{"type":"string"}]})",
         {"[]", "[1]", "[1,\"a\"]", "[1,\"a\",null]", "{}"}, {"[\"a\"]", "[1,2]"});
  expect(R"({"prefixItems":[{"type":"integer"}],"items":{"type":"string"}})",
         {"[1]", "[1,\"a\",\"b\"]"}, {"[1,2]", "[\"a\"]"});
  expect(R"({"items":false,"prefixItems":[true]})", {"[]", "[1]"}, {"[1,2]"});
  expect(R"({"additionalItems":false,"prefixItems":[true]})", {"[1,2]"},
         {});  // no keyword of this draft
  EXPECT_EQ(verdict(R"({"items":[true]})", "[]"),
            "refused: schema/items: must be a schema, not a list");
}

TEST(Draft2020, ContainsWithCounts) {
  expect(R"({"contains":{"const":1},"minContains":2,"maxContains":3})",
         {"[1,1]", "[1,2,1,1]", "{}"}, {"[]", "[1]", "[1,1,1,1]"});
  expect(R"({"contains":{"const":1},"minContains":0})", {"[]", "[2]"}, {});
  expect(R"({"contains":{"const":1},"minContains":0,"maxContains":1})", {"[]", "[1]"}, {"[1,1]"});
  expect(R"({"contains":{"const":1},"minContains":2.0})", {"[1,1.0]"}, {"[1]"});
  expect(R"({"minContains":2})", {"[]", "[1]"}, {});
}

TEST(Draft2020, DependentRequiredAndDependentSchemas) {
  expect(R"({"dependentRequired":{"a":["b","c"]}})",
         {"{}", "{\"b\":1}", "{\"a\":1,\"b\":1,\"c\":1}", "[]"},
         {"{\"a\":1}", "{\"a\":1,\"b\":1}"});
  expect(R"({"dependentSchemas":{"a":{"required":["b"]},"x":false}})", {"{}", "{\"a\":1,\"b\":1}"},
         {"{\"a\":1}", "{\"x\":1}"});
}

TEST(Draft2020, UnevaluatedPropertiesSeeThroughEveryApplicator) {
  expect(R"({"properties":{"a":true},"unevaluatedProperties":false})", {"{}", "{\"a\":1}"},
         {"{\"b\":1}"});
  expect(
      R"({"allOf":[{"properties":{"a":true}},{"patternProperties":{"^x":true}}],"unevaluatedProperties":false})",
      {"{\"a\":1,\"xy\":2}"}, {"{\"b\":1}"});
  expect(
      R"({"anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":true},"required":["b"]}],"unevaluatedProperties":false})",
      // A form that was not met looked at nothing.
      {"{\"a\":1}", "{\"b\":1}", "{\"a\":1,\"b\":2}"}, {"{\"a\":2,\"b\":2}", "{\"a\":1,\"c\":1}"});
  expect(
      R"({"oneOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":true},"required":["b"]}],"unevaluatedProperties":false})",
      {"{\"a\":1}", "{\"b\":1}"}, {"{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":2}"});
  expect(
      R"({"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"properties":{"b":true}},"else":{"properties":{"c":true}},"unevaluatedProperties":false})",
      {"{\"a\":1,\"b\":1}", "{\"c\":1}"}, {"{\"a\":1,\"c\":1}", "{\"b\":1}", "{\"a\":2}"});
  expect(
      R"({"$ref":"#/$defs/base","properties":{"b":true},"unevaluatedProperties":false,"$defs":{"base":{"properties":{"a":true}}}})",
      {"{\"a\":1,\"b\":1}"}, {"{\"c\":1}"});
  expect(
      R"({"dependentSchemas":{"a":{"properties":{"a":true,"b":true}}},"unevaluatedProperties":false})",
      {"{\"a\":1,\"b\":1}"}, {"{\"b\":1}"});
  expect(R"({"not":{"not":{"properties":{"a":true}}},"unevaluatedProperties":false})", {"{}"},
         {"{\"a\":1}"});
  expect(
      R"({"allOf":[{"properties":{"a":true},"unevaluatedProperties":true}],"unevaluatedProperties":false})",
      {"{\"a\":1,\"b\":1}"}, {});
  expect(R"({"allOf":[{"properties":{"a":true}},{"unevaluatedProperties":false}]})", {"{}"},
         {"{\"a\":1}"});  // it does not see what stands beside it
  expect(
      R"({"properties":{"a":{"properties":{"x":true}}},"unevaluatedProperties":{"type":"string"}})",
      {"{\"a\":{\"y\":1},\"b\":\"\"}"}, {"{\"b\":1}"});
  expect(R"({"additionalProperties":{"type":"integer"},"unevaluatedProperties":false})",
         {"{\"a\":1}"}, {"{\"a\":\"\"}"});
}

TEST(Draft2020, UnevaluatedItemsSeeThroughEveryApplicator) {
  expect(R"({"prefixItems":[true],"unevaluatedItems":false})", {"[]", "[1]"}, {"[1,2]"});
  expect(R"({"items":true,"unevaluatedItems":false})", {"[1,2]"}, {});
  expect(R"({"contains":{"type":"string"},"unevaluatedItems":{"type":"integer"}})", {"[\"a\",1]"},
         {"[\"a\",null]", "[1]"});
  expect(
      R"({"anyOf":[{"prefixItems":[{"const":1}]},{"prefixItems":[true,{"const":2}]}],"unevaluatedItems":false})",
      {"[1]", "[1,2]", "[3,2]"}, {"[1,3]", "[1,2,3]"});
  expect(R"({"allOf":[{"prefixItems":[true],"items":true}],"unevaluatedItems":false})", {"[1,2,3]"},
         {});
  expect(
      R"({"if":{"prefixItems":[{"const":1}]},"then":{"prefixItems":[true,true]},"unevaluatedItems":false})",
      {"[1,2]", "[]"}, {"[1,2,3]", "[2]"});
}

// A list of what a dynamic anchor stands for in the outermost schema.
constexpr std::string_view kList =
    R"("list":{"$id":"list","$dynamicAnchor":"T","items":{"$dynamicRef":"#item"},"$defs":{"any":{"$dynamicAnchor":"item"}}})";

TEST(Draft2020, DynamicReferencesTakeTheOutermost) {
  std::string strings = cat(
      R"({"$id":"http://x/root","$ref":"list","$defs":{"own":{"$dynamicAnchor":"item","type":"string"},)",
      kList, "}}");
  expect(strings, {"[]", "[\"a\"]"}, {"[1]"});
  std::string anything = cat(R"({"$id":"http://x/root","$ref":"list","$defs":{)", kList, "}}");
  expect(anything, {"[1,\"a\"]"}, {});
  std::string plain = cat(
      R"({"$id":"http://x/root","$ref":"list","$defs":{"own":{"$anchor":"item","type":"string"},)",
      kList, "}}");
  expect(plain, {"[1]"}, {});  // a plain anchor is no dynamic one
  std::string tree =
      R"({"$id":"http://x/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false,
    "$defs":{"tree":{"$id":"tree","$dynamicAnchor":"node","type":"object","properties":{"data":true,"children":{"items":{"$dynamicRef":"#node"}}}}}})";
  expect(tree, {R"({"children":[{"data":1}]})"}, {R"({"children":[{"daat":1}]})", R"({"x":1})"});
}

TEST(Draft2020, ReferencesHaveSiblings) {
  expect(R"({"$ref":"#/$defs/a","maxLength":2,"$defs":{"a":{"type":"string"}}})", {"\"ab\""},
         {"1", "\"abc\""});
}

TEST(Draft2020, UnknownKeywordsSayNothing) {
  expect(
      R"({"x-mcp-header":"X","type":"string","$comment":1,"readOnly":"odd","contentEncoding":"base64","contentMediaType":"application/json","contentSchema":false})",
      {"\"%\""}, {"1"});
}

TEST(Draft7, DiffersWhereItDid) {
  const std::string head = R"({"$schema":"http://json-schema.org/draft-07/schema#",)";
  expect(head + R"("items":[{"type":"integer"}],"additionalItems":{"type":"string"}})",
         {"[1,\"a\"]", "[]"}, {"[1,2]", "[\"a\"]"});
  expect(head + R"("items":[true],"additionalItems":false})", {"[1]"}, {"[1,2]"});
  expect(head + R"("additionalItems":false})", {"[1]"}, {});
  expect(
      head +
          R"("prefixItems":[false],"unevaluatedProperties":false,"dependentRequired":{"a":["b"]},"minContains":5,"contains":true})",
      {"[1]", "{\"a\":1}"}, {});
  expect(head + R"("dependencies":{"a":["b"],"c":{"required":["d"]}}})",
         {"{}", "{\"a\":1,\"b\":1}"}, {"{\"a\":1}", "{\"c\":1}"});
  expect(
      head +
          R"("definitions":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/definitions/a","maxLength":1}}})",
      {"{\"x\":\"abc\"}"}, {"{\"x\":1}"});  // $ref hides
  expect(
      head +
          R"("$ref":"#/definitions/Arguments","definitions":{"Arguments":{"type":"object","required":["a"]}}})",
      {"{\"a\":1}"}, {"{}", "1"});
  expect(
      head + R"("definitions":{"a":{"$id":"#named","type":"string"}},"items":{"$ref":"#named"}})",
      {"[\"a\"]"}, {"[1]"});
  expect(head + R"("properties":{"id":{"type":"string","format":"uuid"}}})", {},
         {"{\"id\":\"1\"}"});
}

TEST(Draft7, MayStandInsideAnother) {
  expect(
      R"({"properties":{"a":{"$id":"old","$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}}})",
      {R"({"a":["x",1]})"}, {R"({"a":[1]})"});
}

}  // namespace
}  // namespace paddock::schema
