// A strict JSON reader. Hand-written because policies and tool calls cross a trust boundary here,
// and because messages name the line. Fuzzed in tests/fuzz.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/peer_json.h"
#include "base/text.h"
#include "base/value.h"

namespace paddock {

namespace {

// Bounds the recursion, and with it the stack, for texts from outside.
constexpr int kMaxDepth = 64;

// A recursive descent over the text. Every error names the line.
class Reader {
 public:
  Reader(std::string_view text, const std::string& name, bool of_a_peer)
      : text_(text), name_(name), of_a_peer_(of_a_peer) {}

  // UTF-8 is checked once for the whole text, so that no step below has to.
  Result<Value> document() {
    bool invalid_utf8 = false;
    (void)to_utf8(text_, &invalid_utf8);
    if (invalid_utf8) return fail("not valid UTF-8");
    Value value = TRY(read_value(0));
    skip_space();
    if (at_ < text_.size()) return fail("text after the end of the value");
    return value;
  }

 private:
  // All messages begin with the name of the text and the line.
  Error fail(std::string_view why) const {
    return Error{Code::invalid, cat(name_, ":", line_, ": ", why), ""};
  }

  void skip_space() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n') ++line_;
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
      ++at_;
    }
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  // Remembers the line, which messages about a value show later.
  Result<Value> read_value(int depth) {
    if (depth > kMaxDepth) return fail("nested too deeply");
    if (++values_ > kMostPeerValues && of_a_peer_)
      return fail(cat("more than ", kMostPeerValues, " values"));
    skip_space();
    int line = line_;
    Value value = TRY(read_bare_value(depth));
    value.line = line;
    return value;
  }

  Result<Value> read_bare_value(int depth) {
    if (at_ >= text_.size()) return fail("the text ends where a value should stand");
    char c = text_[at_];
    if (c == '{') return read_object(depth);
    if (c == '[') return read_array(depth);
    if (c == '"') return Value(TRY(read_string()));
    if (c == '-' || (c >= '0' && c <= '9')) return read_number();
    if (take_word("true")) return Value(true);
    if (take_word("false")) return Value(false);
    if (take_word("null")) return Value();
    return fail("not a JSON value");
  }

  Result<Value> read_object(int depth) {
    ++at_;
    Value::Object object;
    std::set<std::string> keys;  // of a large object; a few are compared one by one
    skip_space();
    if (take('}')) return Value(std::move(object));
    while (true) {
      skip_space();
      if (at_ >= text_.size() || text_[at_] != '"')
        return fail("a key in double quotes should stand here");
      std::string key = TRY(read_string());
      if (is_known(key, object, keys))
        return fail(cat("the key '", printable(key), "' stands here twice"));
      skip_space();
      if (!take(':')) return fail("':' is missing after a key");
      object.emplace_back(std::move(key), TRY(read_value(depth + 1)));
      skip_space();
      if (take('}')) return Value(std::move(object));
      if (!take(',')) return fail("',' or '}' should stand here");
    }
  }

  // Ordered, not hashed: keys that were chosen to collide must not make this slow.
  static bool is_known(const std::string& key, const Value::Object& object,
                       std::set<std::string>& keys) {
    constexpr size_t kFew = 12;
    if (object.size() < kFew)
      return std::any_of(object.begin(), object.end(),
                         [&](const Value::Member& member) { return member.first == key; });
    if (keys.empty())
      for (const Value::Member& member : object) keys.insert(member.first);
    return !keys.insert(key).second;
  }

  Result<Value> read_array(int depth) {
    ++at_;
    Value::Array array;
    skip_space();
    if (take(']')) return Value(std::move(array));
    while (true) {
      array.push_back(TRY(read_value(depth + 1)));
      skip_space();
      if (take(']')) return Value(std::move(array));
      if (!take(',')) return fail("',' or ']' should stand here");
    }
  }

