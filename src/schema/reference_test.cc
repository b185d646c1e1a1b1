#include "schema/test_cases.h"

namespace paddock::schema {
namespace {

std::string refusal(const std::string& schema) { return verdict(schema, "null"); }

TEST(References, FindTheirWay) {
  expect(R"({"items":{"$ref":"#/$defs/a~1b%25"},"$defs":{"a/b%":{"type":"string"}}})", {"[\"a\"]"},
         {"[1]"});
  expect(R"({"items":{"$ref":"#name"},"$defs":{"a":{"$anchor":"name","type":"string"}}})",
         {"[\"a\"]"}, {"[1]"});
  expect(
      R"({"$id":"http://x/a/root.json","items":{"$ref":"other.json#/$defs/s"},"$defs":{"o":{"$id":"other.json","$defs":{"s":{"type":"string"}}}}})",
      {"[\"a\"]"}, {"[1]"});
  expect(
      R"({"$id":"urn:uuid:1","items":{"$ref":"urn:uuid:1#/$defs/s"},"$defs":{"s":{"type":"string"}}})",
      {"[\"a\"]"}, {"[1]"});
  expect(R"({"properties":{"list":{"items":{"$ref":"#/properties/list"}}}})",
         {R"({"list":[[],[[]]]})"}, {});
  expect(R"({"type":"object","properties":{"child":{"$ref":"#"}},"required":["name"]})",
         {R"({"name":1,"child":{"name":2}})"}, {R"({"name":1,"child":{}})"});
  expect(R"({"items":{"$ref":"#/x-own/string"},"x-own":{"string":{"type":"string"}}})", {"[\"a\"]"},
         {"[1]"});
  expect(R"({"const":{"$id":"http://x/y","$ref":"nowhere"}})",
         {R"({"$id":"http://x/y","$ref":"nowhere"})"}, {"{}"});  // data, not a schema
  expect(R"({"properties":{"$ref":{"type":"string"}}})", {"{\"$ref\":\"a\"}"}, {"{\"$ref\":1}"});
}

TEST(References, ThatLeadOutOrNowhereAreRefused) {
  for (const char* reference :
       {"http://example.com/schema", "other.json", "https://json-schema.org/draft/2020-12/schema",
        "#/$defs/none", "#none", "#/type", "#/items/0", "file:///etc/passwd", "#/%zz", "#/~2",
        "#/prefixItems/01", "#/prefixItems/1", "#/prefixItems/99999999999999999999"})
    EXPECT_EQ(refusal(cat(R"({"type":"null","prefixItems":[true],"properties":{"a":{"$ref":")",
                          reference, "\"}}}"))
                  .substr(0, 8),
              "refused:")
        << reference;
  EXPECT_EQ(refusal(R"({"properties":{"a":{"$ref":"http://example.com/s"}}})"),
            "refused: schema/properties/a: the reference 'http://example.com/s' leads out of the "
            "document, and nothing is fetched");
}

TEST(References, ThatMakeNoProgressAreRefused) {
  for (
      const char* schema :
      {R"({"$ref":"#"})", R"({"allOf":[{"$ref":"#"}]})", R"({"anyOf":[true,{"$ref":"#"}]})",
       R"({"not":{"$ref":"#"}})", R"({"if":{"$ref":"#"}})",
       R"({"dependentSchemas":{"a":{"$ref":"#"}}})", R"({"$dynamicRef":"#a","$dynamicAnchor":"a"})",
       R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"oneOf":[{"$ref":"#/$defs/a"}]}}})",
       R"({"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$ref":"#/definitions/a"}},"items":{"$ref":"#/definitions/a"}})"})
    EXPECT_NE(refusal(schema).find("refers to itself without end"), std::string::npos) << schema;
}

TEST(References, MayNotBeAmbiguous) {
  EXPECT_NE(refusal(R"({"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}})"), "fits");
  EXPECT_NE(refusal(R"({"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}})"), "fits");
  EXPECT_NE(refusal(R"({"$id":"http://x/y#z"})"), "fits");
  EXPECT_NE(
      refusal(R"({"properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}})"),
      "fits");
}

TEST(References, LongChainsAreHeldOrRefusedButDoNotCrash) {
  for (int length : {100, 5000}) {
    std::string schema = R"({"$ref":"#/$defs/s0","$defs":{)";
    for (int i = 0; i < length; ++i)
      schema += cat("\"s", i, "\":{\"$ref\":\"#/$defs/s", i + 1, "\"},");
    schema += cat("\"s", length, "\":{\"type\":\"string\"}}}");
    EXPECT_EQ(verdict(schema, "\"a\""),
              length == 100 ? "fits" : ": cannot be judged: it leads too deep into the schema");
  }
}

}  // namespace
}  // namespace paddock::schema
