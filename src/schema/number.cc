#include "schema/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace paddock::schema {

namespace {

// 2 to the power of 63: the first double above all int64_t.
constexpr double kTwo63 = 9223372036854775808.0;

bool fits_int(double number) { return number >= -kTwo63 && number < kTwo63; }

// Exact: converting the integer to a double could round it.
std::strong_ordering compare(int64_t a, double b) {
  if (b >= kTwo63) return std::strong_ordering::less;
  if (!(b >= -kTwo63)) return std::strong_ordering::greater;
  double whole = std::trunc(b);
  if (auto order = a <=> static_cast<int64_t>(whole); order != 0) return order;
  return whole < b   ? std::strong_ordering::less
         : whole > b ? std::strong_ordering::greater
                     : std::strong_ordering::equal;
}

// digits * 10^exponent, without its sign and without zeros at the end of the digits.
struct Decimal {
  uint64_t digits = 0;
  int exponent = 0;
};

// The shortest decimal form is what people wrote, so 0.3 is a multiple of 0.1.
Decimal decimal(const Value& number) {
  Decimal out;
  if (const int64_t* integer = number.as_int()) {
    out.digits =
        *integer < 0 ? 0 - static_cast<uint64_t>(*integer) : static_cast<uint64_t>(*integer);
  } else {
    char text[40];  // d.ddddde±xx, at most 17 digits
    char* end = std::to_chars(text, text + sizeof text, std::fabs(*number.as_double()),
                              std::chars_format::scientific)
                    .ptr;
    char* at = text;
    bool behind_point = false;
    for (; at < end && *at != 'e'; ++at) {
      if (*at == '.') {
        behind_point = true;
        continue;
      }
      out.digits = out.digits * 10 + static_cast<uint64_t>(*at - '0');
      if (behind_point) --out.exponent;
    }
    int power = 0;
    if (at < end && at[1] == '+') ++at;
    if (at < end) std::from_chars(at + 1, end, power);
    out.exponent += power;
  }
  while (out.digits != 0 && out.digits % 10 == 0) {
    out.digits /= 10;
    ++out.exponent;
  }
  return out;
}

using Wide = unsigned __int128;

// By squaring, since the exponent may be large.
uint64_t power_of_ten_modulo(int exponent, uint64_t modulus) {
  Wide result = 1 % modulus, base = 10 % modulus;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result * base % modulus;
    base = base * base % modulus;
  }
  return static_cast<uint64_t>(result);
}

}  // namespace

bool is_integer(const Value& number) {
  if (number.as_int()) return true;
  const double* value = number.as_double();
  return value && std::isfinite(*value) && std::trunc(*value) == *value;
}

bool is_positive(const Value& number) {
  return number.as_int() ? *number.as_int() > 0 : *number.as_double() > 0;
}

std::strong_ordering compare_numbers(const Value& a, const Value& b) {
  if (a.as_int() && b.as_int()) return *a.as_int() <=> *b.as_int();
  if (a.as_int()) return compare(*a.as_int(), *b.as_double());
  if (b.as_int()) return 0 <=> compare(*b.as_int(), *a.as_double());
  double x = *a.as_double(), y = *b.as_double();
  return x < y   ? std::strong_ordering::less
         : x > y ? std::strong_ordering::greater
                 : std::strong_ordering::equal;
}

// Computed on decimal digits, because floating point would say no to 0.3 and 0.1.
bool is_multiple(const Value& number, const Value& divisor) {
  if (number.as_int() && divisor.as_int()) return *number.as_int() % *divisor.as_int() == 0;
  if (number.as_double() && !std::isfinite(*number.as_double())) return false;
  Decimal value = decimal(number), step = decimal(divisor);
  if (value.digits == 0) return true;
  int shift = value.exponent - step.exponent;
  if (shift >= 0)
    return static_cast<uint64_t>(static_cast<Wide>(value.digits) *
                                 power_of_ten_modulo(shift, step.digits) % step.digits) == 0;
  Wide unit = step.digits;  // value.digits must be a multiple of step.digits * 10^-shift
  for (; shift < 0; ++shift) {
    unit *= 10;
    if (unit > value.digits) return false;
  }
  return value.digits % unit == 0;
}

// Equal values have equal texts: numbers by value, members sorted. The separators keep different
// values apart.
void append_canonical(const Value& value, std::string& out) {
  if (const double* number = value.as_double()) {
    bool whole = fits_int(*number) && std::trunc(*number) == *number;
    out += to_json(whole ? Value(static_cast<int64_t>(*number)) : value);
  } else if (const Value::Array* array = value.as_array()) {
    out += '[';
    for (const Value& item : *array) {
      append_canonical(item, out);
      out += ',';
    }
    out += ']';
  } else if (const Value::Object* object = value.as_object()) {
    std::vector<const Value::Member*> members;
    for (const Value::Member& member : *object) members.push_back(&member);
    std::sort(members.begin(), members.end(), [](auto* a, auto* b) { return a->first < b->first; });
    out += '{';
    for (const Value::Member* member : members) {
      append_json_string(member->first, out);
      out += ':';
      append_canonical(member->second, out);
      out += ',';
    }
    out += '}';
  } else {
    out += to_json(value);
  }
}

}  // namespace paddock::schema
