// Random values, schemas made to fit them, and changes to both: the engine says what a slow
// evaluator says, which is written here from the specification and shares nothing with it.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "schema/test_cases.h"

namespace paddock::schema {
namespace {

// What a schema says of a value, and what it looked at.
struct Judgement {
  bool fits = true;
  std::set<std::string> names;
  std::set<size_t> items;

  void merge(const Judgement& other) {
    fits = fits && other.fits;
    names.insert(other.names.begin(), other.names.end());
    items.insert(other.items.begin(), other.items.end());
  }
};

bool equal(const Value& a, const Value& b) {
  // The test's are small.
  auto number = [](const Value& value) {
    return value.as_int() ? static_cast<double>(*value.as_int()) : *value.as_double();
  };
  bool a_number = a.as_int() || a.as_double(), b_number = b.as_int() || b.as_double();
  if (a_number || b_number) return a_number && b_number && number(a) == number(b);
  if (a.as_array() && b.as_array())
    return std::equal(a.as_array()->begin(), a.as_array()->end(), b.as_array()->begin(),
                      b.as_array()->end(), equal);
  if (a.as_object() && b.as_object()) {
    if (a.as_object()->size() != b.as_object()->size()) return false;
    return std::all_of(a.as_object()->begin(), a.as_object()->end(), [&](auto& member) {
      return b.find(member.first) && equal(member.second, *b.find(member.first));
    });
  }
  return to_json(a) == to_json(b);
}

bool has_type(const Value& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.as_bool();
  if (type == "string") return value.as_string();
  if (type == "array") return value.as_array();
  if (type == "object") return value.as_object();
  if (type == "integer")
    return value.as_int() ||
           (value.as_double() && std::floor(*value.as_double()) == *value.as_double());
  return value.as_int() || value.as_double();
}

class Naive {
 public:
  explicit Naive(const Value& root) : root_(root) {}

  Judgement judge(const Value& schema, const Value& value) const {
    Judgement out;
    if (schema.as_bool()) {
      out.fits = *schema.as_bool();
      return out;
    }
    auto has = [&](const char* keyword) { return schema.find(keyword); };
    auto require = [&](bool condition) { out.fits = out.fits && condition; };
    auto size_of = [&](const char* keyword) {
      return static_cast<size_t>(*schema.find(keyword)->as_int());
    };

    if (const Value* type = has("type")) {
      const Value::Array one{*type};
      const Value::Array& all = type->as_array() ? *type->as_array() : one;
      require(std::any_of(all.begin(), all.end(),
                          [&](auto& name) { return has_type(value, *name.as_string()); }));
    }
    if (const Value* fixed = has("const")) require(equal(*fixed, value));
    if (const Value* list = has("enum"))
      require(std::any_of(list->as_array()->begin(), list->as_array()->end(),
                          [&](auto& item) { return equal(item, value); }));
    if (value.as_int() || value.as_double()) {
      double number = value.as_int() ? static_cast<double>(*value.as_int()) : *value.as_double();
      if (has("minimum")) require(number >= static_cast<double>(*has("minimum")->as_int()));
      if (has("exclusiveMaximum"))
        require(number < static_cast<double>(*has("exclusiveMaximum")->as_int()));
      if (has("multipleOf"))
        require(std::fmod(number, static_cast<double>(*has("multipleOf")->as_int())) == 0);
    }
    if (const std::string* text = value.as_string()) {
      if (has("minLength")) require(text->size() >= size_of("minLength"));
      if (has("maxLength")) require(text->size() <= size_of("maxLength"));
    }
    if (value.as_array()) judge_array(schema, *value.as_array(), out);
    if (value.as_object()) judge_object(schema, *value.as_object(), out);

    if (const Value* reference = has("$ref"))
      out.merge(judge(*root_.find("$defs")->find(reference->as_string()->substr(8)), value));
    if (const Value* all = has("allOf"))
      for (const Value& part : *all->as_array()) out.merge(judge(part, value));
    for (const char* keyword : {"anyOf", "oneOf"}) {
      if (!has(keyword)) continue;
      int count = 0;
      for (const Value& part : *has(keyword)->as_array()) {
        Judgement one = judge(part, value);
        if (one.fits && ++count) out.merge(one);
      }
      require(keyword == std::string("anyOf") ? count > 0 : count == 1);
    }
    if (const Value* inverse = has("not")) require(!judge(*inverse, value).fits);
    if (const Value* condition = has("if")) {
      Judgement one = judge(*condition, value);
      if (one.fits) out.merge(one);
      if (const Value* next = has(one.fits ? "then" : "else")) out.merge(judge(*next, value));
    }
    if (const Value* rest = has("unevaluatedProperties"); rest && value.as_object())
      for (const auto& [name, member] : *value.as_object())
        if (!out.names.count(name) && out.names.insert(name).second)
          require(judge(*rest, member).fits);
    if (const Value* rest = has("unevaluatedItems"); rest && value.as_array())
      for (size_t i = 0; i < value.as_array()->size(); ++i)
        if (out.items.insert(i).second) require(judge(*rest, (*value.as_array())[i]).fits);
    return out;
  }

