#include "redact/forms.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <unordered_set>

#include "base/text.h"

namespace paddock::redact {
namespace {

// In bytes; fewer in hex or base64 would hit ordinary text.
constexpr size_t kShortestEncoded = 6;

// In characters.
constexpr size_t kShortestBase64 = 8;
constexpr size_t kShortestReversed = 8;
constexpr size_t kShortestLine = 16;

std::string hex(std::string_view bytes, std::string_view digits) {
  std::string text;
  for (unsigned char byte : bytes) text += digits[byte >> 4], text += digits[byte & 15];
  return text;
}
constexpr std::string_view kLower = "0123456789abcdef", kUpper = "0123456789ABCDEF";

// Escapes byte by byte: what `escape` gives for one, or the byte itself.
std::string escaped(std::string_view value,
                    const std::function<std::string(unsigned char)>& escape) {
  std::string text;
  for (unsigned char byte : value) {
    std::string with = escape(byte);
    if (with.empty())
      text += static_cast<char>(byte);
    else
      text += with;
  }
  return text;
}

// The code points of valid UTF-8.
std::optional<std::vector<uint32_t>> code_points(std::string_view text) {
  bool changed = false;
  (void)to_utf8(text, &changed);
  if (changed) return std::nullopt;
  std::vector<uint32_t> points;
  for (size_t i = 0; i < text.size();) {
    unsigned char lead = static_cast<unsigned char>(text[i]);
    size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t point = size == 1 ? lead : lead & (0x7fu >> size);
    for (size_t k = 1; k < size; ++k)
      point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f);
    points.push_back(point);
    i += size;
  }
  return points;
}

// Pairs of surrogates stand for what is beyond 16 bits.
std::vector<uint16_t> utf16(const std::vector<uint32_t>& points) {
  std::vector<uint16_t> units;
  for (uint32_t point : points) {
    if (point < 0x10000) {
      units.push_back(static_cast<uint16_t>(point));
    } else {
      units.push_back(static_cast<uint16_t>(0xd800 + ((point - 0x10000) >> 10)));
      units.push_back(static_cast<uint16_t>(0xdc00 + ((point - 0x10000) & 0x3ff)));
    }
  }
  return units;
}

// Collects the forms of one value, each once. Forms that are too short are dropped.
class Collector {
 public:
  void add(std::string text) {
    if (text.size() >= kShortestValue && seen_.insert(text).second)
      forms.push_back(std::move(text));
  }
  // For encodings that are broken into lines: a break within the first four characters hides them,
  // so what follows is looked for by itself.
  void add_wrapping(std::string text) {
    if (text.size() >= 4 + 2 * kShortestBase64) add(text.substr(4));
    add(std::move(text));
  }
  std::vector<std::string> forms;

 private:
  std::unordered_set<std::string> seen_;
};

// Programs differ in which characters they leave as they are, so several variants are made.
void add_url(std::string_view value, Collector& out) {
  for (std::string_view digits : {kUpper, kLower}) {
    // What is left as it is differs: RFC 3986, Python's quote, JavaScript's encodeURIComponent,
    // HTML forms, and all but nothing.
    for (std::string_view safe : {"-_.~", "-_.~/", "-_.~!'()*", "-_.*", "-_.~+=/:@!$&'()*,;"}) {
      for (bool plus : {false, true}) {
        out.add(escaped(value, [&](unsigned char byte) -> std::string {
          if (plus && byte == ' ') return "+";
          if (std::isalnum(byte) || safe.find(static_cast<char>(byte)) != safe.npos) return "";
          return "%" + hex(std::string(1, static_cast<char>(byte)), digits);
        }));
      }
    }
  }
}

// Escapes of JSON and its relatives: with and without escaped slashes, with HTML-safe characters,
// and with everything outside ASCII escaped.
void add_json(std::string_view value, const std::optional<std::vector<uint32_t>>& points,
              Collector& out) {
  for (std::string_view digits : {kLower, kUpper}) {
    auto unit = [&](uint16_t number) {
      return "\\u" +
             hex(std::string{static_cast<char>(number >> 8), static_cast<char>(number)}, digits);
    };
    auto ascii = [&](uint32_t c, bool slash, bool html) -> std::string {
      switch (c) {
        case '"': return "\\\"";
        case '\\': return "\\\\";
        case '\n': return "\\n";
        case '\r': return "\\r";
        case '\t': return "\\t";
        case '\b': return "\\b";
        case '\f': return "\\f";
        case '/': return slash ? "\\/" : "/";
        case '<':
        case '>':
        case '&':
          return html ? unit(static_cast<uint16_t>(c)) : std::string(1, static_cast<char>(c));
        default:
          return c < 0x20 || c == 0x7f ? unit(static_cast<uint16_t>(c))
                                       : std::string(1, static_cast<char>(c));
      }
    };
    for (bool slash : {false, true}) {
      for (bool html : {false, true}) {
        out.add(escaped(value, [&](unsigned char byte) {
          return byte < 0x7f ? ascii(byte, slash, html) : std::string();
        }));
        if (!points) continue;
        std::string text;
        for (uint32_t point : *points) {
          if (point < 0x80)
            text += ascii(point, slash, html);
          else
            for (uint16_t part : utf16({point})) text += unit(part);
        }
        out.add(text);
      }
    }
  }
}

// Quoted for a shell, as a string of Python or C, in XML and HTML.
void add_quoted(std::string_view value, Collector& out) {
  auto replaced = [&](const std::map<char, std::string>& with) {
    out.add(escaped(value, [&](unsigned char byte) {
      auto found = with.find(static_cast<char>(byte));
      return found == with.end() ? std::string() : found->second;
    }));
  };
  replaced({{'\'', "'\\''"}});
  replaced({{'\'', "'\"'\"'"}});
  replaced({{'"', "\\\""}, {'\\', "\\\\"}, {'$', "\\$"}, {'`', "\\`"}});
  replaced({{'\'', "\\'"}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}});
  replaced({{'\\', "\\\\"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}});
  for (const char* quote : {"&#39;", "&#x27;", "&apos;", "'"}) {
    for (const char* doubled : {"&quot;", "&#34;", "\""})
      replaced({{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', doubled}, {'\'', quote}});
  }
  out.add(escaped(value, [](unsigned char byte) {  // printf %q
    bool plain =
        std::isalnum(byte) || byte >= 0x80 ||
        std::string_view("_-./:=@%+,").find(static_cast<char>(byte)) != std::string_view::npos;
    return plain ? std::string() : std::string{'\\', static_cast<char>(byte)};
  }));
}

