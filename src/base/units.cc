#include "base/units.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/text.h"

namespace paddock {

namespace {

// A number and what follows it.
struct Quantity {
  double number;
  std::string_view unit;
};

// "1.5G" → 1.5 and "G". Refuses signs, spaces, exponents and empty numbers.
Result<Quantity> parse_quantity(std::string_view text) {
  size_t digits = text.find_first_not_of("0123456789.");
  std::string_view number = text.substr(0, digits);
  double value = 0;
  auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || failed != std::errc() || end != number.data() + number.size())
    return Error{Code::invalid, cat("'", printable(text), "' does not start with a number"), ""};
  return Quantity{value, digits == std::string_view::npos ? "" : text.substr(digits)};
}

// Rounds to a whole number. Refuses what would not fit a signed 64-bit number, as JSON has it.
Result<uint64_t> scaled(const Quantity& quantity, double factor, std::string_view text) {
  double value = quantity.number * factor;
  if (value >= 9.2e18) return Error{Code::invalid, cat("'", printable(text), "' is too large"), ""};
  return static_cast<uint64_t>(std::llround(value));
}

}  // namespace

// "B" and "iB" are accepted after the unit and change nothing: everything is 1024-based.
Result<uint64_t> parse_size(std::string_view text) {
  Quantity quantity = TRY(parse_quantity(text));
  std::string unit(quantity.unit);
  if (!unit.empty() && ends_with(unit, "iB"))
    unit.resize(unit.size() - 2);
  else if (!unit.empty() && ends_with(unit, "B"))
    unit.resize(unit.size() - 1);
  if (unit.empty()) return scaled(quantity, 1, text);
  if (unit == "K" || unit == "k") return scaled(quantity, 1024.0, text);
  if (unit == "M") return scaled(quantity, 1024.0 * 1024, text);
  if (unit == "G") return scaled(quantity, 1024.0 * 1024 * 1024, text);
  if (unit == "T") return scaled(quantity, 1024.0 * 1024 * 1024 * 1024, text);
  return Error{Code::invalid, cat("'", printable(text), "' is not a size"),
               "write it like 512K, 256M or 2G"};
}

Result<uint64_t> parse_duration(std::string_view text) {
  Quantity quantity = TRY(parse_quantity(text));
  if (quantity.unit == "ms") return scaled(quantity, 1, text);
  if (quantity.unit == "s") return scaled(quantity, 1000, text);
  if (quantity.unit == "m") return scaled(quantity, 60'000, text);
  if (quantity.unit == "h") return scaled(quantity, 3'600'000, text);
  return Error{Code::invalid, cat("'", printable(text), "' is not a duration"),
               "write it like 500ms, 30s, 5m or 1h"};
}

Result<uint64_t> parse_age(std::string_view text) {
  if (!ends_with(text, "d")) return parse_duration(text);
  Quantity quantity = TRY(parse_quantity(text));
  if (quantity.unit != "d")
    return Error{Code::invalid, cat("'", printable(text), "' is not a duration"),
                 "write it like 12h or 90d"};
  return scaled(quantity, 86'400'000, text);
}

std::optional<int64_t> parse_digits(std::string_view text, size_t most_digits) {
  bool plain = !text.empty() && text.size() <= std::min<size_t>(most_digits, 18) &&
               text.find_first_not_of("0123456789") == text.npos;
  if (!plain) return std::nullopt;
  int64_t number = 0;
  for (char digit : text) number = number * 10 + (digit - '0');
  return number;
}

Result<uint64_t> parse_count(std::string_view text) {
  uint64_t value = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size())
    return Error{Code::invalid, cat("'", printable(text), "' is not a whole number"), ""};
  return value;
}

Result<uint64_t> parse_cores(std::string_view text) {
  Quantity quantity = TRY(parse_quantity(text));
  if (!quantity.unit.empty())
    return Error{Code::invalid, cat("'", printable(text), "' is not a number of cores"),
                 "write it like 0.5 or 2"};
  return scaled(quantity, 1000, text);
}

Result<uint64_t> parse_limit(const LimitInfo& limit, std::string_view text) {
  uint64_t value = 0;
  switch (limit.unit) {
    case Unit::bytes: value = TRY(parse_size(text)); break;
    case Unit::bytes_per_second: {
      if (ends_with(text, "/s")) text.remove_suffix(2);
      value = TRY(parse_size(text));
      break;
    }
    case Unit::milliseconds: value = TRY(parse_duration(text)); break;
    case Unit::count: value = TRY(parse_count(text)); break;
    case Unit::millicores: value = TRY(parse_cores(text)); break;
  }
  if (value == 0)
    return Error{Code::invalid, cat("'", printable(text), "' is zero: nothing could run"), ""};
  return value;
}

std::string format_limit(const LimitInfo& limit, uint64_t value) {
  char text[32];
  switch (limit.unit) {
    case Unit::bytes: return human_size(value);
    case Unit::bytes_per_second: return human_size(value) + "/s";
    case Unit::count: return std::to_string(value);
    case Unit::millicores:
      std::snprintf(text, sizeof text, "%.10g", static_cast<double>(value) / 1000);
      return text;
    case Unit::milliseconds: break;
  }
  return format_duration(value);
}

std::string format_duration(uint64_t milliseconds) {
  if (milliseconds % 3'600'000 == 0) return cat(milliseconds / 3'600'000, "h");
  if (milliseconds % 60'000 == 0) return cat(milliseconds / 60'000, "m");
  if (milliseconds % 1000 == 0) return cat(milliseconds / 1000, "s");
  return cat(milliseconds, "ms");
}

std::string format_age(uint64_t milliseconds) {
  return milliseconds % 86'400'000 == 0 ? cat(milliseconds / 86'400'000, "d")
                                        : format_duration(milliseconds);
}

}  // namespace paddock