 private:
  void judge_array(const Value& schema, const Value::Array& array, Judgement& out) const {
    auto require = [&](bool condition) { out.fits = out.fits && condition; };
    size_t prefix = 0;
    if (const Value* list = schema.find("prefixItems"))
      for (; prefix < list->as_array()->size() && prefix < array.size(); ++prefix) {
        require(judge((*list->as_array())[prefix], array[prefix]).fits);
        out.items.insert(prefix);
      }
    if (const Value* rest = schema.find("items"))
      for (size_t i = prefix; i < array.size(); ++i) {
        require(judge(*rest, array[i]).fits);
        out.items.insert(i);
      }
    if (const Value* kind = schema.find("contains")) {
      int64_t count = 0;
      for (size_t i = 0; i < array.size(); ++i)
        if (judge(*kind, array[i]).fits && ++count) out.items.insert(i);
      require(count >= (schema.find("minContains") ? *schema.find("minContains")->as_int() : 1));
    }
    if (const Value* most = schema.find("maxItems"))
      require(array.size() <= static_cast<size_t>(*most->as_int()));
    if (schema.find("uniqueItems"))
      for (size_t i = 0; i < array.size(); ++i)
        for (size_t j = 0; j < i; ++j) require(!equal(array[i], array[j]));
  }

  void judge_object(const Value& schema, const Value::Object& object, Judgement& out) const {
    auto require = [&](bool condition) { out.fits = out.fits && condition; };
    auto has = [&](const std::string& name) {
      return std::any_of(object.begin(), object.end(),
                         [&](auto& member) { return member.first == name; });
    };
    const Value* named = schema.find("properties");
    for (const auto& [name, value] : object) {
      const Value* own = named ? named->find(name) : schema.find("additionalProperties");
      if (!own) own = schema.find("additionalProperties");
      if (!own) continue;
      require(judge(*own, value).fits);
      out.names.insert(name);
    }
    if (const Value* names = schema.find("required"))
      for (const Value& name : *names->as_array()) require(has(*name.as_string()));
    if (const Value* least = schema.find("minProperties"))
      require(object.size() >= static_cast<size_t>(*least->as_int()));
    if (const Value* dependent = schema.find("dependentRequired"))
      for (const auto& [name, list] : *dependent->as_object())
        for (const Value& other : *list.as_array()) require(!has(name) || has(*other.as_string()));
  }

  const Value& root_;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  size_t below(size_t bound) { return random_() % bound; }
  bool chance(size_t one_in) { return below(one_in) == 0; }
  std::string name() { return std::string(1, static_cast<char>('a' + below(4))); }

