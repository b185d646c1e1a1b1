#include "schema/format.h"

#include <array>

#include "base/text.h"
#include "schema/ecma.h"
#include "schema/uri.h"

namespace paddock::schema {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// ---- RFC 3339: dates, times and durations ---

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

// Takes the character off the front if it is there.
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

// A day must exist in its month.
bool is_date(std::string_view text) {
  int year = take_number(text, 4);
  if (year < 0 || !take(text, '-')) return false;
  int month = take_number(text, 2);
  if (month < 1 || month > 12 || !take(text, '-')) return false;
  int day = take_number(text, 2);
  return day >= 1 && day <= days_in(month, year) && text.empty();
}

// A leap second is accepted only where one can be: at the end of a day in UTC.
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

// RFC 3339, appendix A: weeks stand alone.
bool is_duration(std::string_view text) {
  if (!take(text, 'P')) return false;
  std::string_view weeks = text;
  if (take_elements(weeks, "W") && weeks.empty()) return true;
  if (!starts_with(text, "T") && !take_elements(text, "YMD")) return false;
  return text.empty() || (take(text, 'T') && take_elements(text, "HMS") && text.empty());
}

// ---- names and addresses ---

// RFC 1123. The inside of an xn-- label is not looked at.
bool is_hostname(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  for (const std::string& label : split(text, '.')) {
    if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-')
      return false;
    for (char c : label)
      if (!is_letter(c) && !is_digit(c) && c != '-') return false;
  }
  return true;
}

// The local part of an address in quotes.
bool is_quoted(std::string_view text, bool international) {
  if (text.size() < 3 || text.front() != '"' || text.back() != '"') return false;
  text = text.substr(1, text.size() - 2);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return false;
    if (text[i] == '\\' && ++i == text.size()) return false;
    if (static_cast<unsigned char>(text[i]) >= 0x80 ? !international
                                                    : text[i] < ' ' || text[i] == 0x7f)
      return false;
  }
  return true;
}

// The local part without quotes; the characters are those of RFC 5322.
bool is_dotted_atoms(std::string_view text, bool international) {
  for (const std::string& atom : split(text, '.')) {
    if (atom.empty()) return false;
    for (char c : atom) {
      bool foreign = static_cast<unsigned char>(c) >= 0x80;
      if (foreign ? !international
                  : !is_letter(c) && !is_digit(c) &&
                        std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) == std::string_view::npos)
        return false;
    }
  }
  return true;
}

// A mailbox of RFC 5321: one address, without a name or angle brackets.
bool is_mailbox(std::string_view text, bool international) {
  size_t at = text.rfind('@');
  if (at == std::string_view::npos || at == 0 || at > 64) return false;
  std::string_view local = text.substr(0, at);
  std::string_view domain = text.substr(at + 1);
  if (!is_dotted_atoms(local, international) && !is_quoted(local, international)) return false;
  if (domain.size() > 2 && domain.front() == '[' && domain.back() == ']') {
    domain = domain.substr(1, domain.size() - 2);
    return starts_with(domain, "IPv6:") ? is_ipv6(domain.substr(5)) : is_ipv4(domain);
  }
  if (!international) return is_hostname(domain);
  std::string plain(domain);  // letters of other scripts count as letters
  for (char& c : plain)
    if (static_cast<unsigned char>(c) >= 0x80) c = 'x';
  return is_hostname(plain);
}

bool is_email(std::string_view text) { return is_mailbox(text, false); }
bool is_idn_email(std::string_view text) { return is_mailbox(text, true); }

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    char c = text[i];
    if (dash ? c != '-' : !is_digit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F'))
      return false;
  }
  return true;
}

bool is_json_pointer(std::string_view text) {
  if (!text.empty() && text[0] != '/') return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '~' && (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1')))
      return false;
  return true;
}

// A number of levels, then "#" or a pointer.
bool is_relative_json_pointer(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  if (digits == 0 || (digits > 1 && text[0] == '0')) return false;
  text.remove_prefix(digits);
  return text == "#" || is_json_pointer(text);
}

bool is_regex(std::string_view text) { return is_ecma_pattern(text); }

constexpr Format kFormats[] = {
    {"date-time", "2026-01-31T12:00:00Z", is_date_time},
    {"date", "2026-01-31", is_date},
    {"time", "12:00:00Z", is_time},
    {"duration", "P1DT2H", is_duration},
    {"email", "name@example.com", is_email},
    {"idn-email", "name@example.com", is_idn_email},
    {"hostname", "www.example.com", is_hostname},
    {"ipv4", "192.0.2.1", is_ipv4},
    {"ipv6", "2001:db8::1", is_ipv6},
    {"uri", "https://example.com/path", is_uri},
    {"uri-reference", "/path?query", is_uri_reference},
    {"iri", "https://example.com/path", is_iri},
    {"iri-reference", "/path?query", is_iri_reference},
    {"uri-template", "/users/{id}", is_uri_template},
    {"uuid", "123e4567-e89b-12d3-a456-426614174000", is_uuid},
    {"json-pointer", "/items/0", is_json_pointer},
    {"relative-json-pointer", "1/items", is_relative_json_pointer},
    {"regex", "^[a-z]+$", is_regex},
};

}  // namespace

const Format* find_format(std::string_view name) {
  for (const Format& format : kFormats)
    if (format.name == name) return &format;
  return nullptr;
}

}  // namespace paddock::schema
