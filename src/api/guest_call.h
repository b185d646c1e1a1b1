// What the native API's handlers need again and again to speak with a sandbox's guest.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/routes.h"
#include "manager/running_sandbox.h"

namespace paddock::api {

using manager::cancel_with;
using manager::from_guest;
using manager::RunningSandbox;
using manager::without_secrets;

// The sandbox named in the path, awake. Nothing: an error has been answered.
io::Task<std::optional<RunningSandbox>> enter(Call& call);

// Asks the guest one thing and answers with what it says (an empty result: 204).
struct AskOptions {
  // It changes files: which act this is, for the record that is made before.
  const char* writes = nullptr;
  bool signals = false;  // it sends a signal: recorded before as well
  bool redacts = false;  // the texts of the answer are what programs were given
  // They are names of files: redacted where files are (data_events.h).
  bool names = false;
};
io::Task<void> answer_from_guest(Call& call, Value request, AskOptions options = {});

}  // namespace paddock::api