// base64 of a text has the value at one of three alignments. Only the characters that the value
// alone decides are looked for, and, for the end of a text, the last one with its padding.
void add_base64(std::string_view value, Collector& out) {
  for (size_t shift : {size_t{0}, size_t{1}, size_t{2}}) {
    std::string whole = base64(std::string(shift, '\0') + std::string(value));
    size_t decided = 8 * (shift + value.size()) / 6, skip = shift == 0 ? 0 : shift + 1;
    if (decided < skip + kShortestBase64) continue;
    std::string url = whole;
    for (char& c : url) c = c == '+' ? '-' : c == '/' ? '_' : c;
    for (const std::string& text : {whole, url}) {
      std::string_view part = std::string_view(text).substr(skip);
      size_t padding = text.size() - std::min(text.size(), text.find('='));
      out.add_wrapping(std::string(part.substr(0, decided - skip)));
      if (padding == 0) continue;
      out.add_wrapping(std::string(part.substr(0, part.size() - padding)));
      out.add_wrapping(std::string(part));
    }
  }
}

// As programs on Windows print it, in both byte orders.
void add_utf16(const std::vector<uint32_t>& points, Collector& out) {
  std::string little, big;
  for (uint16_t unit : utf16(points)) {
    char low = static_cast<char>(unit), high = static_cast<char>(unit >> 8);
    little += low, little += high;
    big += high, big += low;
  }
  out.add(little);
  out.add(big);
}

}  // namespace

// Returns all ways in which programs are likely to print the value. Too few would leak, too many
// cost memory for each sandbox.
std::vector<std::string> forms_of(std::string_view value) {
  Collector out;
  if (value.size() < kShortestValue) return {};
  out.add(std::string(value));
  std::optional<std::vector<uint32_t>> points = code_points(value);
  bool needs_escapes = !std::all_of(value.begin(), value.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
  if (needs_escapes) {
    add_url(value, out);
    add_json(value, points, out);
    add_quoted(value, out);
  }
  if (points) add_utf16(*points, out);
  if (value.size() >= kShortestEncoded) {
    out.add_wrapping(hex(value, kLower));
    out.add_wrapping(hex(value, kUpper));
    add_base64(value, out);
    add_base64(std::string(value) + '\n', out);  // echo "$KEY" | base64
  }
  if (value.size() >= kShortestReversed) out.add(std::string(value.rbegin(), value.rend()));
  if (value.find('\n') == value.npos) return std::move(out.forms);
  // A terminal does this.
  out.add(escaped(value, [](unsigned char byte) {
    return byte == '\n' ? std::string("\r\n") : std::string();
  }));
  for (std::string line : split(value, '\n')) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.size() >= kShortestLine) out.add(line);
  }
  return std::move(out.forms);
}

}  // namespace paddock::redact
