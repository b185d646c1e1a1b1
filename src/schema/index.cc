#include "schema/index.h"

#include <algorithm>
#include <charconv>

#include "base/percent.h"
#include "base/text.h"

namespace paddock::schema {

namespace {

// These bound what a schema from a server can cost, before anything is done with it.
constexpr int kDeepest = 64;
constexpr size_t kMostValues = 100'000;
constexpr size_t kMostBytes = 4 << 20;
constexpr size_t kMostSchemas = 10'000;
constexpr size_t kMostResources = 1000;
constexpr size_t kLongestPointer = 500;

enum class Holds { one, list, map };
struct Place {
  std::string_view keyword;
  Holds holds;
  bool in_draft7;
  bool in_draft2020;
};
// Under which keywords schemas stand. What stands elsewhere is data, whatever it looks like.
constexpr Place kPlaces[] = {
    {"additionalProperties", Holds::one, true, true},
    {"items", Holds::one, true, true},  // in draft-07 also a list
    {"items", Holds::list, true, false},
    {"additionalItems", Holds::one, true, false},
    {"contains", Holds::one, true, true},
    {"not", Holds::one, true, true},
    {"if", Holds::one, true, true},
    {"then", Holds::one, true, true},
    {"else", Holds::one, true, true},
    {"propertyNames", Holds::one, true, true},
    {"unevaluatedItems", Holds::one, false, true},
    {"unevaluatedProperties", Holds::one, false, true},
    {"contentSchema", Holds::one, false, true},
    {"allOf", Holds::list, true, true},
    {"anyOf", Holds::list, true, true},
    {"oneOf", Holds::list, true, true},
    {"prefixItems", Holds::list, false, true},
    {"properties", Holds::map, true, true},
    {"patternProperties", Holds::map, true, true},
    {"definitions", Holds::map, true, true},
    {"dependencies", Holds::map, true, true},  // or lists of names
    {"$defs", Holds::map, false, true},
    {"dependentSchemas", Holds::map, false, true},
};

bool is_schema(const Value& value) { return value.as_object() || value.as_bool(); }

// Run first of all, so that everything after it can rely on the bounds.
Result<void> measure(const Value& value, int depth, size_t& values, size_t& bytes) {
  if (++values > kMostValues || bytes > kMostBytes)
    return Error{Code::invalid, "the schema is too large", "up to 100000 values and 4M of text"};
  if (depth > kDeepest)
    return Error{Code::invalid, "the schema is nested too deeply", "up to 64 levels"};
  if (const std::string* text = value.as_string()) bytes += text->size();
  if (const Value::Array* array = value.as_array())
    for (const Value& item : *array) TRY(measure(item, depth + 1, values, bytes));
  if (const Value::Object* object = value.as_object())
    for (const Value::Member& member : *object) {
      bytes += member.first.size();
      TRY(measure(member.second, depth + 1, values, bytes));
    }
  return {};
}

// The pointer one step further down. They are for messages: long ones are cut, since a schema has
// many and its keys may be huge.
std::string further(const std::string& pointer, std::string_view key) {
  if (pointer.size() > kLongestPointer) return pointer;
  return pointer +
         (key.size() <= 100 ? pointer_token(key) : pointer_token(key.substr(0, 100)) + "…");
}

// Other dialects are refused: their keywords mean other things.
Result<Dialect> dialect_named(const Value& name, const std::string& pointer) {
  std::string text = name.as_string() ? *name.as_string() : "";
  if (ends_with(text, "#")) text.pop_back();
  for (const char* prefix : {"http://", "https://"}) {
    if (text == cat(prefix, "json-schema.org/draft/2020-12/schema")) return Dialect::draft2020;
    if (text == cat(prefix, "json-schema.org/draft-07/schema")) return Dialect::draft7;
  }
  return schema_error(
      pointer + "/$schema",
      cat("'", printable(text.substr(0, 100)), "' is no dialect of JSON Schema that is known here"),
      "https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema#");
}

Result<std::string> text_of(const Value& value, const std::string& pointer) {
  if (!value.as_string()) return schema_error(pointer, "must be a string");
  return *value.as_string();
}

}  // namespace

// Escapes as RFC 6901 has them.
std::string pointer_token(std::string_view key) {
  std::string out = "/";
  for (char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

// The pointer holds keys of the schema, so it is cut and made printable.
Error schema_error(const std::string& pointer, std::string_view why, std::string hint) {
  return Error{Code::invalid, cat("schema", printable(pointer.substr(0, 300)), ": ", why),
               std::move(hint)};
}

// Finds every schema of the document at once; references are resolved against this later.
Result<Index> Index::build(const Value& document) {
  size_t values = 0, bytes = 0;
  TRY(measure(document, 0, values, bytes));
  if (!is_schema(document)) return schema_error("", "a schema is an object or a boolean");
  Index index;
  index.resources_.push_back({.root = &document});
  if (const Value* named = document.find("$schema"))
    index.resources_[0].dialect = TRY(dialect_named(*named, ""));
  TRY(index.add(document, 0, ""));
  // References without a base, such as "#/$defs/x", always find the whole.
  index.by_uri_.emplace("", 0);
  return index;
}

// Opens a new resource if the schema has an $id, and enters its anchors.
Result<uint32_t> Index::name(const Value& schema, uint32_t resource, const std::string& pointer) {
  bool old = resources_[resource].dialect == Dialect::draft7;
  const Value* id = schema.find("$id");
  if (old && schema.find("$ref")) id = nullptr;  // $ref hides what stands beside it
  const Value* dialect = schema.find("$schema");
  if (id) {
    Uri uri = Uri::parse(TRY(text_of(*id, pointer + "/$id")));
    std::string fragment = uri.fragment.value_or("");
    if (!fragment.empty() && !old)
      return schema_error(pointer + "/$id", "must not have a fragment", "use $anchor");
    uri.fragment.reset();
    bool only_fragment = uri.text().empty();
    if (!only_fragment || pointer.empty()) {
      Resource fresh{.base = schema::resolve(resources_[resource].base, uri),
                     .root = &schema,
                     .dialect = resources_[resource].dialect};
      if (dialect) fresh.dialect = TRY(dialect_named(*dialect, pointer));
      if (pointer.empty())
        resources_[0] = fresh;
      else
        resources_.push_back(fresh);
      if (resources_.size() > kMostResources)
        return schema_error(pointer + "/$id", "too many of these in one schema");
      resource = static_cast<uint32_t>(pointer.empty() ? 0 : resources_.size() - 1);
      if (!by_uri_.emplace(fresh.base.text(), resource).second)
        return schema_error(pointer + "/$id", "another schema has the same");
    }
    if (!fragment.empty() && !resources_[resource].anchors.emplace(fragment, &schema).second)
      return schema_error(pointer + "/$id", "another schema has the same");
  }
  if (dialect && TRY(dialect_named(*dialect, pointer)) != resources_[resource].dialect)
    return schema_error(pointer + "/$schema", "names another dialect than the schema around it",
                        "give this part an $id of its own");
  return resource;
}

// Both kinds of anchors share their names.
Result<void> Index::add_anchor(const Value& schema, const char* keyword, uint32_t resource,
                               const std::string& pointer) {
  const Value* anchor = schema.find(keyword);
  if (!anchor) return {};
  std::string text = TRY(text_of(*anchor, cat(pointer, "/", keyword)));
  if (text.empty() || text.find_first_of("#/") != std::string::npos)
    return schema_error(cat(pointer, "/", keyword), "is not a name");
  Resource& home = resources_[resource];
  bool fresh = home.anchors.emplace(text, &schema).second;
  if (!fresh && home.anchors.at(text) != &schema)
    return schema_error(cat(pointer, "/", keyword), "another schema has the same");
  if (std::string_view(keyword) == "$dynamicAnchor") home.dynamic_anchors.emplace(text, &schema);
  return {};
}

// Only places where a keyword has a schema are entered. What stands elsewhere is data.
Result<void> Index::add(const Value& schema, uint32_t resource, const std::string& pointer) {
  if (spots_.count(&schema)) return {};
  if (!is_schema(schema)) return schema_error(pointer, "a schema is an object or a boolean");
  if (schema.as_object()) resource = TRY(name(schema, resource, pointer));
  spots_[&schema] = {resource, pointer};
  if (spots_.size() > kMostSchemas)
    return schema_error(pointer, "the schema is too large", "up to 10000 schemas inside it");
  bool old = resources_[resource].dialect == Dialect::draft7;
  if (!schema.as_object()) return {};
  if (!old) {
    TRY(add_anchor(schema, "$anchor", resource, pointer));
    TRY(add_anchor(schema, "$dynamicAnchor", resource, pointer));
  }
  for (const Value::Member& member : *schema.as_object()) {
    std::string below = further(pointer, member.first);
    for (const Place& place : kPlaces) {
      if (place.keyword != member.first || !(old ? place.in_draft7 : place.in_draft2020)) continue;
      if (place.holds == Holds::one && is_schema(member.second))
        TRY(add(member.second, resource, below));
      if (place.holds == Holds::list && member.second.as_array())
        for (size_t i = 0; i < member.second.as_array()->size(); ++i)
          TRY(add((*member.second.as_array())[i], resource, further(below, std::to_string(i))));
      if (place.holds == Holds::map && member.second.as_object())
        for (const Value::Member& entry : *member.second.as_object())
          if (is_schema(entry.second))
            TRY(add(entry.second, resource, further(below, entry.first)));
    }
  }
  return {};
}

// The value that a JSON pointer leads to from the root of a resource, as a schema.
Result<const Value*> Index::follow(uint32_t resource, const std::string& pointer,
                                   const std::string& reference) {
  auto lost = [&] {
    return schema_error(
        "", cat("the reference '", printable(reference.substr(0, 200)), "' points nowhere"));
  };
  const Value* at = resources_[resource].root;
  std::string path = spots_.at(at).pointer;
  for (const std::string& token : split(std::string_view(pointer).substr(1), '/')) {
    std::string key;
    for (size_t i = 0; i < token.size(); ++i) {
      if (token[i] != '~')
        key += token[i];
      else if (++i < token.size() && (token[i] == '0' || token[i] == '1'))
        key += token[i] == '0' ? '~' : '/';
      else
        return lost();
    }
    if (const Value::Array* array = at->as_array()) {
      size_t index = 0;
      bool plain = !key.empty() && key.find_first_not_of("0123456789") == std::string::npos &&
                   (key.size() == 1 || key[0] != '0');
      if (!plain || std::from_chars(key.data(), key.data() + key.size(), index).ec != std::errc() ||
          index >= array->size())
        return lost();
      at = &(*array)[index];
    } else {
      at = at->find(key);
      if (!at) return lost();
    }
    path = further(path, key);
    auto known = spots_.find(at);
    if (known != spots_.end()) resource = known->second.resource;
  }
  if (!is_schema(*at))
    return schema_error("", cat("the reference '", printable(reference.substr(0, 200)),
                                "' points to what is not a schema"));
  TRY(add(*at, resource, path));
  return at;
}

// References that lead out of the document are refused: nothing is ever fetched.
Result<Index::Target> Index::resolve(const Value* from, const std::string& reference) {
  const Spot& here = spots_.at(from);
  std::string where = here.pointer;
  Uri uri = schema::resolve(resources_[here.resource].base, Uri::parse(reference));
  std::optional<std::string> fragment = percent_decode_strictly(uri.fragment.value_or(""));
  if (!fragment)
    return schema_error(
        where, cat("the reference '", printable(reference.substr(0, 200)), "' is not a URI"));
  uri.fragment.reset();
  auto found = by_uri_.find(uri.text());
  if (found == by_uri_.end())
    return schema_error(where,
                        cat("the reference '", printable(reference.substr(0, 200)),
                            "' leads out of the document, and nothing is fetched"),
                        "put what it names under $defs and refer to it there");
  const Resource& home = resources_[found->second];
  if (fragment->empty()) return Target{home.root, ""};
  if (starts_with(*fragment, "/"))
    return Target{TRY(follow(found->second, *fragment, reference)), ""};
  auto anchor = home.anchors.find(*fragment);
  if (anchor == home.anchors.end())
    return schema_error(
        where, cat("the reference '", printable(reference.substr(0, 200)), "' points nowhere"));
  return Target{anchor->second, home.dynamic_anchors.count(*fragment) ? *fragment : ""};
}

}  // namespace paddock::schema
