// What a tool's answer goes through on its way back: secrets are taken out, and what is too long is
// cut. In this order: half a secret would not be known for one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mcp/service.h"
#include "redact/redact.h"

namespace paddock::tools {

using RuleList = std::vector<std::shared_ptr<const redact::Rules>>;

// Every text in it, keys too. Base64 of images and sound stays as it is; that of a text is looked
// into.
void redact_answer(mcp::Answer& answer, const RuleList& rules, redact::Counts* counts);
Value redact_all(const Value& value, const RuleList& rules, redact::Counts* counts = nullptr);

struct Cut {
  uint64_t bytes = 0;           // that were left out
  bool lost_structure = false;  // structuredContent is not there any more
};
// A CallToolResult whose JSON is larger than `most` becomes one that is not (unless `most` is too
// small for a sentence that says so): texts end with a mark that says how much is missing, what
// cannot be cut (images, sound, blobs, structuredContent) is left out and a text says so. What is
// no object becomes an error result.
Cut bound_result(Value& result, uint64_t most);

}  // namespace paddock::tools
