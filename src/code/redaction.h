// What a cell says, without the secrets of its sandbox: every text of every event. What it prints
// is looked at as one stream, so that a secret which comes in several events is found.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "redact/redact.h"

namespace paddock::code {

class CellRedaction {
 public:
  explicit CellRedaction(std::shared_ptr<const redact::Rules> rules);

  // The event (one JSON object) as it may be shown now. Empty if all of it is held back, or if it
  // is not JSON.
  std::string take(const std::string& type, std::string_view event);
  // What was held back, as events with a line break each. Nothing comes after.
  std::string finish();
  redact::Counts counts() const;
  // Of the last error.
  const std::string& error_name() const { return error_name_; }

 private:
  std::shared_ptr<const redact::Rules> rules_;
  redact::Stream stdout_, stderr_;
  redact::Counts others_;
  std::string error_name_;
};

}  // namespace paddock::code
