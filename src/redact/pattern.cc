// The grammar: text → alternatives, each a row of elements.
#include "redact/pattern.h"

#include <cctype>

#include "base/text.h"
#include "redact/elements.h"

namespace paddock::redact {
namespace {

// Bounds on what a pattern may expand to, because groups are multiplied out.
constexpr size_t kAlternatives = 128;
constexpr int kRepeat = 500;

// Both ends inclusive.
ByteSet range(int first, int last) {
  ByteSet set;
  for (int byte = first; byte <= last; ++byte) set.set(static_cast<size_t>(byte));
  return set;
}

ByteSet word_bytes() {
  return range('a', 'z') | range('A', 'Z') | range('0', '9') | range('_', '_');
}

// A small grammar on purpose: everything in it runs in linear time, byte by byte, on a stream that
// never ends.
class Parser {
 public:
  Parser(std::string_view text, size_t budget) : text_(text), budget_(budget) {}

  // Guards for the byte in front and after stand at the ends only.
  Result<ParsedPattern> parse() {
    ignore_case_ = take("(?i)");
    if (take("\\b")) {
      pattern_.before = ~word_bytes();
    } else if (take("(?<!")) {
      pattern_.before = ~TRY(guard());
    }
    pattern_.alternatives = TRY(sequence(0));
    if (take("\\b")) {
      pattern_.after = ~word_bytes();
    } else if (take("(?!")) {
      pattern_.after = ~TRY(guard());
    } else if (take("(?=")) {
      pattern_.after = TRY(guard());
      pattern_.needs_end_byte = true;
    }
    if (at_ < text_.size()) {
      if (peek() == ')') return wrong("there is no group to close here");
      if (peek() == '|') return wrong("alternatives stand in a group: (?:a|b)");
      return wrong("'\\b', '(?!…)' and '(?=…)' stand at the end only");
    }
    return std::move(pattern_);
  }

 private:
  using Rows = std::vector<std::vector<Element>>;

