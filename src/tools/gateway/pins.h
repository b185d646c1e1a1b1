// What a server behind the gateway offered when it was first seen, or was accepted later:
// docs/formats/pins.md. A change is withheld until somebody accepts it. One file per server in the
// state directory, so that `paddock mcp accept` reaches a running gateway.
//
//   Pins pins = TRY(Pins::open(state_directory));
//   // First sight pins. Later it compares, and keeps what is pending.
//   Result<Verdict> verdict = pins.see("files", snapshot);
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/value_edit.h"
#include "paddock/error.h"

namespace paddock::tools {

// Hex SHA-256 of the definition as JSON, whatever the order of its members.
std::string definition_hash(const Value& definition);

// What a server shows of itself.
struct Snapshot {
  // {"command":[…]} or {"url":…}, and "name": what it calls itself.
  Value identity;
  std::string instructions;
  // Whole definitions, by the server's own names.
  std::map<std::string, Value> tools, prompts;
};

struct PinChange {
  enum class Kind : uint8_t { server, instructions, tool, prompt } kind = Kind::tool;
  // The name of a tool or prompt. Empty for the server and its instructions.
  std::string name;
  // "new", "changed: description, inputSchema" or "removed".
  std::string what;
  // The hash of what is pending. Empty when it is removed.
  std::string hash;
  // Definitions. Null where there is none.
  Value before, after;

  // For people: it holds the server's words. Takes a while when they are long.
  std::string diff() const;
};
constexpr const char* kPinKinds[] = {"server", "instructions", "tool", "prompt"};
inline const char* to_string(PinChange::Kind kind) { return kPinKinds[static_cast<size_t>(kind)]; }
Value to_value(const PinChange& change);

// What of a snapshot must not be used.
struct Verdict {
  // Why nothing of it may be: it is not the server that was pinned. Empty: see below.
  std::string all;
  std::map<std::string, PinChange> tools, prompts;
  std::optional<PinChange> instructions;
  std::vector<PinChange> removed;
  bool first_sight = false;
};

struct Pin {
  std::string hash, since;
  Value definition;
  bool operator==(const Pin&) const = default;
};
Value to_field(const Pin& pin);
bool from_field(const Value& value, Pin& pin);

// The pins of one identity. A server whose command or URL in the policy differs has another set.
struct PinSet {
  Value identity;
  bool accepted = false;
  std::string since;
  std::string instructions;
  std::map<std::string, Pin> tools, prompts;
  std::optional<std::string> pending_instructions;
  std::map<std::string, Pin> pending_tools, pending_prompts;

  // Lists what is pending.
  std::vector<PinChange> changes() const;
};
Value to_value(const PinSet& set);
Result<PinSet> pin_set_of(const Value& value);
PinChange change_between(PinChange::Kind kind, const std::string& name, const Value& before,
                         const Value& after);

class Pins {
 public:
  static Result<Pins> open(const std::string& state_directory);

  // Compares the snapshot with what is pinned, and pins it if the server is seen for the first
  // time.
  Result<Verdict> see(const std::string& server, const Snapshot& snapshot) const;

  Result<std::vector<std::string>> servers() const;
  Result<std::vector<PinSet>> read(const std::string& server) const;  // Code::not_found
  // What is pending, all of it or what is named: "read_file", or "read_file=HASH" to take only what
  // has that hash (12 digits or more of it). Says what was accepted. Code::conflict: it has another
  // hash.
  Result<std::vector<PinChange>> accept(const std::string& server,
                                        const std::vector<std::string>& wanted) const;
  // The next snapshot is trusted again as the first one was.
  Result<void> forget(const std::string& server) const;
  // Differs after each change of the file.
  std::string stamp(const std::string& server) const;

 private:
  explicit Pins(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

}  // namespace paddock::tools