  Value value(int depth) {
    switch (below(depth > 2 ? 5 : 7)) {
      case 0: return Value();
      case 1: return chance(2);
      case 2: return static_cast<int64_t>(below(7)) - 3;
      case 3: return static_cast<double>(below(14)) / 2 - 3;
      case 4: return std::string(below(4), 'x');
      case 5: {
        Value::Array array;
        for (size_t i = below(4); i > 0; --i) array.push_back(value(depth + 1));
        return array;
      }
      default: {
        Value object = Value::Object{};
        for (size_t i = below(4); i > 0; --i)
          if (std::string key = name(); !object.find(key)) object.set(key, value(depth + 1));
        return object;
      }
    }
  }

  // A schema that `value` fits.
  Value schema_for(const Value& value, int depth) {
    if (chance(12)) return true;
    Value out = Value::Object{};
    if (chance(2)) out.set("type", type_for(value));
    if (chance(8)) out.set("enum", Value::Array{this->value(1), value});
    if (chance(10)) out.set("const", value);
    if (value.as_int() || value.as_double()) {
      double number = value.as_int() ? static_cast<double>(*value.as_int()) : *value.as_double();
      if (chance(2))
        out.set("minimum",
                static_cast<int64_t>(std::floor(number)) - static_cast<int64_t>(below(2)));
      if (chance(2)) out.set("exclusiveMaximum", static_cast<int64_t>(std::floor(number)) + 1);
      if (chance(3) && std::fmod(number, 2) == 0) out.set("multipleOf", 2);
    }
    if (const std::string* text = value.as_string()) {
      if (chance(2)) out.set("minLength", text->size() - std::min(text->size(), below(2)));
      if (chance(2)) out.set("maxLength", text->size() + below(2));
    }
    if (value.as_array()) describe(*value.as_array(), out, depth);
    if (value.as_object()) describe(*value.as_object(), out, depth);
    if (depth < 3) combine(value, out, depth);
    return out;
  }

  Value changed(const Value& value) {
    if (chance(3)) return this->value(1);
    if (const Value::Array* array = value.as_array(); array && !array->empty()) {
      Value::Array copy = *array;
      if (chance(4))
        copy.push_back(chance(2) ? copy[below(copy.size())] : this->value(1));
      else if (chance(4))
        copy.erase(copy.begin() + static_cast<long>(below(copy.size())));
      else
        copy[below(copy.size())] = changed(copy[below(copy.size())]);
      return copy;
    }
    if (const Value::Object* object = value.as_object(); object && !object->empty()) {
      Value::Object copy = *object;
      size_t at = below(copy.size());
      if (chance(4))
        copy.erase(copy.begin() + static_cast<long>(at));
      else if (std::string key = name(); chance(3) && !value.find(key))
        copy.emplace_back(key, this->value(1));
      else
        copy[at].second = changed(copy[at].second);
      return copy;
    }
    return this->value(2);
  }

 private:
  Value type_for(const Value& value) {
    std::string own = value.is_null()     ? "null"
                      : value.as_bool()   ? "boolean"
                      : value.as_string() ? "string"
                      : value.as_array()  ? "array"
                      : value.as_object() ? "object"
                                          : "number";
    if (has_type(value, "integer") && chance(2)) own = "integer";
    if (chance(2)) return own;
    return Value::Array{own, own == "null" ? "string" : "null"};
  }

  void describe(const Value::Array& array, Value& out, int depth) {
    size_t prefix = chance(2) ? 0 : below(array.size() + 1);
    if (prefix > 0) {
      Value::Array list;
      for (size_t i = 0; i < prefix; ++i) list.push_back(schema_for(array[i], depth + 1));
      out.set("prefixItems", list);
    }
    if (prefix == array.size() && chance(2))
      out.set("items", false);
    else if (prefix + 1 == array.size() && chance(2))
      out.set("items", schema_for(array.back(), depth + 1));
    else if (prefix == array.size() && chance(2))
      out.set("unevaluatedItems", schema_for(value(2), depth + 1));
    if (!array.empty() && chance(3))
      out.set("contains", schema_for(array[below(array.size())], depth + 1));
    else if (chance(5))
      out.set("contains", schema_for(value(2), depth + 1)), out.set("minContains", 0);
    if (chance(3)) out.set("maxItems", array.size() + below(2));
    bool twin = false;
    for (size_t i = 0; i < array.size(); ++i)
      for (size_t j = 0; j < i; ++j) twin = twin || equal(array[i], array[j]);
    if (!twin && chance(2)) out.set("uniqueItems", true);
  }

