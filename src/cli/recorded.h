// Acts of the user's own on this machine's state (keys, images, approvals): recorded before they
// are done, and recorded again when they fail.
//
//   TRY(recorded("image.rm", Value::Object{{"name", name}}, [&] { return store::remove_image(name);
//   }));
#pragma once

#include "base/event.h"
#include "record/own_log.h"

namespace paddock::cli {

// What `act` returns. What cannot be recorded is not done.
template <class Act>
auto recorded(const char* name, Value data, Act act) -> decltype(act()) {
  Event event;
  TRY(record::record_act(name, std::move(data), &event));
  auto done = act();
  if (!done) record::note_failure(event, done.error());
  return done;
}

}  // namespace paddock::cli
