// What happens to a tool's answer: secrets are taken out, and what is too long is cut. In this
// order, because half a secret would not be recognized.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mcp/service.h"
#include "redact/redact.h"

namespace paddock::tools {

using RuleList = std::vector<std::shared_ptr<const redact::Rules>>;

// Redacts every text in it, keys too. Base64 of images and sound stays as it is; base64 of text is
// decoded and redacted.
void redact_answer(mcp::Answer& answer, const RuleList& rules, redact::Counts* counts);
Value redact_all(const Value& value, const RuleList& rules, redact::Counts* counts = nullptr);

struct Cut {
  // How many bytes were left out.
  uint64_t bytes = 0;
  // structuredContent was left out.
  bool lost_structure = false;
};
// A CallToolResult whose JSON is larger than `most` becomes one that is not (unless `most` is too
// small for a sentence that says so): texts end with a mark that says how much is missing, what
// cannot be cut (images, sound, blobs, structuredContent) is left out and a text says so. Anything
// but an object becomes an error result.
Cut bound_result(Value& result, uint64_t most);

}  // namespace paddock::tools
