// What the native API's handlers need again and again to speak with a sandbox's guest.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/routes.h"

namespace paddock::api {

// A running sandbox of the caller's with its guest, and what ends an answer in progress when it is killed or paused.
struct Inside {
  std::shared_ptr<manager::Sandbox> sandbox;
  std::shared_ptr<guest::Client> guest;
};

// The sandbox named in the path, awake. Nothing: an error has been answered.
io::Task<std::optional<Inside>> enter(Call& call);

// An error of the guest's, whose kind stands in its hint, as one of ours.
Error from_guest(const Error& error);
Error without_secrets(const manager::Sandbox& sandbox, Error error);  // for what does not go through answer_error

// Cancels the channel when the sandbox is killed or paused, for as long as the token lives.
std::shared_ptr<void> cancel_with(const Inside& inside, std::shared_ptr<guest::Channel> channel);

// Asks the guest one thing and answers with what it says (an empty result: 204).
struct AskOptions {
  const char* writes = nullptr;  // it changes files: which act this is, for the record that is made before
  bool signals = false;          // it sends a signal: recorded before as well
  bool redacts = false;          // the texts of the answer are what programs were given
  bool names = false;            // they are names of files: redacted where files are (data_events.h)
};
io::Task<void> answer_from_guest(Call& call, Value request, AskOptions options = {});

}  // namespace paddock::api
