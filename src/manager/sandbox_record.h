// A sandbox as it is on disk: sandboxes/ID/record.json, see docs/formats/sandbox_record.md.
#pragma once

#include <string>

#include "base/value.h"
#include "manager/sandbox.h"

namespace paddock::manager {

inline constexpr char kRecordFile[] = "record.json";
inline constexpr char kRecordFormat[] = "paddock.sandbox";

struct SandboxRecord {
  SandboxInfo info;
  store::Template made_from;
};

// `server`: the directory that paths of layers are written relative to.
Value to_value(const SandboxInfo& info, const store::Template& made_from,
               const std::string& server);
Result<SandboxRecord> record_from(const Value& value, const std::string& server);

}  // namespace paddock::manager
