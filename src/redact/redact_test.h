// What several tests of redaction need: the rules' own examples, streams that are cut, and a small
// random source.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "base/value.h"
#include "redact/compiled.h"
#include "redact/engine.h"
#include "redact/redact.h"

namespace paddock::redact {

// Deterministic, so that a failure repeats.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2654435761u + 88172645463325252u) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  size_t below(size_t limit) { return static_cast<size_t>((next() >> 11) % limit); }
  std::string of(std::string_view alphabet, size_t length) {
    std::string text;
    while (text.size() < length) text += alphabet[below(alphabet.size())];
    return text;
  }
  template <class List>
  const auto& pick(const List& list) {
    return list[below(list.size())];
  }

 private:
  uint64_t state_;
};

constexpr std::string_view kHex = "0123456789abcdef", kDigits = "0123456789",
                           kSmall = "abcdefghijklmnopqrstuvwxyz",
                           kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                           kAlnum =
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                           kBase64 =
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline std::shared_ptr<const Rules> rules_with(Options options) {
  Result<std::shared_ptr<const Rules>> rules = Rules::compile(options);
  EXPECT_TRUE(rules) << (rules ? "" : rules.error().message);
  return rules ? rules.value() : nullptr;
}

inline std::string in_pieces(const Rules& rules, std::string_view text,
                             const std::vector<size_t>& cuts, Counts* counts = nullptr) {
  Engine engine(rules.compiled());
  std::string out;
  size_t from = 0;
  for (size_t cut : cuts) {
    engine.feed(text.substr(from, cut - from), out);
    from = cut;
  }
  engine.feed(text.substr(from), out);
  engine.finish(out);
  if (counts) *counts = engine.counts();
  return out;
}

inline std::string byte_by_byte(const Rules& rules, std::string_view text) {
  std::vector<size_t> cuts;
  for (size_t i = 1; i < text.size(); ++i) cuts.push_back(i);
  return in_pieces(rules, text, cuts);
}

struct Example {
  std::string kind, text;
  bool is_secret;
  std::string where;
};

// Those of presets/redact, with the marks taken out that hide the true ones from other scanners.
inline std::vector<Example> examples() {
  std::vector<Example> all;
  for (const auto& file :
       std::filesystem::directory_iterator(PADDOCK_SOURCE_DIR "/presets/redact")) {
    if (file.path().extension() != ".toml") continue;
    Value root =
        parse_toml(read_file(file.path().string()).value(), file.path().filename().string())
            .value();
    for (const Value& rule : *root.find("rule")->as_array()) {
      for (const char* list : {"true", "false"}) {
        for (const Value& example : *rule.find(list)->as_array()) {
          std::string text = *example.as_string();
          bool is_secret = std::string_view(list) == "true";
          if (is_secret)
            for (size_t at; (at = text.find("{}")) != text.npos;) text.erase(at, 2);
          all.push_back({*rule.find("kind")->as_string(), text, is_secret,
                         cat(file.path().filename().string(), ":", rule.line)});
        }
      }
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Example& a, const Example& b) { return a.where < b.where; });
  return all;
}

}  // namespace paddock::redact
