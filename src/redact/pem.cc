#include "redact/pem.h"

#include <cctype>
#include <string_view>

#include "redact/thread.h"

namespace paddock::redact {
namespace {

bool is_space(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
// Base64, and what the ends of lines and some of its characters become in JSON and in addresses: \n
// \/ \u002b %0A %2B.
bool is_run(unsigned char byte) {
  return std::isalnum(byte) || byte == '+' || byte == '/' || byte == '=' || byte == '\\' ||
         byte == '%';
}

}  // namespace

// What was run through so far is certainly part of the key.
void KeyBody::accept() {
  if (!joined_) start_ = mark_;
  joined_ = true;
  certain_ = at_;
  lines_ = 0;
}

// Returns false when the key is over, or too long to be one.
bool KeyBody::step(unsigned char byte) {
  if (at_ - first_ >= kLongest || (in_ != In::run && at_ - certain_ >= kFarthest)) return false;
  if (in_ == In::footer) return in_footer(byte);
  if (in_ != In::run || !is_run(byte)) return between(byte);
  last_ = byte;
  ++at_;
  if (at_ - mark_ < (has_body_ ? kRun : kFirstRun)) return true;
  has_body_ = true;
  accept();
  return true;
}

// A line that is too short is the last one, or none of the key.
void KeyBody::end_run(unsigned char byte) {
  bool is_line = certain_ == at_;
  if (!is_line && has_body_ &&
      ((joined_ && !has_short_ && (byte == '\n' || byte == '\r')) ||
       (last_ == '=' && at_ - mark_ >= 4))) {
    has_short_ = is_line = true;
    accept();
  }
  in_ = is_line ? In::gap : In::text;
}

// Text between two lines of a key, such as the marks of a diff, stays as it is.
bool KeyBody::between(unsigned char byte) {
  if (in_ == In::run) end_run(byte);
  if (is_run(byte) || byte == '-') {
    joined_ = in_ == In::gap;
    in_ = byte == '-' ? In::footer : In::run;
    mark_ = at_;
    footer_ = 1;
    last_ = byte;
  } else if (!is_space(byte) || at_ - certain_ >= kLongestGap) {
    in_ = In::text;
  }
  if (byte == '\n' && in_ == In::text && has_body_ && ++lines_ >= kLines) return false;
  ++at_;
  return true;
}

// The footer may be cut by marks as well. What only looks like one is ordinary text.
bool KeyBody::in_footer(unsigned char byte) {
  constexpr std::string_view kWord = "-----END";
  constexpr unsigned kDashes = 5;
  bool fits = footer_ < kWord.size() ? byte == static_cast<unsigned char>(kWord[footer_])
                                     : byte == '-' || byte == ' ' || byte == '+' || byte == '%' ||
                                           std::isupper(byte) || std::isdigit(byte);
  if (footer_ == kDashes && byte == '-') {  // of a diff that takes the line away
    joined_ = false;
    ++mark_;
    ++at_;
    return true;
  }
  if (!fits || at_ - mark_ >= kLongestFooter) {
    in_ = In::text;
    return between(byte);
  }
  ++at_;
  if (footer_ < kWord.size() || byte == '-') ++footer_;
  if (footer_ < kWord.size() + kDashes) return true;
  accept();
  return false;
}

// A run that may still become part of the key must not be shown.
uint64_t KeyBody::hold() const {
  if (in_ == In::text) return kNowhere;
  return joined_ || in_ == In::gap ? certain_ : mark_;
}

// A last line may be shorter than the others.
void KeyBody::finish() {
  if (in_ == In::run && (has_body_ || (joined_ && at_ - mark_ >= kRun))) accept();
}

}  // namespace paddock::redact
