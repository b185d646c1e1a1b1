#include "redact/checks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

#include "base/base64.h"
#include "base/text.h"
#include "base/value.h"

namespace paddock::redact {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// base64 or base64url, padded or not.
Result<std::string> decoded(std::string_view text) {
  std::string plain(text.substr(0, text.find('=')));
  for (char& c : plain) c = c == '-' ? '+' : c == '_' ? '/' : c;
  plain.append((4 - plain.size() % 4) % 4, '=');
  return from_base64(plain);
}

// The issuers' number ranges and lengths that are in use (ISO/IEC 7812).
bool is_issued(std::string_view digits) {
  int two = (digits[0] - '0') * 10 + digits[1] - '0',
      four = two * 100 + (digits[2] - '0') * 10 + digits[3] - '0';
  size_t size = digits.size();
  if (digits[0] == '4') return size == 13 || size == 16 || size == 19;
  if ((two >= 51 && two <= 55) || (four >= 2221 && four <= 2720)) return size == 16;
  if (two == 34 || two == 37) return size == 15;
  if (two == 36 || two == 38 || (four >= 3000 && four <= 3059)) return size == 14;
  if (four >= 3528 && four <= 3589) return size == 16;
  if (four == 6011 || two == 65 || (four >= 6440 && four <= 6499)) return size == 16;
  return two == 62 && size >= 16;
}

// The check digit of card numbers (ISO/IEC 7812-1).
bool luhn(std::string_view digits) {
  int sum = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    int digit = digits[digits.size() - 1 - i] - '0';
    if (i % 2) digit = digit > 4 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  return sum % 10 == 0;
}

// A card number with or without separators between its groups. A longer row of digits may begin
// with one: the longest counts.
size_t card(const Found& found) {
  if (found.before == '-' || found.before == '+') return 0;  // part of another number
  std::string digits;
  std::string groups;  // the sizes of the groups, as letters
  char separator = 0;
  size_t group = 0, best = 0;
  bool groups_agree = true;
  for (size_t i = 0; i < found.value.size() && groups_agree; ++i) {
    char c = found.value[i];
    if (c == ' ' || c == '-') {
      if ((separator && c != separator) || group == 0) break;
      separator = c;
      groups += static_cast<char>('0' + std::min<size_t>(group, 20));
      group = 0;
      continue;
    }
    digits += c;
    ++group;
    bool ends_here = i + 1 == found.value.size() ||
                     !std::isdigit(static_cast<unsigned char>(found.value[i + 1]));
    if (!ends_here || digits.size() < 13 || digits.size() > 19) continue;
    std::string sizes = groups + static_cast<char>('0' + std::min<size_t>(group, 20));
    bool shaped = !separator || sizes == "4444" || sizes == "465" || sizes == "464" ||
                  sizes == "44443" || sizes == "4441" || sizes == "6:3";
    if (shaped && is_issued(digits) && luhn(digits) &&
        digits.find_first_not_of(digits[0]) != digits.npos)
      best = i + 1;
  }
  return best;
}

// The header must be JSON with "alg".
size_t jwt(const Found& found) {
  Result<std::string> header = decoded(found.value.substr(0, found.value.find('.')));
  if (!header) return 0;
  Result<Value> json = parse_json(header.value(), "header");
  return json && json.value().find("alg") ? found.value.size() : 0;
}

// HTTP basic authentication is NAME:PASSWORD in base64.
size_t basic(const Found& found) {
  Result<std::string> text = decoded(found.value);
  return text && contains(text.value(), ":") ? found.value.size() : 0;
}

// What a program's text has in place of a secret, or beside the word "token".
size_t random(const Found& found) { return is_random(found.value) ? found.value.size() : 0; }

// A name such as token_count or secretName speaks about a secret and does not hold one.
bool names_something_else(const Found& found) {
  size_t end = found.context.find_first_of("\"'`:=>, \t\\"), start = found.front.size();
  while (start > 0 && (std::isalnum(static_cast<unsigned char>(found.front[start - 1])) ||
                       found.front[start - 1] == '_' || found.front[start - 1] == '-'))
    --start;
  std::string before = lower(found.front.substr(start)), name = lower(found.context.substr(0, end));
  // Where a list goes on.
  for (std::string_view word : {"page", "next", "continu", "cursor", "sync"})
    if (contains(before, word)) return true;
  for (std::string_view word :
       {"name",  "_id",     "-id",    "path",   "file",   "url",   "uri",    "ref",
        "type",  "count",   "length", "size",   "limit",  "usage", "format", "policy",
        "expir", "version", "hash",   "class",  "field",  "label", "column", "index",
        "arn",   "ttl",     "hint",   "public", "tokeniz"})
    if (contains(name, word)) return true;
  return false;
}

// user.accessTokenV2: a name in a program, not a key with a dot in it.
bool is_dotted_name(std::string_view value) {
  constexpr size_t kLongest = 24, kDigits = 2;
  size_t dots = 0, length = 0, digits = 0;
  for (unsigned char c : value) {
    bool is_digit = std::isdigit(c) != 0;
    if (c == '.' && length > 0) {
      ++dots;
      length = digits = 0;
      continue;
    }
    if ((!std::isalnum(c) && c != '_') || (is_digit && length == 0)) return false;
    digits += is_digit;
    if (++length > kLongest || digits > kDigits) return false;
  }
  return dots > 0 && length > 0;
}

// For a name such as `api_key=`: the value counts only if it looks random and is no expression of a
// program.
size_t generic(const Found& whole) {
  Found found = whole;
  // The backslash belongs to a quote in JSON within JSON.
  while (!found.value.empty() && found.value.back() == '\\') found.value.remove_suffix(1);
  // A call, an index.
  if (names_something_else(found) || is_dotted_name(found.value) || found.after == '(' ||
      found.after == '[')
    return 0;
  // The rest of an address is not part of its password.
  size_t host = found.value.find('@');
  if (host != found.value.npos && is_random(found.value.substr(0, host))) return host;
  return random(found);
}

// Passwords in addresses are often short and plain.
size_t url_password(const Found& found) {
  auto are_digits = [](std::string_view text) {
    return text.find_first_not_of("0123456789") == text.npos;
  };
  size_t end = found.context.rfind(':'), start = found.context.find_last_of("/ =\"'", end);
  // -u 1000:1000, http://localhost:3000@latest.
  if (are_digits(found.value) && end != found.context.npos && start != found.context.npos) {
    std::string_view user = found.context.substr(start + 1, end - start - 1);
    if (user == "localhost" || contains(user, ".") || (are_digits(user) && !user.empty())) return 0;
  }
  return is_placeholder(found.value) ? 0 : found.value.size();
}

// Hex digits alone, all in one case, as random as they come.
size_t hex_key(const Found& found) {
  return bits_per_byte(found.value) >= 3.0 ? found.value.size() : 0;
}

// At least two of digits, capitals and small letters, as generated keys have.
size_t mixed(const Found& found) {
  bool digit = false, upper = false, small = false;
  for (unsigned char c : found.value)
    digit |= std::isdigit(c), upper |= std::isupper(c), small |= std::islower(c);
  return digit + upper + small >= 2 && bits_per_byte(found.value) >= 3.0 &&
                 !is_placeholder(found.value)
             ? found.value.size()
             : 0;
}

}  // namespace

