// What is really enforced: read back from the kernel while the program waits before its exec, and
// never taken from the plan.
#pragma once

#include <array>
#include <map>
#include <string>

#include "paddock/sandbox.h"
#include "wall/wall.h"

namespace paddock::wall {

// `pid` is the program's on the host, `namespaces` the inode numbers it reported, in
// launch::kNamespaceNames' order. Fails (Code::internal) if anything the plan promised is not
// there: the program must then not be started.
Result<std::map<std::string, Enforced>> read_back(const Request& request, const HostFacts& facts,
                                                  const Compiled& compiled, int pid,
                                                  const std::array<uint64_t, 16>& namespaces);

}  // namespace paddock::wall
