// JSON numbers, compared as the numbers that they are: 2^53 + 1 as an integer is not 2^53 as a
// double, and 0.07 is a multiple of 0.01.
#pragma once

#include <compare>
#include <string>

#include "base/value.h"

namespace paddock::schema {

inline bool is_number(const Value& value) { return value.as_int() || value.as_double(); }
bool is_integer(const Value& number);                                  // 1.0 is one
std::strong_ordering compare_numbers(const Value& a, const Value& b);  // both finite
bool is_positive(const Value& number);

// Whether `number` is `divisor` (positive) times an integer, both taken as the shortest decimals
// that name them.
bool is_multiple(const Value& number, const Value& divisor);

// A text that two values have in common exactly if JSON Schema calls them equal: members sorted by
// name, 1.0 as 1.
void append_canonical(const Value& value, std::string& out);

}  // namespace paddock::schema