  void describe(const Value::Object& object, Value& out, int depth) {
    Value named = Value::Object{};
    Value::Array required;
    for (const auto& [name, member] : object) {
      if (!chance(4)) named.set(name, schema_for(member, depth + 1));
      if (chance(3)) required.push_back(name);
    }
    bool complete = named.as_object()->size() == object.size();
    if (std::string other = name(); !named.find(other) && !Value(object).find(other))
      named.set(other, schema_for(value(2), depth + 1));
    if (chance(2)) out.set("required", required);
    if (chance(4)) out.set("minProperties", object.size());
    if (chance(5)) out.set("dependentRequired", Value::Object{{"a", required}});
    out.set("properties", named);
    if (complete && chance(3))
      out.set("additionalProperties", chance(2) ? Value(false) : schema_for(value(2), depth + 1));
    else if (complete && chance(3))
      out.set("unevaluatedProperties", false);
  }

  void combine(const Value& value, Value& out, int depth) {
    Value good = schema_for(value, depth + 1), other = schema_for(this->value(1), depth + 1);
    if (chance(5)) out.set("allOf", Value::Array{good, true});
    if (chance(4))
      out.set("anyOf", chance(2) ? Value::Array{good, other} : Value::Array{other, good});
    if (chance(6)) out.set("oneOf", Value::Array{good, Value(false)});
    if (chance(6)) out.set("not", Value::Object{{"not", good}});
    if (chance(6))
      out.set("if", good), out.set("then", schema_for(value, depth + 1)), out.set("else", other);
    if (chance(6)) out.set("$ref", "#/$defs/shared");
  }

  std::mt19937_64 random_;
};

TEST(Property, TheEngineSaysWhatASlowEvaluatorSays) {
  int fit = 0, compared = 0;
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    Generator generator(seed);
    Value value = generator.value(0);
    Value body = generator.schema_for(value, 0);
    if (!body.as_object()) continue;
    // Too deep for combinations, so it refers to nothing.
    Value shared = generator.schema_for(value, 4);
    body.set("$defs", Value::Object{{"shared", shared}});
    Result<Schema> schema = Schema::compile(body);
    ASSERT_TRUE(schema) << to_json(body) << schema.error().message;
    for (int change = 0; change < 8; ++change) {
      bool expected = Naive(body).judge(body, value).fits;
      ASSERT_EQ(!schema.value().check(value), expected)
          << seed << " " << to_json(body) << " " << to_json(value);
      ASSERT_EQ(schema.value().check_all(value, 1000).empty(), expected)
          << seed << " " << to_json(body) << " " << to_json(value);
      fit += expected;
      ++compared;
      value = generator.changed(value);
    }
  }
  EXPECT_GT(fit, compared / 10);  // both verdicts are well represented
  EXPECT_LT(fit, compared * 9 / 10);
}

TEST(Property, AValueFitsTheSchemaThatWasMadeForIt) {
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    Generator generator(seed);
    Value value = generator.value(0);
    // Without combinations: whether a oneOf is met by one alone is not known beforehand.
    Value body = generator.schema_for(value, 3);
    Result<Schema> schema = Schema::compile(body);
    ASSERT_TRUE(schema) << to_json(body) << schema.error().message;
    std::optional<Violation> wrong = schema.value().check(value);
    ASSERT_FALSE(wrong) << seed << " " << to_json(body) << " " << to_json(value) << " "
                        << wrong->why;
  }
}

}  // namespace
}  // namespace paddock::schema
