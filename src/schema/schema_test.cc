#include "schema/schema.h"

#include <cmath>

#include "schema/test_cases.h"

namespace paddock::schema {
namespace {

constexpr std::string_view kMail =
    R"({"type":"object","required":["to"],"additionalProperties":false,"properties":{
  "to":{"type":"string","format":"email"},"subject":{"type":["string","null"],"maxLength":5},"priority":{"enum":["low","high",3]},
  "copies":{"type":"array","maxItems":2,"items":{"type":"object","properties":{"name":{"type":"string"}}}},"size":{"type":"integer","minimum":1,"exclusiveMaximum":10}}})";

TEST(Schema, SaysWhereAndWhyInWords) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"to":"a@b"})", "fits"},
      {R"([])", ": must be an object, not an array"},
      {R"({})", "to: is missing: required"},
      {R"({"to":1})", "to: must be a string, not a number"},
      {R"({"to":"a"})", "to: must have the format email, such as name@example.com"},
      {R"({"to":"a@b","subjcet":"x"})", "subjcet: is not known here: did you mean 'subject'?"},
      {R"({"to":"a@b","x":"x"})",
       "x: is not known here: there are copies, priority, size, subject, to"},
      {R"({"to":"a@b","subject":1})", "subject: must be a string or null, not a number"},
      {R"({"to":"a@b","subject":"ääääää"})", "subject: must have at most 5 characters, not 6"},
      {R"({"to":"a@b","subject":"ääääa"})", "fits"},
      {R"({"to":"a@b","priority":"urgent"})", "priority: must be one of 'low', 'high', 3"},
      {R"({"to":"a@b","priority":3.0})", "fits"},
      {R"({"to":"a@b","copies":[{},{"name":4}]})",
       "copies[1].name: must be a string, not a number"},
      {R"({"to":"a@b","copies":[{},{},{}]})", "copies: must have at most 2 items, not 3"},
      {R"({"to":"a@b","size":0})", "size: must be at least 1"},
      {R"({"to":"a@b","size":10})", "size: must be below 10"},
      {R"({"to":"a@b","size":1.5})", "size: must be an integer, not a number with a fraction"},
      {R"({"to":"a@b","size":2.0})", "fits"},
  };
  for (const auto& [value, expected] : cases) EXPECT_EQ(verdict(kMail, value), expected) << value;
}

TEST(Schema, NamesPointerAndKeyword) {
  Schema schema = Schema::compile(json(kMail)).value();
  std::optional<Violation> wrong = schema.check(json(R"({"to":"a@b","copies":[{"name":4}]})"));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->pointer, "/copies/0/name");
  EXPECT_EQ(wrong->keyword, "/properties/copies/items/properties/name/type");
}

TEST(Schema, SaysAllThatIsWrong) {
  Schema schema = Schema::compile(json(kMail)).value();
  Value value = json(R"({"subject":7,"size":99,"extra":1,"copies":[{"name":1},{"name":2}]})");
  EXPECT_EQ(schema.check_all(value).size(), 6u);
  EXPECT_EQ(schema.check_all(value, 2).size(), 2u);
  EXPECT_EQ(schema.check_all(value, 0).size(), 1u);
}

TEST(Schema, SaysWhatIsWrongWithTheFormThatWasMeant) {
  constexpr std::string_view kOptional =
      R"({"anyOf":[{"type":"string","maxLength":2},{"type":"null"}]})";
  EXPECT_EQ(verdict(kOptional, "1"), ": must be a string or null, not a number");
  EXPECT_EQ(verdict(kOptional, "\"abc\""), ": must have at most 2 characters, not 3");
  constexpr std::string_view kTagged =
      R"({"oneOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"string"}}},{"properties":{"kind":{"const":"b"},"y":{"type":"number"}}}]})";
  EXPECT_EQ(verdict(kTagged, R"({"kind":"b","y":"z"})"), "y: must be a number, not a string");
  EXPECT_EQ(verdict(kTagged, R"({"kind":"c"})"),
            ": fits none of the 2 allowed forms: kind must be 'a'; or kind must be 'b'");
  EXPECT_EQ(verdict(kTagged, R"({})"),
            ": fits more than one of the allowed forms (0 and 1): exactly one must fit");
  EXPECT_EQ(verdict(R"({"not":{"required":["a"]}})", R"({"a":1})"), ": must not have a");
  EXPECT_EQ(verdict(R"({"propertyNames":{"maxLength":2}})", R"({"abc":1})"),
            "abc: is not a name that may stand here: it must have at most 2 characters, not 3");
  EXPECT_EQ(verdict(R"({"dependentRequired":{"a":["b"]}})", R"({"a":1})"),
            "b: is missing: required beside a");
  EXPECT_EQ(verdict(R"({"uniqueItems":true})", R"([1,{"a":1,"b":2},3,{"b":2.0,"a":1}])"),
            ": must not have the same item twice, as [1] and [3] are");
}

