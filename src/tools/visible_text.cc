#include "tools/visible_text.h"

#include <cstdint>
#include <cstdio>
#include <vector>

#include "base/text.h"

namespace paddock::tools {

namespace {

struct Range {
  uint32_t first, last;
};
// Unicode's format and default-ignorable characters, controls, private use, and noncharacters of
// the first plane.
constexpr Range kHidden[] = {
    {0x00, 0x08},       {0x0b, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},     {0x34f, 0x34f},
    {0x600, 0x605},     {0x61c, 0x61c},      {0x6dd, 0x6dd},   {0x70f, 0x70f},   {0x115f, 0x1160},
    {0x17b4, 0x17b5},   {0x180b, 0x180f},    {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
    {0x2800, 0x2800},   {0x3164, 0x3164},    {0xe000, 0xf8ff}, {0xfdd0, 0xfdef}, {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},   {0xffa0, 0xffa0},    {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff},
};

// The list is short, and only texts of definitions and messages are looked at.
bool is_hidden(uint32_t c) {
  for (const Range& range : kHidden)
    if (c >= range.first && c <= range.last) return true;
  return false;
}

// Valid UTF-8 only: JSON that was read has no other.
std::vector<uint32_t> characters_of(std::string_view text) {
  std::vector<uint32_t> characters;
  for (size_t i = 0; i < text.size();) {
    auto byte = static_cast<unsigned char>(text[i]);
    size_t length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    uint32_t c = length == 1 ? byte : byte & (0xffu >> (length + 1));
    for (size_t k = 1; k < length && i + k < text.size(); ++k)
      c = c << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fu);
    characters.push_back(c);
    i += length;
  }
  return characters;
}

// Arrows, symbols and emoji begin at 0x2190.
bool is_picture(uint32_t c) { return c >= 0x2190 && !is_hidden(c); }

// A variation selector after a picture, or one joiner between two, is what emoji are made of. More
// of them in a row can carry a message.
bool belongs_to_emoji(const std::vector<uint32_t>& text, size_t i) {
  uint32_t before = i > 0 ? text[i - 1] : 0, after = i + 1 < text.size() ? text[i + 1] : 0;
  if (text[i] == 0xfe0f || text[i] == 0xfe0e)
    return is_picture(before) || before == 0xa9 || before == 0xae || after == 0x20e3;
  if (text[i] == 0x200d)
    return (is_picture(before) || (before == 0xfe0f && i > 1 && is_picture(text[i - 2]))) &&
           is_picture(after);
  return false;
}

}  // namespace

// See kHidden; what emoji are put together with is not counted.
bool has_hidden(std::string_view text) {
  std::vector<uint32_t> characters = characters_of(text);
  for (size_t i = 0; i < characters.size(); ++i)
    if (is_hidden(characters[i]) && !belongs_to_emoji(characters, i)) return true;
  return false;
}

// Shows hidden characters as \u{…}, so that a person who reviews a text sees what a model would
// see. A CR before LF is dropped.
std::string visible(std::string_view text) {
  std::string valid = to_utf8(text), out;
  std::vector<uint32_t> characters = characters_of(valid);
  size_t at = 0;
  for (size_t i = 0; i < characters.size(); ++i) {
    uint32_t c = characters[i];
    size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    bool line_end = c == '\r' && i + 1 < characters.size() && characters[i + 1] == '\n';
    if (is_hidden(c) && !belongs_to_emoji(characters, i)) {
      char escape[16];
      std::snprintf(escape, sizeof escape, "\\u{%x}", c);
      if (!line_end) out += escape;
    } else {
      out.append(valid, at, length);
    }
    at += length;
  }
  return out;
}

// Cuts at a boundary of UTF-8 and says how much is missing.
std::string cut_to(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return cat(text.substr(0, most), " … (", text.size() - most, " bytes more)");
}

}  // namespace paddock::tools
