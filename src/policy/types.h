// The types of what may stand in a policy file: each says how a value is read, with errors that
// name its place, how it is written again, and its JSON Schema.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "policy/key.h"
#include "policy/names.h"

namespace paddock::policy {

// An object for a JSON Schema: object_of({{"type", "string"}}).
inline Value object_of(Value::Object members) { return Value(std::move(members)); }
inline Value text_schema() { return object_of({{"type", "string"}}); }
inline Value list_schema(Value items) {
  return object_of({{"type", "array"}, {"items", std::move(items)}});
}
Value one_or_list_schema(Value item);
Value words_schema(const std::vector<std::string>& words);

// A table with any names, each with such a member.
Value table_of_schema(Value members);

// "'TEXT' WHY", the form of most complaints about a text.
Error refused_text(std::string_view text, std::string_view why, std::string hint = "");

// Checks a text and gives it its canonical form. Errors get the place of the text.
using Convert = std::function<Result<std::string>(const std::string&, const DecodeContext&)>;
Convert plain(Result<std::string> (*convert)(const std::string&));  // one that needs no context

// Accepts what a shell accepts as the name of a variable.
Result<std::string> variable_name(const std::string& text);

Type<bool> boolean();
Type<std::string> text(std::string takes, Convert convert);
Type<std::vector<std::string>> texts(std::string takes, Convert convert);
Type<std::vector<std::string>> ordered_texts(std::string takes, Convert convert);
Type<std::string> any_text();
Type<std::string> secret();
Type<std::map<std::string, std::string>> by_name(std::string takes, Convert name,
                                                 const Type<std::string>& value);
// Secrets by the names of headers, of which two must differ in more than case.
Type<std::map<std::string, std::string>> headers_by_name(Convert name);
Type<uint64_t> size(uint64_t least = 1, std::string too_small = "");
Type<uint64_t> age(uint64_t longest = UINT64_MAX);  // a duration, also in days
Type<uint64_t> limit(const LimitInfo& limit);

// Printable, and separated by commas.
std::string listed(const std::vector<std::string>& texts);

// One of the names in a table of names.h.
template <class Kind, size_t count>
Type<Kind> word(const Named<Kind> (&names)[count]) {
  auto parse = [&names](const std::string& text) -> Result<Kind> {
    for (const Named<Kind>& entry : names)
      if (text == entry.name) return entry.kind;
    std::vector<std::string> known = words(names);
    return refused_text(text, cat("is not one of ", join(known, ", ")), suggestion(text, known));
  };
  return {.takes = cat("`", join(words(names), " "), "`"),
          .read = [parse](const Cursor& cursor, const DecodeContext&) -> Result<Kind> {
            Result<Kind> kind = parse(TRY(cursor.text()));
            if (!kind) return cursor.wrong(kind.error());
            return kind;
          },
          .schema = [&names] { return words_schema(words(names)); },
          .write = [](const Kind& kind, Secrets) { return Value(to_string(kind)); },
          .show = [](const Kind& kind) { return std::string(to_string(kind)); },
          .parse = parse};
}

// ---- tables with members of their own, as [[network.inject]] ---

// One member of such a table: how it is read, described and written.
template <class Struct>
struct Member {
  std::string key;
  bool required = false;
  std::function<Result<void>(const Cursor&, const DecodeContext&, Struct&)> read;
  std::function<Value()> schema;
  // Empty where the member is not written.
  std::function<Value(const Struct&, Secrets)> write{};
};

enum class Needed : uint8_t { no, yes };

template <class Struct, class T>
Member<Struct> member(std::string key, T Struct::*place, const Type<T>& type,
                      Needed needed = Needed::no) {
  Member<Struct> made{
      .key = std::move(key),
      .required = needed == Needed::yes,
      .read = [place, read = type.read](const Cursor& cursor, const DecodeContext& context,
                                        Struct& into) -> Result<void> {
        into.*place = TRY(read(cursor, context));
        return {};
      },
      .schema = type.schema};
  if (type.write)
    made.write = [place, write = type.write](const Struct& from, Secrets secrets) {
      return write(from.*place, secrets);
    };
  return made;
}

// Fails on unknown keys and on missing required ones. Members that are absent keep their defaults.
template <class Struct>
Result<void> read_members(const std::vector<Member<Struct>>& members, const Cursor& cursor,
                          const DecodeContext& context, Struct& into) {
  std::vector<std::string> keys;
  for (const Member<Struct>& member : members) keys.push_back(member.key);
  TRY(cursor.is_table_of(keys));
  for (const Member<Struct>& member : members) {
    std::optional<Cursor> found = cursor.find(member.key);
    if (!found && member.required) return cursor.wrong(cat("'", member.key, "' is missing"));
    if (found) TRY(member.read(*found, context, into));
  }
  return {};
}

template <class Struct>
Value members_schema(const std::vector<Member<Struct>>& members) {
  Value properties{Value::Object{}};
  Value::Array required;
  for (const Member<Struct>& member : members) {
    properties.set(member.key, member.schema());
    if (member.required) required.push_back(member.key);
  }
  Value schema = object_of({{"type", "object"}, {"additionalProperties", false}});
  schema.set("properties", std::move(properties));
  if (!required.empty()) schema.set("required", Value(std::move(required)));
  return schema;
}

// A table that becomes a struct.
template <class Struct>
Type<Struct> record(std::string takes, std::vector<Member<Struct>> list) {
  auto members = std::make_shared<const std::vector<Member<Struct>>>(std::move(list));
  return {.takes = std::move(takes),
          .read = [members](const Cursor& cursor, const DecodeContext& context) -> Result<Struct> {
            Struct made;
            TRY(read_members(*members, cursor, context, made));
            return made;
          },
          .schema = [members] { return members_schema(*members); },
          .write =
              [members](const Struct& from, Secrets secrets) {
                Value value{Value::Object{}};
                for (const Member<Struct>& member : *members)
                  value.set(member.key, member.write(from, secrets));
                return value;
              }};
}

// A list of such entries. Its flag, if the entry has one, may be given several times.
template <class Item>
Type<std::vector<Item>> list_of(Type<Item> item) {
  using Items = std::vector<Item>;
  Type<Items> list{.takes = cat("list of ", item.takes)};
  list.read = [read = std::move(item.read)](const Cursor& cursor,
                                            const DecodeContext& context) -> Result<Items> {
    Items items;
    for (const Cursor& entry : TRY(cursor.items())) items.push_back(TRY(read(entry, context)));
    return items;
  };
  list.schema = [schema = std::move(item.schema)] { return list_schema(schema()); };
  list.write = [write = std::move(item.write)](const Items& items, Secrets secrets) {
    Value::Array values;
    for (const Item& entry : items) values.push_back(write(entry, secrets));
    return Value(std::move(values));
  };
  if (item.parse)
    list.parse = [parse = std::move(item.parse)](const std::string& text) -> Result<Items> {
      return Items{TRY(parse(text))};
    };
  return list;
}

}  // namespace paddock::policy
