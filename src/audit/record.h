// One record is one line: a body, and after it the SHA-256 of exactly these bytes.
// docs/formats/audit.md has the format.
//
//   {"seq":7,"time":"…","kind":"…",…,"data":{…},"prev":"<64 hex>","hash":"<64 hex>"}
//
// The body ends before ,"hash"; "prev" is the hash of record 6.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/event.h"

namespace paddock::audit {

inline constexpr size_t kMostRecord = 64 << 10;  // bytes of a line
inline constexpr std::string_view kNoHash =
    "0000000000000000000000000000000000000000000000000000000000000000";

// How far a chain has come.
struct Link {
  uint64_t seq = 0;
  std::string hash{kNoHash};  // hex
  bool operator==(const Link&) const = default;
};

// Appends the line of `event`, which follows `last`; `last` moves on. The only place where lines
// are made: whatever the event holds, the result is one line of valid JSON without control
// characters, no key in it stands twice, and it has at most kMostRecord bytes; what was too long is
// cut, and "cut" then says how many bytes the texts and keys of the data had.
void append_record(const Event& event, Link& last, std::string& out);

uint64_t weight_of(const Value& value);  // the bytes of all texts and keys in it

// The parts of a line (without its line break). Only their places are looked at; `holds` computes
// the hash.
struct Record {
  uint64_t seq = 0;
  std::string_view time, kind, prev, hash, body;
  bool holds() const;
};
std::optional<Record> read_record(std::string_view line);

// The searchable fields of a line of the log. Nothing about the line is taken for granted.
struct RecordSummary {
  bool readable = false;  // it is an object with a number and a kind; else only `damage` is set
  uint64_t seq = 0;
  int64_t time_us = 0;
  std::string kind, sandbox, tenant, agent, trace, verdict;
  std::string damage;  // why it is not what was written; empty: its hash is right
};
RecordSummary summarize_record(std::string_view line);

}  // namespace paddock::audit