// The names stand in the rules that are compiled in.
Check check_named(std::string_view name) {
  constexpr std::pair<std::string_view, Check> kChecks[] = {
      {"card", card},     {"jwt", jwt},         {"basic", basic},
      {"random", random}, {"generic", generic}, {"url-password", url_password},
      {"hex", hex_key},   {"mixed", mixed}};
  for (const auto& [known, check] : kChecks)
    if (known == name) return check;
  return nullptr;
}

// Texts in documentation and templates that stand for a secret; taking them out would only confuse.
bool is_placeholder(std::string_view value) {
  if (value.empty() || value[0] == '$' || value[0] == '<' || value[0] == '%' ||
      starts_with(value, "{{") || starts_with(value, "[redacted"))
    return true;
  std::string text = lower(value);
  for (std::string_view word :
       {"example", "changeme",    "change_me", "change-me", "placeholder", "your",
        "xxxx",    "****",        "....",      "redacted",  "dummy",       "sample",
        "insert",  "secret_here", "12345678",  "abcdefgh",  "<",           "${",
        "{{",      "undefined",   "password",  "todo"})
    if (contains(text, word)) return true;
  for (std::string_view word :
       {"null", "none", "true", "false", "nil", "env", "string", "secret", "token"})
    if (text == word) return true;
  return std::all_of(text.begin(), text.end(), [&](char c) { return c == text[0]; });
}

double bits_per_byte(std::string_view value) {
  std::array<size_t, 256> counts{};
  for (unsigned char byte : value) ++counts[byte];
  double bits = 0;
  for (size_t count : counts)
    if (count)
      bits -= static_cast<double>(count) *
              std::log2(static_cast<double>(count) / static_cast<double>(value.size()));
  return value.empty() ? 0 : bits / static_cast<double>(value.size());
}

// Asks for less entropy of short values, since few bytes cannot have much. Paths, addresses and
// names in programs are ruled out first.
bool is_random(std::string_view value) {
  if (value.size() < 8 || is_placeholder(value)) return false;
  if (value[0] == '/' || value[0] == '.' || value[0] == '~' || contains(value, "://") ||
      contains(value, "::") || contains(value, "->"))
    return false;
  size_t digits = 0, letters = 0, changes = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(value[i]),
                  previous = i ? static_cast<unsigned char>(value[i - 1]) : 0;
    digits += std::isdigit(c) != 0;
    letters += std::isalpha(c) != 0;
    changes += (std::isupper(c) && std::islower(previous)) ||
               (std::isalpha(c) && std::isdigit(previous)) ||
               (std::isdigit(c) && std::isalpha(previous));
  }
  if (letters == 0) return false;  // a number
  // Without digits only a long mixture of small and capital letters is neither a word nor a name in
  // a program.
  if (digits == 0 && (value.size() < 20 || changes * 5 < value.size() || contains(value, "_") ||
                      contains(value, ".")))
    return false;
  double enough = value.size() < 16 ? 2.75 : value.size() < 32 ? 3.0 : 3.2;
  return bits_per_byte(value) >= enough;
}

}  // namespace paddock::redact
