#include "schema/format_time.h"

#include <array>

#include "base/text.h"

namespace paddock::schema {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes exactly `digits` digits off the front; below zero if they are not there.
int take_number(std::string_view& text, size_t digits) {
  if (text.size() < digits) return -1;
  int number = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (!is_digit(text[i])) return -1;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

int days_in(int month, int year) {
  static constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[static_cast<size_t>(month - 1)];
}

// Elements such as 3D in the order of `units`, each following the one before it or being the first.
// At least one.
bool take_elements(std::string_view& text, std::string_view units) {
  size_t next = std::string_view::npos;
  while (!text.empty() && is_digit(text[0])) {
    while (!text.empty() && is_digit(text[0])) text.remove_prefix(1);
    if (text.empty()) return false;
    size_t unit = units.find(text[0]);
    if (unit == std::string_view::npos || (next != std::string_view::npos && unit != next))
      return false;
    next = unit + 1;
    text.remove_prefix(1);
  }
  return next != std::string_view::npos;
}

}  // namespace

bool is_date(std::string_view text) {
  int year = take_number(text, 4);
  if (year < 0 || !take(text, '-')) return false;
  int month = take_number(text, 2);
  if (month < 1 || month > 12 || !take(text, '-')) return false;
  int day = take_number(text, 2);
  return day >= 1 && day <= days_in(month, year) && text.empty();
}

bool is_time(std::string_view text) {
  int hour = take_number(text, 2);
  if (hour < 0 || hour > 23 || !take(text, ':')) return false;
  int minute = take_number(text, 2);
  if (minute < 0 || minute > 59 || !take(text, ':')) return false;
  int second = take_number(text, 2);
  if (second < 0 || second > 60) return false;
  if (take(text, '.')) {
    if (text.empty() || !is_digit(text[0])) return false;
    while (!text.empty() && is_digit(text[0])) text.remove_prefix(1);
  }
  int offset = 0;  // in minutes
  if (!take(text, 'Z') && !take(text, 'z')) {
    bool behind = take(text, '-');
    if (!behind && !take(text, '+')) return false;
    int hours = take_number(text, 2);
    if (hours < 0 || hours > 23 || !take(text, ':')) return false;
    int minutes = take_number(text, 2);
    if (minutes < 0 || minutes > 59) return false;
    offset = (hours * 60 + minutes) * (behind ? -1 : 1);
  }
  if (!text.empty()) return false;
  constexpr int kDay = 24 * 60;  // a leap second is the last of a day, in UTC
  return second < 60 || (hour * 60 + minute - offset + 2 * kDay) % kDay == kDay - 1;
}

bool is_date_time(std::string_view text) {
  return text.size() > 11 && (text[10] == 'T' || text[10] == 't') && is_date(text.substr(0, 10)) &&
         is_time(text.substr(11));
}

bool is_duration(std::string_view text) {
  if (!take(text, 'P')) return false;
  std::string_view weeks = text;
  if (take_elements(weeks, "W") && weeks.empty()) return true;
  if (!starts_with(text, "T") && !take_elements(text, "YMD")) return false;
  return text.empty() || (take(text, 'T') && take_elements(text, "HMS") && text.empty());
}

}  // namespace paddock::schema