  // RFC 8259 numbers: no leading zero, no bare point. Integers that do not fit 64 bits become
  // doubles, and so does -0, whose sign would be lost. A number that is too large for a double, or
  // so small that nothing would be left of it, is refused.
  Result<Value> read_number() {
    size_t start = at_;
    auto digits = [&] {
      size_t first = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      return at_ - first;
    };
    (void)take('-');
    bool leading_zero = at_ < text_.size() && text_[at_] == '0';
    size_t whole = digits();
    if (whole == 0 || (leading_zero && whole > 1)) return fail("not a JSON number");
    bool integer = true;
    if (take('.')) {
      integer = false;
      if (digits() == 0) return fail("not a JSON number");
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      integer = false;
      ++at_;
      if (!take('+')) (void)take('-');
      if (digits() == 0) return fail("not a JSON number");
    }
    const char* first = text_.data() + start;
    const char* last = text_.data() + at_;
    int64_t whole_number = 0;
    bool fits = integer && std::from_chars(first, last, whole_number).ec == std::errc();
    if (fits && (whole_number != 0 || *first != '-')) return Value(whole_number);
    double number = 0;
    if (std::from_chars(first, last, number).ec != std::errc() || !std::isfinite(number))
      return fail("a number out of range");
    if (of_a_peer_ && integer && !fits && !is_kept({first, last}, number))
      return fail("a whole number beyond 64 bits, which would be changed: send it as a string");
    return Value(number);
  }

  // Whether the number is written with these digits again: 1e20 is, 2^64 is not.
  static bool is_kept(std::string_view digits, double number) {
    char written[64];
    std::string_view again(written, std::to_chars(written, written + sizeof written, number,
                                                  std::chars_format::scientific)
                                            .ptr -
                                        written);
    std::string kept(again.substr(0, again.find('e')));
    std::erase(kept, '.');
    return digits.substr(0, kept.size()) == kept &&
           digits.find_first_not_of('0', kept.size()) == std::string_view::npos;
  }

  Result<std::string> read_string() {
    ++at_;
    std::string out;
    while (at_ < text_.size()) {
      char c = text_[at_++];
      if (c == '"') return out;
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control character inside a string");
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ >= text_.size()) break;
      switch (text_[at_++]) {
        case '"': out += '"'; break;
        case '\\': out += '\\'; break;
        case '/': out += '/'; break;
        case 'b': out += '\b'; break;
        case 'f': out += '\f'; break;
        case 'n': out += '\n'; break;
        case 'r': out += '\r'; break;
        case 't': out += '\t'; break;
        case 'u': append_utf8(TRY(read_escaped_code_point()), out); break;
        default: return fail("an unknown escape inside a string");
      }
    }
    return fail("a string without an end");
  }

  Result<uint32_t> read_hex4() {
    uint32_t value = 0;
    if (at_ + 4 > text_.size()) return fail("a \\u escape needs four hex digits");
    auto [end, failed] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, value, 16);
    if (failed != std::errc() || end != text_.data() + at_ + 4)
      return fail("a \\u escape needs four hex digits");
    at_ += 4;
    return value;
  }

  // Code points above U+FFFF are written as two escapes, a surrogate pair. Half of one is refused.
  Result<uint32_t> read_escaped_code_point() {
    uint32_t high = TRY(read_hex4());
    if (high >= 0xdc00 && high <= 0xdfff) return fail("half of a surrogate pair");
    if (high < 0xd800 || high > 0xdbff) return high;
    if (!take_word("\\u")) return fail("half of a surrogate pair");
    uint32_t low = TRY(read_hex4());
    if (low < 0xdc00 || low > 0xdfff) return fail("half of a surrogate pair");
    return 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
  }

  static void append_utf8(uint32_t c, std::string& out) {
    auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) return put(c);
    if (c < 0x800) return put(0xc0 | c >> 6), put(0x80 | (c & 63));
    if (c < 0x10000) return put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 63)), put(0x80 | (c >> 6 & 63)),
        put(0x80 | (c & 63));
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
  int line_ = 1;
  bool of_a_peer_;
  size_t values_ = 0;
};

}  // namespace

Result<Value> parse_json(std::string_view text, const std::string& name) {
  return Reader(text, name, false).document();
}
Result<Value> parse_peer_json(std::string_view text, const std::string& name) {
  return Reader(text, name, true).document();
}

}  // namespace paddock