  // Names the byte, counted from 1, for people who edit the pattern.
  Error wrong(std::string_view why) const {
    return {Code::invalid, cat("pattern, byte ", at_ + 1, ": ", why),
            "docs/redaction.md has the grammar"};
  }
  bool more() const { return at_ < text_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  // Whether what stands here ends the pattern's own row of elements.
  bool at_guard() const {
    std::string_view rest = text_.substr(at_);
    return starts_with(rest, "\\b") || starts_with(rest, "(?!") || starts_with(rest, "(?=");
  }

  // Everything up to '|', ')' or a guard, as alternatives.
  Result<Rows> sequence(int depth) {
    Rows rows{{}};
    while (more() && peek() != '|' && peek() != ')' && !at_guard()) {
      if (take("\\K")) {
        if (depth) return wrong("'\\K' cannot stand in a group");
        if (pattern_.has_value_mark) return wrong("there is a '\\K' already");
        pattern_.has_value_mark = true;
        for (auto& row : rows) row.push_back({.mark = true});
        continue;
      }
      Rows next = TRY(peek() == '(' ? group(depth) : element());
      if (rows.size() * next.size() > kAlternatives)
        return wrong(cat("its groups make more than ", kAlternatives, " alternatives"));
      if (next.size() == 1) {  // most are: no copies
        for (auto& row : rows) {
          row.insert(row.end(), next[0].begin(), next[0].end());
          if (row.size() > kRepeat) return wrong("it is too long");
        }
        TRY(afford(rows));
        continue;
      }
      Rows product;
      for (const auto& row : rows) {
        for (const auto& tail : next) {
          product.push_back(row);
          product.back().insert(product.back().end(), tail.begin(), tail.end());
          if (product.back().size() > kRepeat) return wrong("it is too long");
        }
      }
      rows = std::move(product);
      TRY(afford(rows));
    }
    return rows;
  }

  // Checked while it grows, so that a small pattern cannot use much memory.
  Result<void> afford(const Rows& rows) const {
    size_t elements = 0;
    for (const auto& row : rows) elements += row.size();
    if (elements > budget_)
      return wrong(cat("with its groups multiplied out it has more than ", budget_, " places"));
    return {};
  }

  // A repeated group is written out as often as it may occur.
  Result<Rows> group(int depth) {
    if (!take("(?:")) return wrong("a group is written (?:…); there are no other kinds here");
    if (depth >= 4) return wrong("groups are nested too deep");
    Rows rows;
    do {
      Rows more_rows = TRY(sequence(depth + 1));
      rows.insert(rows.end(), more_rows.begin(), more_rows.end());
      if (rows.size() > kAlternatives)
        return wrong(cat("its groups make more than ", kAlternatives, " alternatives"));
      if (at_guard()) return wrong("'\\b', '(?!…)' and '(?=…)' stand at the end only");
    } while (take("|"));
    if (!take(")")) return wrong("')' is missing");
    int least = 1, most = 1;
    TRY(quantifier(least, most));
    if (most < 0) return wrong("a group cannot be repeated without an end; only one element can");
    Rows all;
    Rows times{{}};
    for (int count = 0;; ++count) {
      if (count >= least) all.insert(all.end(), times.begin(), times.end());
      if (count == most) return all;
      Rows longer;
      for (const auto& row : times) {
        for (const auto& tail : rows) {
          longer.push_back(row);
          longer.back().insert(longer.back().end(), tail.begin(), tail.end());
          if (longer.back().size() > kRepeat) return wrong("it is too long");
        }
      }
      if (all.size() + longer.size() > kAlternatives)
        return wrong(cat("its groups make more than ", kAlternatives, " alternatives"));
      times = std::move(longer);
      TRY(afford(times));
    }
  }

  // A character outside ASCII is several bytes, so a quantifier would only repeat the last one.
  Result<Rows> element() {
    Element element;
    bool is_ascii = static_cast<unsigned char>(peek()) < 0x80;
    element.set = TRY(one_set());
    size_t here = at_;
    TRY(quantifier(element.least, element.most));
    if (!is_ascii && at_ != here)
      return wrong(
          "a character outside ASCII is several bytes and cannot be repeated; put it in a group");
    return Rows{{element}};
  }

  // Anchors are refused by name, because writers of regular expressions expect them.
  Result<ByteSet> one_set() {
    char c = peek();
    if (c == '[') return bracket();
    if (c == '.') {
      ++at_;
      return ~range('\n', '\n');
    }
    if (c == '^' || c == '$')
      return wrong("'^' and '$' are not known here: text comes in pieces, not in lines");
    if (c == '*' || c == '+' || c == '?' || c == '{')
      return wrong("there is nothing to repeat here");
    if (c == ']' || c == '}') return wrong("write '\\' in front of a bracket that means itself");
    if (c == '\\') return escape();
    ++at_;
    return folded(range(static_cast<unsigned char>(c), static_cast<unsigned char>(c)));
  }

  // Letters and digits that are not known are errors, so that they can get a meaning later.
  Result<ByteSet> escape() {
    ++at_;
    if (!more()) return wrong("'\\' stands at the end");
    char c = text_[at_++];
    switch (c) {
      case 'd': return range('0', '9');
      case 'w': return word_bytes();
      case 's': return range('\t', '\r') | range(' ', ' ');
      case 'h': return range('0', '9') | range('a', 'f') | range('A', 'F');
      case 'n': return range('\n', '\n');
      case 'r': return range('\r', '\r');
      case 't': return range('\t', '\t');
      case 'x': {
        int byte = 0;
        for (int i = 0; i < 2; ++i) {
          char digit = peek();
          if (!std::isxdigit(static_cast<unsigned char>(digit)))
            return wrong("'\\x' takes two hex digits");
          byte = byte * 16 + (digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
          ++at_;
        }
        return range(byte, byte);
      }
      default: break;
    }
    if (std::isalnum(static_cast<unsigned char>(c))) {
      --at_;
      return wrong(cat("'\\", c, "' is not known here"));
    }
    return range(static_cast<unsigned char>(c), static_cast<unsigned char>(c));
  }

  // As in regular expressions: a ']' in front, or a '-' at the end, means itself.
  Result<ByteSet> bracket() {
    size_t opened = at_;
    ++at_;
    bool negated = take("^");
    ByteSet set;
    bool first = true;
    while (first || peek() != ']') {
      if (!more()) {
        at_ = opened;
        return wrong("']' is missing");
      }
      if (static_cast<unsigned char>(peek()) >= 0x80)
        return wrong("a class is of bytes: write \\xNN for what is not ASCII");
      first = false;
      char low = peek();
      ByteSet item;
      if (low == '\\') {
        item = TRY(escape());
      } else {
        ++at_;
        item = range(low, low);
      }
      if (peek() == '-' && peek(1) != ']' && at_ + 1 < text_.size() && item.count() == 1) {
        ++at_;
        ByteSet end = range(static_cast<unsigned char>(peek()), static_cast<unsigned char>(peek()));
        if (peek() == '\\')
          end = TRY(escape());
        else
          ++at_;
        if (end.count() != 1 || end._Find_first() < item._Find_first())
          return wrong("this range goes backwards");
        item = range(static_cast<int>(item._Find_first()), static_cast<int>(end._Find_first()));
      }
      set |= item;
    }
    ++at_;
    set = folded(set);
    return negated ? ~set : set;
  }

  // For (?i): adds the other case of each letter. Other bytes have no case here.
  ByteSet folded(ByteSet set) const {
    if (!ignore_case_) return set;
    for (size_t byte = 'a'; byte <= 'z'; ++byte)
      if (set[byte] || set[byte - 32]) set.set(byte), set.set(byte - 32);
    return set;
  }

  // Lazy and possessive forms are refused: all matches count here.
  Result<void> quantifier(int& least, int& most) {
    if (take("?")) {
      least = 0;
    } else if (take("+")) {
      most = -1;
    } else if (take("*")) {
      least = 0;
      most = -1;
    } else if (take("{")) {
      least = TRY(number());
      most = least;
      if (take(",")) most = peek() == '}' ? -1 : TRY(number());
      if (!take("}")) return wrong("'}' is missing");
      if (most >= 0 && most < least) return wrong("the second number is smaller than the first");
    } else {
      return {};
    }
    if (peek() == '?' || peek() == '*' || peek() == '+' || peek() == '{')
      return wrong("it is repeated already");
    return {};
  }

  Result<int> number() {
    int value = 0;
    if (!std::isdigit(static_cast<unsigned char>(peek()))) return wrong("a number is missing");
    while (std::isdigit(static_cast<unsigned char>(peek()))) {
      value = value * 10 + (text_[at_++] - '0');
      if (value > kRepeat) return wrong(cat("more than ", kRepeat, " times"));
    }
    return value;
  }

  // What stands in (?!…) and its like: one set, and the ')'.
  Result<ByteSet> guard() {
    if (!more()) return wrong("a byte or a class is missing");
    ByteSet set = TRY(one_set());
    if (!take(")")) return wrong("')' is missing: one byte or class can stand here");
    return set;
  }

  std::string_view text_;
  size_t budget_;
  size_t at_ = 0;
  bool ignore_case_ = false;
  ParsedPattern pattern_;
};

}  // namespace

Result<ParsedPattern> parse_pattern(std::string_view text, size_t budget) {
  return Parser(text, budget).parse();
}

}  // namespace paddock::redact
