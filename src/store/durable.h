// Small records that survive: written whole under another name, and on the disk before anyone hears
// of it.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/value.h"
#include "paddock/error.h"

namespace paddock::store {

enum class Durability : uint8_t {
  // A reader sees the old one or the new one, also after this process was killed.
  atomic,
  // The same after a power failure. Takes as long as the disk does.
  on_disk,
};
Result<void> write_record(int directory, const std::string& name, const Value& record,
                          Durability durability);

// A record of a format and version: {"format":FORMAT,"version":1,…}. Code::not_found when there is
// none, Code::invalid when it is not readable as one.
Result<Value> read_record(int directory, const std::string& name, const std::string& format);

// Opens a directory for keeping, made with mode 0700 when missing.
Result<Fd> open_directory(int parent, const std::string& name);

// One server at a time. The lock belongs to this process, not to its descriptor: children do not
// inherit it. Waits a little for one that is about to go. Code::conflict names the process that has
// it.
Result<Fd> lock_directory(int directory);

}  // namespace paddock::store