TEST(Schema, RepeatsNothingHugeOrUnprintable) {
  std::string key(100'000, 'k');
  Value value;
  value.set(key, 1);
  value.set("\x1b[2J\xe2\x80\xae", 1);
  std::string pattern(500, 'p');
  Value schema = json(cat(R"({"additionalProperties":{"type":"string","pattern":")", pattern,
                          R"(","enum":[")", std::string(5000, 'e'), R"("]}})"));
  std::vector<Violation> found = Schema::compile(schema).value().check_all(value);
  ASSERT_EQ(found.size(), 4u);
  for (const Violation& wrong : found)
    for (const std::string& text : {wrong.where, wrong.pointer, wrong.keyword, wrong.why}) {
      EXPECT_LT(text.size(), 700u);
      EXPECT_EQ(printable(text), text);
    }
  EXPECT_EQ(found[2].where, "['\\x1b[2J\\u202e']");
}

TEST(Schema, RefusesWhatItDoesNotUnderstand) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([])", "refused: schema: a schema is an object or a boolean"},
      {R"({"$schema":"http://json-schema.org/draft-04/schema#"})",
       "refused: schema/$schema: 'http://json-schema.org/draft-04/schema' is no dialect of JSON "
       "Schema that is known here"},
      {R"({"$schema":7})",
       "refused: schema/$schema: '' is no dialect of JSON Schema that is known here"},
      {R"({"type":"strng"})", "refused: schema/type: is not a type of JSON"},
      {R"({"type":["string",1]})", "refused: schema/type: is not a type of JSON"},
      {R"({"type":[]})", "refused: schema/type: an empty list: nothing could pass"},
      {R"({"properties":{"a":{"minimum":"1"}}})",
       "refused: schema/properties/a/minimum: must be a number"},
      {R"({"exclusiveMinimum":true})", "refused: schema/exclusiveMinimum: must be a number"},
      {R"({"multipleOf":0})", "refused: schema/multipleOf: must be a number above zero"},
      {R"({"maxLength":-1})", "refused: schema/maxLength: must be a whole number, not below zero"},
      {R"({"maxLength":1.5})", "refused: schema/maxLength: must be a whole number, not below zero"},
      {R"({"required":true})", "refused: schema/required: must be a list of names"},
      {R"({"properties":{"a":7}})", "refused: schema/properties: must be a schema, not an integer"},
      {R"({"properties":[]})",
       "refused: schema/properties: must be an object with a schema for each property"},
      {R"({"additionalProperties":"no"})",
       "refused: schema/additionalProperties: must be a schema, not a string"},
      {R"({"allOf":[]})", "refused: schema/allOf: must be a list of schemas, with one at least"},
      {R"({"anyOf":[1]})", "refused: schema/anyOf/0: a schema is an object or a boolean"},
      {R"({"uniqueItems":1})", "refused: schema/uniqueItems: must be true or false"},
      {R"_({"pattern":"(?!x)"})_",
       "refused: schema/pattern: '(?!x)' has look-around, which is not held here"},
      {R"({"patternProperties":{"(":true}})",
       "refused: schema/patternProperties: '(' is no regular expression: a '(' without its ')'"},
      {R"({"$ref":1})", "refused: schema/$ref: must be a string"},
  };
  for (const auto& [schema, expected] : cases)
    EXPECT_EQ(verdict(schema, "null"), expected) << schema;
}

TEST(Schema, BooleansAreSchemas) {
  EXPECT_EQ(verdict("true", "1"), "fits");
  EXPECT_EQ(verdict("false", "1"), ": is not allowed here");
  EXPECT_EQ(verdict(R"({"properties":{"a":false}})", R"({"a":1})"), "a: is not allowed here");
}

