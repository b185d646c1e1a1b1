// Ranges of addresses without other ranges.
#include "api/e2b_network.h"
#include "base/text.h"

namespace paddock::api {
namespace {

constexpr size_t kMostRanges = 1000;  // as a call's policy may deny

// The two halves of a range.
policy::NetworkRule half(const policy::NetworkRule& range, bool upper) {
  policy::NetworkRule part = range;
  if (upper)
    part.address[static_cast<size_t>(range.prefix / 8)] |=
        static_cast<uint8_t>(0x80 >> (range.prefix % 8));
  part.prefix = range.prefix + 1;
  return part;
}

void subtract_one(const policy::NetworkRule& range, const policy::NetworkRule& hole,
                  std::vector<policy::NetworkRule>& out) {
  if (policy::covers(hole, range)) return;
  if (!policy::covers(range, hole)) {
    out.push_back(range);
    return;
  }
  subtract_one(half(range, false), hole, out);
  subtract_one(half(range, true), hole, out);
}

}  // namespace

Result<std::vector<policy::NetworkRule>> subtract(std::vector<policy::NetworkRule> ranges,
                                                  const std::vector<policy::NetworkRule>& holes) {
  for (const policy::NetworkRule& hole : holes) {
    std::vector<policy::NetworkRule> left;
    for (const policy::NetworkRule& range : ranges) subtract_one(range, hole, left);
    if (left.size() > kMostRanges)
      return Error{Code::invalid,
                   cat("network: allowOut cuts denyOut into more than ", kMostRanges, " ranges")};
    ranges = std::move(left);
  }
  return ranges;
}

}  // namespace paddock::api
