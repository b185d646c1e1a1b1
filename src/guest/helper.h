// Work that takes long, in a child process: it may wait as it likes, cancelling the call ends it,
// and what it needs of memory goes with it.
#pragma once

#include <functional>
#include <optional>

#include "guest/guest.h"

namespace paddock::guest {

struct HelperStreams {
  int input = -1;   // what the server sends
  int output = -1;  // to the server
};
using Work = std::function<Result<Value>(HelperStreams streams)>;

// Runs `work` in a child, as that user if one is given.
io::Task<Result<Value>> run_helper(Guest& guest, std::shared_ptr<Call> call,
                                   std::optional<User> user, Work work);

}  // namespace paddock::guest
