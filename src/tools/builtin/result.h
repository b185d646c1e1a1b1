// Results of the built-in tools: text for the model, and the same as data for programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "base/value_edit.h"
#include "manager/sandbox.h"
#include "tools/provider.h"

namespace paddock::tools::builtin {

struct ToolReport {
  std::string text;
  // An object. It becomes structuredContent.
  Value data;
  bool is_error = false;
  // Further content, such as pictures and documents.
  Value::Array more{};
  // They are put before the text, and into the data.
  std::vector<std::string> notes{};
};
Value to_result(ToolReport report);

// Why a call could not be made at all: the message, and what to do.
Value refusal(const Error& error);

// As much of a program's output as a model should read: the beginning and the end.
class OutputExcerpt {
 public:
  explicit OutputExcerpt(size_t most) : half_(most / 2) {}
  void add(std::string_view bytes);
  // UTF-8, with a remark where something is left out.
  std::string text() const;
  uint64_t bytes() const { return bytes_; }
  uint64_t lines() const { return lines_; }
  // Sets NAME, NAME_bytes and NAME_truncated.
  void put(const char* name, Value& into) const;

 private:
  size_t half_;
  std::string head_, tail_;
  uint64_t bytes_ = 0, lines_ = 0;
};

// How it ended in words, from the outcome as `paddock run --json` has it: "exit code 1", "stopped
// by the limit memory: …".
std::string outcome_words(const Value& outcome);
bool is_limit(const Value& outcome);

// Colours and cursor movements of terminals taken out.
std::string without_escapes(std::string_view text);

// Denials of the sandbox's network that were logged since `mark`.
uint64_t network_mark(const manager::Sandbox& sandbox);
std::vector<Value> network_denials(const manager::Sandbox& sandbox, uint64_t mark, size_t most);
bool has_network(const manager::Sandbox& sandbox);
// Adds "network_denials" to data and what to do about them to the notes; `said` is what the program
// printed, which may sound like a network that is not there.
void tell_network(const manager::Sandbox& sandbox, uint64_t mark, std::string_view said,
                  ToolReport& report);

}  // namespace paddock::tools::builtin
