#include "policy/types.h"

#include <cmath>

#include "base/units.h"
#include "policy/identifier.h"
#include "policy/secret.h"

namespace paddock::policy {

namespace {

// Below this no program can start, and a number without a unit was meant.
constexpr uint64_t kLeastMemory = 1 << 20;
constexpr uint64_t kMostMillicores = 1'000'000'000;

// "'0' is zero" and the like, at the place of the text.
Result<std::string> converted(const Cursor& cursor, const DecodeContext& context,
                              const Convert& convert) {
  Result<std::string> made = convert(TRY(cursor.text()), context);
  if (!made) return cursor.wrong(made.error());
  return made;
}

// A plain number is bytes, a count or cores; a duration needs its unit.
Result<uint64_t> read_number(const Cursor& cursor, Unit unit) {
  const Value& value = cursor.value();
  if (unit == Unit::milliseconds)
    return cursor.wrong("a duration needs its unit", "write it like \"30s\" or \"500ms\"");
  if (unit == Unit::millicores) {
    double cores = value.as_int() ? static_cast<double>(*value.as_int()) : *value.as_double();
    if (!(cores >= 0.001)) return cursor.wrong("must be above zero");
    if (cores * 1000 > static_cast<double>(kMostMillicores))
      return cursor.wrong("more CPUs than any machine has");
    return static_cast<uint64_t>(std::llround(cores * 1000));
  }
  if (!value.as_int())
    return cursor.wrong("must be a whole number",
                        unit == Unit::count ? "" : "or write it like \"1.5G\"");
  if (*value.as_int() <= 0) return cursor.wrong("must be above zero");
  return static_cast<uint64_t>(*value.as_int());
}

// A string may have a unit, and a number has the unit that read_number() gives it.
Result<uint64_t> read_limit(const Cursor& cursor, const LimitInfo& limit) {
  const Value& value = cursor.value();
  if (value.as_int() || value.as_double()) return read_number(cursor, limit.unit);
  if (!value.as_string())
    return cursor.wrong(cat("must be a string or a number, not ", value.type_name()));
  Result<uint64_t> parsed = parse_limit(limit, TRY(cursor.text()));
  if (!parsed) return cursor.wrong(parsed.error());
  if (limit.unit == Unit::millicores && parsed.value() > kMostMillicores)
    return cursor.wrong("more CPUs than any machine has");
  return parsed;
}

// As people write it when that is exact ("512M"), else as a plain number.
Value write_limit(const LimitInfo& limit, uint64_t value) {
  if (limit.unit == Unit::count) return Value(value);
  if (limit.unit == Unit::millicores) return Value(static_cast<double>(value) / 1000);
  std::string text = format_limit(limit, value);
  if (ends_with(text, "/s") && limit.unit == Unit::bytes_per_second) text.resize(text.size() - 2);
  Result<uint64_t> back = parse_limit(limit, text);
  return back && back.value() == value ? Value(text) : Value(value);
}

// For the manual, as Markdown.
const char* example(Unit unit) {
  switch (unit) {
    case Unit::bytes: return "`\"512M\"`, or bytes";
    case Unit::milliseconds: return "`\"30s\"`";
    case Unit::count: return "`100`";
    case Unit::millicores: return "`0.5`";
    case Unit::bytes_per_second: return "`\"50M\"`, or bytes";
  }
  return "";
}

// A duration is a string, because a number would leave its unit open. The others take both.
Value number_schema(Unit unit) {
  if (unit == Unit::milliseconds) return text_schema();
  const char* number = unit == Unit::millicores ? "number" : "integer";
  return object_of({{"type", Value(Value::Array{number, "string"})}, {"exclusiveMinimum", 0}});
}

}  // namespace

Value one_or_list_schema(Value item) {
  Value list = list_schema(item);
  return object_of({{"anyOf", Value(Value::Array{std::move(item), std::move(list)})}});
}

Value words_schema(const std::vector<std::string>& words) {
  return object_of({{"enum", text_list(words)}});
}

Value table_of_schema(Value members) {
  return object_of({{"type", "object"}, {"additionalProperties", std::move(members)}});
}

// The text may come from the network, so only its beginning is quoted.
Error refused_text(std::string_view text, std::string_view why, std::string hint) {
  return Error{Code::invalid, cat("'", printable(text.substr(0, 1000)), "' ", why),
               std::move(hint)};
}

// Adapts a function that needs no context.
Convert plain(Result<std::string> (*convert)(const std::string&)) {
  return [convert](const std::string& text, const DecodeContext&) { return convert(text); };
}

Result<std::string> variable_name(const std::string& text) {
  if (!is_identifier(text))
    return refused_text(text, "is not a variable's name",
                        "letters, digits and _, not starting with a digit");
  return text;
}

std::string listed(const std::vector<std::string>& texts) {
  std::vector<std::string> shown;
  for (const std::string& text : texts) shown.push_back(printable(text));
  return join(shown, ", ");
}

Type<bool> boolean() {
  return {.takes = "boolean",
          .read = [](const Cursor& cursor, const DecodeContext&) { return cursor.boolean(); },
          .schema =
              [] {
                return object_of({{"type", "boolean"}});
              },
          .write = [](const bool& value, Secrets) { return Value(value); },
          .show = [](const bool& value) -> std::string { return value ? "true" : "false"; }};
}

Type<std::string> text(std::string takes, Convert convert) {
  return {.takes = std::move(takes),
          .read = [convert](
                      const Cursor& cursor,
                      const DecodeContext& context) { return converted(cursor, context, convert); },
          .schema = text_schema,
          .write = [](const std::string& text, Secrets) { return Value(text); },
          .show = [](const std::string& text) { return printable(text); },
          .parse = [](const std::string& text) -> Result<std::string> { return text; }};
}

// For lists whose order has a meaning, such as resolvers.
Type<std::vector<std::string>> ordered_texts(std::string takes, Convert convert) {
  Type<std::vector<std::string>> type = list_of(text("", std::move(convert)));
  type.takes = std::move(takes);
  type.show = listed;
  return type;
}

// For lists whose order has none: they are sorted, and entries written twice are one.
Type<std::vector<std::string>> texts(std::string takes, Convert convert) {
  Type<std::vector<std::string>> type = ordered_texts(std::move(takes), std::move(convert));
  type.sort = [](std::vector<std::string>& texts) {
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  };
  return type;
}

// A literal secret is hidden wherever a policy is shown, and written only with Secrets::kept.
Type<std::string> secret() {
  Type<std::string> type =
      text("a secret", [](const std::string& text, const DecodeContext& context) {
        return canonical_secret(text, context);
      });
  type.write = [](const std::string& secret, Secrets secrets) {
    return Value(secrets == Secrets::kept ? secret : shown_secret(secret));
  };
  type.show = [](const std::string& secret) { return printable(shown_secret(secret)); };
  return type;
}

Type<std::string> any_text() {
  return text("a string",
              plain([](const std::string& text) -> Result<std::string> { return text; }));
}

// A table whose keys are free, such as variables. Both the names and the values are checked.
Type<std::map<std::string, std::string>> by_name(std::string takes, Convert name,
                                                 const Type<std::string>& value) {
  using Texts = std::map<std::string, std::string>;
  auto read = [name = std::move(name), read_text = value.read](
                  const Cursor& cursor, const DecodeContext& context) -> Result<Texts> {
    Texts texts;
    for (const Cursor& member : TRY(cursor.members())) {
      Result<std::string> checked = name(member.key(), context);
      if (!checked) return member.wrong(checked.error());
      texts[checked.value()] = TRY(read_text(member, context));
    }
    return texts;
  };
  auto write = [write_text = value.write](const Texts& texts, Secrets secrets) {
    Value table{Value::Object{}};
    for (const auto& [name, text] : texts) table.set(name, write_text(text, secrets));
    return table;
  };
  auto show = [show_text = value.show](const Texts& texts) {
    std::vector<std::string> shown;
    for (const auto& [name, text] : texts) shown.push_back(cat(name, "=", show_text(text)));
    return join(shown, ", ");
  };
  return {.takes = std::move(takes),
          .read = std::move(read),
          .schema = [] { return table_of_schema(text_schema()); },
          .write = std::move(write),
          .show = std::move(show)};
}

// Two headers that differ only in case would be sent as one header twice.
Type<std::map<std::string, std::string>> headers_by_name(Convert name) {
  Type<std::map<std::string, std::string>> type = by_name("table of secrets", name, secret());
  type.read = [read = type.read](
                  const Cursor& cursor,
                  const DecodeContext& context) -> Result<std::map<std::string, std::string>> {
    std::vector<std::string> seen;
    for (const Cursor& member : TRY(cursor.members())) {
      for (const std::string& other : seen)
        if (same_ignoring_case(other, member.key()))
          return member.wrong(cat("a second '", other, "'"),
                              "headers are compared without regard to case");
      seen.push_back(member.key());
    }
    return read(cursor, context);
  };
  return type;
}

// `too_small` is the error for a size below `least`.
Type<uint64_t> size(uint64_t least, std::string too_small) {
  auto read = [least, too_small](const Cursor& cursor, const DecodeContext&) -> Result<uint64_t> {
    const Value& value = cursor.value();
    const int64_t* number = value.as_int();
    if ((number && *number <= 0) || (!number && !value.as_string()))
      return cursor.wrong(
          number ? "must be above zero" : cat("must be a size, not ", value.type_name()),
          "write it like \"64K\" or \"64M\"");
    Result<uint64_t> size =
        number ? static_cast<uint64_t>(*number) : parse_size(TRY(cursor.text()));
    if (!size) return cursor.wrong(size.error());
    if (size.value() == 0) return cursor.wrong("must be above zero");
    if (size.value() < least) return cursor.wrong(too_small);
    return size;
  };
  const LimitInfo& disk = info(LimitKind::disk);  // for its unit
  return {.takes = "`\"64M\"`, or bytes",
          .read = read,
          .schema = [] { return number_schema(Unit::bytes); },
          .write = [&disk](const uint64_t& bytes, Secrets) { return write_limit(disk, bytes); },
          .show = [&disk](const uint64_t& bytes) { return format_limit(disk, bytes); }};
}

// A duration that may be given in days. Returns milliseconds.
Type<uint64_t> age(uint64_t longest) {
  static constexpr char kHint[] = "write it like \"30s\", \"12h\" or \"90d\"";
  return {.takes = "`\"90d\"`",
          .read = [longest](const Cursor& cursor, const DecodeContext&) -> Result<uint64_t> {
            if (!cursor.value().as_string())
              return cursor.wrong(
                  cat("must be a duration in quotes, not ", cursor.value().type_name()), kHint);
            Result<uint64_t> age = parse_age(TRY(cursor.text()));
            if (!age) return cursor.wrong(age.error().message, kHint);
            if (age.value() == 0) return cursor.wrong("must be above zero");
            if (age.value() > longest)
              return cursor.wrong(cat("is longer than ", format_age(longest)));
            return age;
          },
          .schema = text_schema,
          .write = [](const uint64_t& age, Secrets) { return Value(format_age(age)); },
          .show = [](const uint64_t& age) { return format_age(age); }};
}

// Memory below a megabyte is nearly always a forgotten unit, so the hint names it.
Type<uint64_t> limit(const LimitInfo& limit) {
  return {.takes = example(limit.unit),
          .read = [&limit](const Cursor& cursor, const DecodeContext&) -> Result<uint64_t> {
            uint64_t value = TRY(read_limit(cursor, limit));
            if (limit.kind == LimitKind::memory && value < kLeastMemory)
              return cursor.wrong(cat(value, " bytes: nothing could run"),
                                  cat("did you mean \"", value, "M\"?"));
            return value;
          },
          .schema = [&limit] { return number_schema(limit.unit); },
          .write = [&limit](const uint64_t& value, Secrets) { return write_limit(limit, value); },
          .show = [&limit](const uint64_t& value) { return format_limit(limit, value); },
          .parse = [&limit](const std::string& text) { return parse_limit(limit, text); }};
}

}  // namespace paddock::policy
