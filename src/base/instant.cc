#include "base/instant.h"

#include <chrono>
#include <ctime>

#include "base/text.h"
#include "base/units.h"

namespace paddock {

namespace {

// Takes `digits` digits off the front; -1 if they are not there.
int take_number(std::string_view& text, size_t digits) {
  if (text.size() < digits) return -1;
  int number = 0;
  for (char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return number;
}

// Takes one character off the front if it is among `any_of`.
bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

constexpr int64_t kSecond = 1'000'000, kDay = 86'400 * kSecond;

// "2026-01-31" off the front, as the microsecond with which that day begins.
bool take_day(std::string_view& text, int64_t& time) {
  int year = take_number(text, 4);
  if (!take(text, "-")) return false;
  int month = take_number(text, 2);
  if (!take(text, "-")) return false;
  int day = take_number(text, 2);
  if (year < 0 || month < 0 || day < 0) return false;
  std::chrono::year_month_day date{std::chrono::year(year),
                                   std::chrono::month(static_cast<unsigned>(month)),
                                   std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return false;
  time = std::chrono::sys_days(date).time_since_epoch().count() * kDay;
  return true;
}

// Takes "12:00:00.5" off the front. Second 60 is accepted: it is a leap second.
bool take_clock(std::string_view& text, int64_t& time) {
  int hour = take_number(text, 2);
  if (!take(text, ":")) return false;
  int minute = take_number(text, 2);
  if (!take(text, ":")) return false;
  int second = take_number(text, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return false;
  time += (hour * 3600 + minute * 60 + second) * kSecond;
  if (!take(text, ".")) return true;
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  for (int64_t unit = kSecond / 10; !text.empty() && text[0] >= '0' && text[0] <= '9'; unit /= 10) {
    time += (text[0] - '0') * unit;
    text.remove_prefix(1);
  }
  return true;
}

// Takes "Z" or "+02:00" off the front.
bool take_offset(std::string_view& text, int64_t& time) {
  if (take(text, "Zz")) return true;
  bool west = !text.empty() && text[0] == '-';
  if (!take(text, "+- ")) return false;
  int hours = take_number(text, 2);
  if (!take(text, ":")) return false;
  int minutes = take_number(text, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return false;
  time -= (west ? -60 : 60) * (hours * 60 + minutes) * kSecond;
  return true;
}

}  // namespace

Result<int64_t> parse_rfc3339(std::string_view text) {
  int64_t time = 0;
  std::string_view rest = text;
  if (take_day(rest, time) && take(rest, "Tt") && take_clock(rest, time) &&
      take_offset(rest, time) && rest.empty())
    return time;
  return Error{Code::invalid,
               cat("'", printable(text), "' is not a time such as 2026-01-31T12:00:00Z")};
}

// A day is tried first, since parse_rfc3339 needs a time of day; an age comes last.
Result<int64_t> parse_instant(std::string_view text, int64_t now_us) {
  int64_t day = 0;
  std::string_view rest = text;
  if (take_day(rest, day) && rest.empty()) return day;
  if (Result<int64_t> time = parse_rfc3339(text)) return time;
  constexpr uint64_t kMostAge = 1000ull * 365 * 86'400'000;
  Result<uint64_t> age = parse_age(text);
  if (!age || age.value() > kMostAge)
    return Error{Code::invalid, cat("'", printable(text), "' is neither a time nor an age"),
                 "write it like 2026-01-31T12:00:00Z, 2026-01-31, 2h or 3d"};
  return now_us - static_cast<int64_t>(age.value()) * 1000;
}

std::string http_date(int64_t seconds) {
  time_t time = seconds;
  tm parts{};
  (void)::gmtime_r(&time, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace paddock
