#include "schema/ecma.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/text.h"

namespace paddock::schema {

namespace {

// What \s means in JavaScript: more than RE2's own.
constexpr std::string_view kSpaces = "\\t\\n\\x0b\\f\\r\\x{feff}\\x{2028}\\x{2029}\\p{Zs}";
// What kSpaces leaves, for inside a class.
constexpr std::string_view kNotSpaces =
    "\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{"
    "202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"
    "\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
constexpr std::string_view kAnything = "\\x00-\\x{10ffff}";

// The long names of the general categories; RE2 knows the short ones.
constexpr std::pair<std::string_view, std::string_view> kCategories[] = {
    {"Letter", "L"},
    {"Cased_Letter", "LC"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Private_Use", "Co"},
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// One character, or a set such as \w that stands inside a class.
struct Atom {
  std::optional<uint32_t> character;
  std::string set;
};

// Spells a pattern out for RE2. It goes on after something that RE2 cannot do, to tell a pattern
// that is unsupported from one that is no pattern.
class Translator {
 public:
  explicit Translator(std::string_view text) : text_(text) {}

  struct Part {
    std::string re2;
    bool wanted = true;
  };

  Result<std::vector<Part>> run() {
    std::vector<Part> parts;
    if (peek() == '^') parts = TRY(leading_look_aheads());
    has_look_aheads_ = !parts.empty();
    while (!done()) TRY(term());
    if (open_groups_ > 0) return wrong("a '(' without its ')'");
    parts.push_back({std::move(out_)});
    return parts;
  }

  // The first thing that RE2 cannot do.
  const std::string& unsupported() const { return unsupported_; }

 private:
  bool done() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  static Error wrong(std::string_view why) { return Error{Code::invalid, std::string(why), ""}; }

  // Only the first one is reported.
  void refuse(std::string_view what) {
    if (unsupported_.empty()) unsupported_ = what;
  }

  // Every character that could mean something is written as a number.
  static std::string spelled(uint32_t character) {
    if (character < 0x80 &&
        (is_letter(static_cast<char>(character)) || is_digit(static_cast<char>(character))))
      return std::string(1, static_cast<char>(character));
    char text[16];
    std::snprintf(text, sizeof text, "\\x{%x}", character);
    return text;
  }

  // ^(?=a)(?!b)… They look from where the pattern starts and take nothing, so each is a pattern of
  // its own.
  Result<std::vector<Part>> leading_look_aheads() {
    constexpr size_t kMostLookAheads = 4;
    std::vector<Part> parts;
    ++at_;
    while (text_.substr(at_, 3) == "(?=" || text_.substr(at_, 3) == "(?!") {
      if (parts.size() == kMostLookAheads) refuse("so many look-aheads");
      bool wanted = text_[at_ + 2] == '=';
      at_ += 3;
      out_ = "^(?:";
      open_groups_ = 1;
      while (!done() && open_groups_ > 0) TRY(term());
      if (open_groups_ > 0) return wrong("a '(' without its ')'");
      if (text_[at_ - 1] != ')') return wrong("a quantifier behind a look-ahead");
      parts.push_back({std::exchange(out_, ""), wanted});
    }
    out_ = "^";
    return parts;
  }

  // An atom, an assertion or a bracket, with the quantifier after it.
  Result<void> term() {
    if (!TRY(take_quantifier()).empty()) return wrong("nothing stands before a quantifier");
    bool repeatable = TRY(atom());
    std::string quantifier = TRY(take_quantifier());
    if (quantifier.empty()) return {};
    if (!repeatable) return wrong("nothing stands before a quantifier");
    out_ += quantifier;
    if (take("?")) out_ += '?';
    return {};
  }

  // Returns whether a quantifier may follow.
  Result<bool> atom() {
    char c = peek();
    switch (c) {
      case '^':
      case '$':
      case '|':
        if (c == '|' && open_groups_ == 0 && has_look_aheads_)
          refuse("look-around in one of several branches");
        out_ += c;
        ++at_;
        return false;
      case '(': TRY(open_group()); return false;
      case ')':
        if (open_groups_-- == 0) return wrong("a ')' without its '('");
        out_ += c;
        ++at_;
        return true;
      case '.':
        ++at_;
        out_ += "[^\\n\\r\\x{2028}\\x{2029}]";
        return true;
      case '[': TRY(character_class()); return true;
      case '\\':
        if (take("\\b") || take("\\B")) {
          out_ += text_.substr(at_ - 2, 2);
          return false;
        }
        append(TRY(escape(false)));
        return true;
      default: append(Atom{TRY(literal()), ""}); return true;
    }
  }

  void append(const Atom& atom) {
    if (!atom.character)
      out_ += '[' + atom.set + ']';
    else
      out_ += spelled(*atom.character);
  }

  // Groups are made non-capturing: captures cost time, and nobody reads them.
  Result<void> open_group() {
    ++open_groups_;
    if (take("(?:")) {
      out_ += "(?:";
    } else if (take("(?=") || take("(?!") || take("(?<=") || take("(?<!")) {
      refuse("look-around");
      out_ += "(?:";
    } else if (take("(?<")) {
      size_t end = text_.find('>', at_);
      if (end == std::string_view::npos || end == at_)
        return wrong("a group's name without an end");
      at_ = end + 1;
      out_ += "(?:";
    } else if (take("(?")) {
      return wrong("an unknown kind of group");
    } else {
      ++at_;
      out_ += "(?:";
    }
    return {};
  }

  // Empty if none stands here. A brace that begins none is itself, as browsers have it.
  Result<std::string> take_quantifier() {
    for (const char* sign : {"*", "+", "?"})
      if (take(sign)) return std::string(sign);
    if (peek() != '{') return std::string();
    size_t end = at_ + 1;
    while (end < text_.size() && (is_digit(text_[end]) || text_[end] == ',')) ++end;
    std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    size_t comma = inside.find(',');
    bool formed =
        end < text_.size() && text_[end] == '}' && !inside.empty() && comma != 0 &&
        (comma == std::string_view::npos || inside.find(',', comma + 1) == std::string_view::npos);
    if (!formed) return std::string();
    at_ = end + 1;
    std::string_view low = inside.substr(0, comma);
    std::string_view high = comma == std::string_view::npos ? low : inside.substr(comma + 1);
    int least = count(low), most = high.empty() ? 0 : count(high);
    if (!high.empty() && most < least) return wrong("a quantifier whose numbers are out of order");
    if (least > kMostRepeats || most > kMostRepeats) {
      refuse(cat("a count of more than ", kMostRepeats));
      return std::string("*");
    }
    return cat("{", inside, "}");
  }

  // RE2's own bound.
  static constexpr int kMostRepeats = 1000;

  static int count(std::string_view digits) {
    int number = 0;
    bool fits =
        std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc();
    return fits ? number : INT32_MAX;
  }

  // The text has been read as JSON, so it is valid UTF-8; only its end is checked.
  Result<uint32_t> literal() {
    auto byte = [&](size_t i) { return static_cast<unsigned char>(peek(i)); };
    size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
    if (at_ + length > text_.size()) return wrong("not UTF-8");
    uint32_t c = length == 1 ? byte(0) : byte(0) & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; ++i) c = c << 6 | (byte(i) & 0x3f);
    at_ += length;
    return c;
  }

  std::optional<uint32_t> hex(size_t digits) {
    if (at_ + digits > text_.size()) return std::nullopt;
    uint32_t value = 0;
    const char* first = text_.data() + at_;
    if (std::from_chars(first, first + digits, value, 16).ptr != first + digits)
      return std::nullopt;
    at_ += digits;
    return value;
  }

  // A pair of surrogates is one character.
  Result<uint32_t> unicode_escape() {
    if (take("{")) {
      size_t end = std::min(text_.find('}', at_), text_.size());
      std::optional<uint32_t> value =
          end - at_ > 0 && end - at_ <= 8 ? hex(end - at_) : std::nullopt;
      if (!value || *value > 0x10ffff || !take("}"))
        return wrong("\\u{…} without a character's number");
      return *value;
    }
    std::optional<uint32_t> value = hex(4);
    if (!value) return wrong("\\u without four hex digits");
    bool high = *value >= 0xd800 && *value < 0xdc00;
    if (high && peek() == '\\' && peek(1) == 'u') {
      size_t before = at_;
      at_ += 2;
      std::optional<uint32_t> low = hex(4);
      if (low && *low >= 0xdc00 && *low < 0xe000)
        return 0x10000 + ((*value - 0xd800) << 10 | (*low - 0xdc00));
      at_ = before;
    }
    if (*value >= 0xd800 && *value < 0xe000) refuse("half of a surrogate pair");
    return *value;
  }

  // \p{…}: a general category or a script.
  Result<std::string> property(bool negated) {
    size_t end = text_.find('}', at_);
    if (!take("{") || end == std::string_view::npos) return wrong("\\p without {…}");
    std::string_view name = text_.substr(at_, end - at_);
    at_ = end + 1;
    for (std::string_view prefix : {"General_Category=", "gc=", "Script=", "sc="})
      if (starts_with(name, prefix)) name.remove_prefix(prefix.size());
    for (char c : name)
      if (!is_letter(c) && !is_digit(c) && c != '_' && c != '=')
        return wrong("\\p{…} without a property's name");
    if (name.empty()) return wrong("\\p{…} without a property's name");
    if (negated && (name == "Any" || name == "LC" || name == "Cased_Letter"))
      refuse(cat("\\P{", name, "}"));
    if (name == "Any") return std::string(kAnything);
    if (name == "ASCII") return std::string(negated ? "\\x{80}-\\x{10ffff}" : "\\x00-\\x7f");
    for (const auto& [known, brief] : kCategories)
      if (known == name) name = brief;
    if (name == "LC") return std::string("\\p{Lu}\\p{Ll}\\p{Lt}");
    return cat(negated ? "\\P{" : "\\p{", name, "}");
  }

  // Unknown letters are errors under the u flag.
  Result<Atom> escape(bool in_class) {
    ++at_;
    if (done()) return wrong("a '\\' at the end");
    char c = text_[at_];
    if (static_cast<unsigned char>(c) >= 0x80) return Atom{TRY(literal()), ""};
    ++at_;
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W': return Atom{{}, cat("\\", c)};
      case 's': return Atom{{}, std::string(kSpaces)};
      case 'S': return Atom{{}, std::string(kNotSpaces)};
      case 'p':
      case 'P': return Atom{{}, TRY(property(c == 'P'))};
      case 't': return Atom{'\t', ""};
      case 'n': return Atom{'\n', ""};
      case 'v': return Atom{'\v', ""};
      case 'f': return Atom{'\f', ""};
      case 'r': return Atom{'\r', ""};
      case 'u': return Atom{TRY(unicode_escape()), ""};
      case 'x': {
        std::optional<uint32_t> value = hex(2);
        if (!value) return wrong("\\x without two hex digits");
        return Atom{*value, ""};
      }
      case 'c':
        if (!is_letter(peek())) return wrong("\\c without a letter");
        return Atom{static_cast<uint32_t>(text_[at_++]) % 32, ""};
      case '0':
        if (is_digit(peek())) return wrong("an octal escape");
        return Atom{0, ""};
      case 'b':
        if (in_class) return Atom{'\b', ""};
        break;
      case 'k': refuse("a back reference"); return Atom{'k', ""};
      default: break;
    }
    if (is_digit(c)) {
      if (in_class) return wrong("an octal escape");
      while (is_digit(peek())) ++at_;
      refuse("a back reference");
      return Atom{0, ""};
    }
    if (is_letter(c)) return wrong(cat("the unknown escape \\", c));
    return Atom{static_cast<uint32_t>(c), ""};
  }

  Result<Atom> class_atom() {
    if (peek() == '\\') return escape(true);
    return Atom{TRY(literal()), ""};
  }

  // An empty class matches nothing, and its negation everything, which RE2 has no form for.
  Result<void> character_class() {
    ++at_;
    bool negated = take("^");
    std::string inside;
    while (!done() && peek() != ']') {
      Atom first = TRY(class_atom());
      bool range = peek() == '-' && peek(1) != ']' && at_ + 1 < text_.size();
      if (!range || !first.character) {
        inside += first.character ? spelled(*first.character) : first.set;
        continue;
      }
      ++at_;
      Atom last = TRY(class_atom());
      if (!last.character) {  // [a-\d]: the dash is itself
        inside += spelled(*first.character) + "\\x2d" + last.set;
        continue;
      }
      if (*last.character < *first.character) return wrong("a range out of order");
      inside += spelled(*first.character) + "-" + spelled(*last.character);
    }
    if (!take("]")) return wrong("a '[' without its ']'");
    if (inside.empty()) {
      negated = !negated;
      inside = kAnything;
    }
    out_ += cat(negated ? "[^" : "[", inside, "]");
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t open_groups_ = 0;
  // At the start of the pattern.
  bool has_look_aheads_ = false;
  std::string out_;
  std::string unsupported_;
};

}  // namespace

// Says whether the pattern is wrong, or merely not supported here; the two need different fixes.
Result<EcmaPattern> EcmaPattern::compile(const std::string& text) {
  Translator translator(text);
  Result<std::vector<Translator::Part>> parts = translator.run();
  std::string shown = printable(std::string_view(text).substr(0, 100));
  if (!parts)
    return Error{Code::invalid,
                 cat("'", shown, "' is no regular expression: ", parts.error().message), ""};
  const char* hint = "patterns are matched in linear time; write this one without";
  if (!translator.unsupported().empty())
    return Error{Code::unsupported,
                 cat("'", shown, "' has ", translator.unsupported(), ", which is not held here"),
                 hint};
  EcmaPattern out;
  for (const Translator::Part& part : parts.value()) {
    Result<Pattern> compiled = Pattern::compile(part.re2, false);
    if (!compiled)
      return Error{Code::unsupported, cat("'", shown, "' is not held here: RE2 does not take it"),
                   "it may be too large, or name a property of Unicode that is not known"};
    out.parts_.push_back({compiled.value(), part.wanted});
  }
  return out;
}

bool EcmaPattern::matches(std::string_view text) const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [&](const Part& part) { return part.pattern.matches(text) == part.wanted; });
}

size_t EcmaPattern::cost(std::string_view text) const {
  size_t sum = 0;
  for (const Part& part : parts_) sum += part.pattern.cost(text);
  return sum;
}

bool is_ecma_pattern(std::string_view text) { return static_cast<bool>(Translator(text).run()); }

}  // namespace paddock::schema
