// Runs work that takes long in a child process. It may block, cancelling the call ends it, and its
// memory goes with it.
#pragma once

#include <functional>
#include <optional>

#include "guest/guest.h"

namespace paddock::guest {

// Descriptors of the child. Both are pipes and block, unlike those of the guest itself.
struct HelperStreams {
  int input = -1;   // what the server sends
  int output = -1;  // to the server
};
using Work = std::function<Result<Value>(HelperStreams streams)>;

// Runs `work` in a child process, as that user if one is given, and returns what it returned. What
// it writes to `output` is sent on the call; cancelling the call kills the child.
io::Task<Result<Value>> run_helper(Guest& guest, std::shared_ptr<Call> call,
                                   std::optional<User> user, Work work);

}  // namespace paddock::guest
