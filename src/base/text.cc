#include "base/text.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/value.h"

namespace paddock {

namespace {

// The code that callers branch on. What is not listed is an ordinary I/O error.
Code code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR: return Code::not_found;
    case EACCES:
    case EPERM:
    case EROFS: return Code::denied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN: return Code::exhausted;
    case ENOSYS:
    case EOPNOTSUPP: return Code::unsupported;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP: return Code::invalid;
    default: return Code::io;
  }
}

// Length of the valid UTF-8 sequence at the start of `text`, 0 if there is none. Rejects overlong
// forms, surrogates and anything above U+10FFFF.
size_t utf8_length(std::string_view text, uint32_t* code_point) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) {
    *code_point = first;
    return 1;
  }
  size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (first >= 0xf5 || length == 0 || text.size() < length) return 0;
  uint32_t value = first & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3f);
  }
  if (length == 3 && value < 0x800) return 0;
  if (length == 4 && (value < 0x10000 || value > 0x10ffff)) return 0;
  if (value >= 0xd800 && value <= 0xdfff) return 0;
  *code_point = value;
  return length;
}

// Characters that move the cursor, break a line or turn the direction of writing: with them a
// program could show something other than what it printed.
bool is_deceptive(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

}  // namespace

Error errno_error(int number, std::string_view what, std::string hint) {
  return Error{code_of(number), cat(what, ": ", std::strerror(number)), std::move(hint)};
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string> words_in(std::string_view text) {
  static constexpr std::string_view kBlanks = " \t\n\r";
  std::vector<std::string> words;
  for (size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;
       at = text.find_first_not_of(kBlanks, at)) {
    size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) text += separator;
    text += parts[i];
  }
  return text;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // Levenshtein distance, one row at a time.
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j < row.size(); ++j) {
        size_t substitute = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string printable(std::string_view bytes) {
  std::string text;
  char escape[16];
  while (!bytes.empty()) {
    uint32_t c = 0;
    size_t length = utf8_length(bytes, &c);
    if (length == 0) {
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(bytes[0]));
      text += escape;
      length = 1;
    } else if (is_deceptive(c)) {
      std::snprintf(escape, sizeof escape, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
      text += escape;
    } else {
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(length);
  }
  return text;
}

// Escapes also what would turn the direction of a line or control a terminal, since tools print
// JSON as it comes.
void append_json_string(std::string_view bytes, std::string& out) {
  out += '"';
  while (!bytes.empty()) {
    size_t plain = 0;
    // As char is signed, this holds for ASCII alone.
    while (plain < bytes.size() && bytes[plain] >= 0x20 && bytes[plain] != 0x7f &&
           bytes[plain] != '"' && bytes[plain] != '\\')
      ++plain;
    out += bytes.substr(0, plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) break;
    uint32_t c = 0;
    size_t length = utf8_length(bytes, &c);
    char escape[8];
    if (length == 0)
      out += "\xef\xbf\xbd";
    else if (c == '"' || c == '\\')
      out += {'\\', bytes[0]};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (is_deceptive(c))
      out.append(escape, static_cast<size_t>(std::snprintf(escape, sizeof escape, "\\u%04x", c)));
    else
      out += bytes.substr(0, length);
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  out += '"';
}

std::string to_utf8(std::string_view bytes, bool* changed) {
  std::string text;
  text.reserve(bytes.size());
  if (changed) *changed = false;
  while (!bytes.empty()) {
    uint32_t c = 0;
    size_t length = utf8_length(bytes, &c);
    if (length == 0) {
      text += "\xef\xbf\xbd";
      if (changed) *changed = true;
      length = 1;
    } else {
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(length);
  }
  return text;
}

std::string base64(std::string_view bytes) {
  static const char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  char* out = text.data();
  for (size_t i = 0; i < bytes.size(); i += 3, out += 4) {
    size_t left = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << 16;
    if (left > 1) group |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i + 1])) << 8;
    if (left > 2) group |= static_cast<unsigned char>(bytes[i + 2]);
    for (size_t j = 0; j <= left; ++j) out[j] = kAlphabet[group >> (18 - 6 * j) & 63];
  }
  return text;
}

std::string human_size(uint64_t bytes) {
  static const char* kSuffix[] = {"", "K", "M", "G", "T"};
  int step = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024 && step < 4) {
    value /= 1024;
    ++step;
  }
  char text[32];
  bool whole = value == static_cast<double>(static_cast<uint64_t>(value));
  std::snprintf(text, sizeof text, whole ? "%.0f%s" : "%.1f%s", value, kSuffix[step]);
  return text;
}

}  // namespace paddock
