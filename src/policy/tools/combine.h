// What several layers say about tools, as one.
//
//   tools, mcp.servers   what every layer that sets the list has, entry by entry the same; else
//   Code::denied their sandboxes      narrowed by the other tables of every layer that did not
//   bring the entry; never widened by one. An entry
//                        whose sandbox cannot be brought together with such a layer is left out,
//                        and a note says so
//   an url, a webhook    must be allowed by the network tables of those layers; else the server,
//   the webhook, is left out likewise calls                all rates; the smallest at_once, output
//   and timeout; dry_run if any layer says so. A tool's own output and
//                        timeout are no larger than those in the [calls] of a layer that did not
//                        bring it
//
// A file and the preset it extends are one here: what its author says about a tool is meant for
// that tool.
#pragma once

#include <string>
#include <vector>

#include "policy/intersect.h"

namespace paddock::policy {

Result<void> combine_tools(const std::vector<Layer>& layers, const Policy& call, Policy& result,
                           std::vector<std::string>& notes);

}  // namespace paddock::policy
