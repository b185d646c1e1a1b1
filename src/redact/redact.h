// Takes secrets out of text that goes back to an agent or into a record: known values in the forms
// in which programs print them, and what looks like a secret of a common kind. Linear time on any
// input; docs/redaction.md says what is found and what is not.
//
//   std::shared_ptr<const Rules> rules = TRY(Rules::compile({.secrets = {{"API_KEY", "…"}}}));
//   Stream stream(rules);      // one for each stream of bytes: stdout, stderr, a terminal
//   stream.feed(chunk, out);   // appends what may be shown now
//   stream.finish(out);
//
// Rules are compiled once. Only what could still become a secret is held back.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "paddock/error.h"

namespace paddock::redact {

struct Secret {
  // Shown as [redacted:NAME].
  std::string name, value;
};
struct Pattern {
  std::string name, pattern;
};

struct Options {
  // Values shorter than four bytes would hit ordinary text and are left alone.
  std::vector<Secret> secrets;
  // Kinds of kinds() that are not looked for.
  std::set<std::string> skip;
  // docs/redaction.md has their grammar.
  std::vector<Pattern> custom;
};

// By kind, or by the name of a known value.
using Counts = std::map<std::string, uint64_t>;
uint64_t total(const Counts& counts);

// Immutable and shared by all streams.
class Rules {
 public:
  static Result<std::shared_ptr<const Rules>> compile(const Options& options);
  // The built-in patterns alone, compiled once.
  static std::shared_ptr<const Rules> common();
  ~Rules();
  struct Compiled;
  const Compiled& compiled() const { return *compiled_; }

 private:
  explicit Rules(std::unique_ptr<const Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

// Whether a custom pattern can be used; the error says where in it and why not.
Result<void> check_pattern(std::string_view pattern);

struct KindInfo {
  std::string name, what, source;
};

// The built-in ones.
const std::vector<KindInfo>& kinds();

class Stream {
 public:
  explicit Stream(std::shared_ptr<const Rules> rules);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();
  void feed(std::string_view chunk, std::string& out);
  // For a terminal when nothing came for a moment (some 20 ms) and holds(): shows at most the first
  // three bytes of what could become a secret, so that a letter that was typed is echoed before the
  // next one. Not for anything else.
  void idle(std::string& out);
  bool holds() const;
  void finish(std::string& out);
  const Counts& counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string redacted(const Rules& rules, std::string_view text, Counts* counts = nullptr);
Value redacted_value(const Rules& rules, const Value& value, Counts* counts);
// Every text in it, keys too. A Value only: a text would become one, too.
template <std::same_as<Value> Tree>
Value redacted(const Rules& rules, const Tree& value, Counts* counts = nullptr) {
  return redacted_value(rules, value, counts);
}

// Whether a variable seems to hold a secret, by its name or by what its value looks like. Says why:
// "its name says so", "it looks like a github-token"; empty: no.
std::string looks_secret(std::string_view name, std::string_view value);

}  // namespace paddock::redact