TEST(Schema, IsRefusedWhenTooLarge) {
  Value nested;
  for (int i = 0; i < 80; ++i) {
    Value outer;
    outer.set("not", nested.is_null() ? Value(true) : nested);
    nested = outer;
  }
  EXPECT_FALSE(Schema::compile(nested));
  std::string wide = R"({"anyOf":[true)";
  for (int i = 0; i < 30'000; ++i) wide += ",true";
  EXPECT_EQ(verdict(wide + "]}", "1").substr(0, 8), "refused:");
  std::string patterns = R"({"allOf":[true)";
  for (int i = 0; i < 100; ++i) patterns += cat(R"(,{"pattern":"p)", i, "\"}");
  EXPECT_NE(verdict(patterns + "]}", "1").find("different patterns in one schema"),
            std::string::npos);
}

// Schemas and values that would take exponential or quadratic time: refused within the budget, or
// quick.
TEST(Schema, EndsInBoundedSteps) {
  std::string doubling = R"({"$ref":"#/$defs/s0","$defs":{)";
  for (int i = 0; i < 40; ++i)
    doubling += cat("\"s", i, "\":{\"anyOf\":[{\"$ref\":\"#/$defs/s", i + 1,
                    "\"},{\"$ref\":\"#/$defs/s", i + 1, "\"}]},");
  EXPECT_EQ(verdict(doubling + "\"s40\":{\"type\":\"string\"}}}", "1"),
            ": cannot be judged within the steps that one check may take; send less");
  EXPECT_EQ(verdict(R"({"not":)" + doubling + "\"s40\":{\"type\":\"string\"}}}}", "1").substr(0, 9),
            "refused: ");  // '#' is the outer one there
  std::string denied = doubling;
  denied.replace(0, std::string(R"({"$ref":"#/$defs/s0")").size(),
                 R"({"not":{"$ref":"#/$defs/s0"})");
  // What was not finished is not turned around.
  EXPECT_NE(verdict(denied + "\"s40\":{\"type\":\"string\"}}}", "1"), "fits");

  Value::Array numbers;
  for (int i = 0; i < 100'000; ++i) numbers.emplace_back(i);
  EXPECT_EQ(verdict_on(Value(numbers), R"({"uniqueItems":true})"), "fits");
  numbers.emplace_back(0.0);
  EXPECT_EQ(verdict_on(Value(numbers), R"({"uniqueItems":true})"),
            ": must not have the same item twice, as [0] and [100000] are");

  std::string names = "[";
  Value object;
  for (int i = 0; i < 20'000; ++i) {
    names += cat(i ? "," : "", "\"name", i, "\"");
    object.set(cat("name", i), 1);
  }
  EXPECT_EQ(verdict_on(object, cat(R"({"required":)", names, "]}")), "fits");
  EXPECT_EQ(verdict_on(Value(std::string(100'000, 'a') + "b"), R"({"pattern":"^(a+)+$"})"),
            ": must match the pattern ^(a+)+$");
  EXPECT_NE(
      verdict_on(Value(std::string(4 << 20, 'x')), R"({"pattern":"(x+x+)+y|[^a]{1000}b{500}"})"),
      "fits");
}

TEST(Schema, MayBeUsedByManyAndCopied) {
  Schema schema = Schema::compile(json(R"({"type":"string"})")).value();
  Schema copy = schema;
  EXPECT_FALSE(copy.check(Value("a")));
  EXPECT_TRUE(schema.check(Value(1)));
}

TEST(Schema, TakesNumbersThatJsonCannotWrite) {  // they come from TOML
  EXPECT_NE(verdict_on(Value(HUGE_VAL), R"({"maximum":5})"), "fits");
  EXPECT_NE(verdict_on(Value(HUGE_VAL), R"({"minimum":5})"), "fits");
  EXPECT_NE(verdict_on(Value(HUGE_VAL), R"({"multipleOf":5})"), "fits");
  EXPECT_NE(verdict_on(Value(HUGE_VAL), R"({"type":"integer"})"), "fits");
}

}  // namespace
}  // namespace paddock::schema
