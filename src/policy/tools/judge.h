// Two answers to whether a condition is so: "may hold" and "may fail". A condition may hold for one
// reading of a value and fail for another (a path can be written in many ways), or for one item of
// a list and not for the next. `not` swaps the two: what cannot be told passes neither a condition
// nor its opposite. Neither of the two: it says nothing about these arguments.
#pragma once

#include <vector>

#include "base/value.h"

namespace paddock::policy {

struct Answer {
  bool may_hold = false, may_fail = false;
  bool says_nothing() const { return !may_hold && !may_fail; }
  // Joins the answers for several readings or items.
  friend Answer operator|(Answer a, Answer b) {
    return {a.may_hold || b.may_hold, a.may_fail || b.may_fail};
  }
};

constexpr Answer kHolds{true, false}, kFails{false, true}, kUnclear{true, true};

inline Answer answer(bool holds) { return holds ? kHolds : kFails; }
inline Answer opposite(Answer answer) { return {answer.may_fail, answer.may_hold}; }

// What says nothing is left out of a combination: it must not decide for the parts that say
// something.
inline Answer both(Answer a, Answer b) {
  if (a.says_nothing() || b.says_nothing()) return a | b;
  return {a.may_hold && b.may_hold, a.may_fail || b.may_fail};
}
inline Answer either(Answer a, Answer b) {
  if (a.says_nothing() || b.says_nothing()) return a | b;
  return {a.may_hold || b.may_hold, a.may_fail && b.may_fail};
}

// Whether a value is one of those that one_of or not_one_of lists. A value that another program
// could take for a listed one is unclear: "22" for 22, ["root"] for "root", "/home/" for "/home".
Answer is_one_of(const std::vector<Value>& choices, const Value& value);

}  // namespace paddock::policy
