// Tells a URL of the policy that a call waits for approval, and reads its decision.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/loop.h"
#include "policy/tools/tool.h"
#include "tools/decide/approvals.h"

namespace paddock::tools {

// Fails unless the URL is https:, or http: on this machine: whoever could change the answer on its
// way could approve the call.
Result<void> check_webhook(const policy::Ask& ask);

struct WebhookDecision {
  bool decided = false, approve = false;
  // What it said along with the decision.
  std::string why;
  // Why it could not be told, or did not answer in time. Empty: it answered.
  std::string failed;
};
// POST of {"id","tool","agent","arguments","hash","expires"…}, with "X-Paddock-Signature:
// sha256=HEX" (HMAC of the body) when there is a secret. The answer 200
// {"approve":true|false,"why":"…"} decides; whatever else means that somebody will decide later, by
// another way. Stopped, its connection is closed at once.
struct WebhookStop {
  bool is_stopped = false;
  std::function<void()> on_stop;
  void stop() {
    is_stopped = true;
    if (on_stop) on_stop();
  }
};
io::Task<WebhookDecision> tell_webhook(io::Loop& loop, policy::Ask ask, Approval approval,
                                       std::shared_ptr<WebhookStop> stop);

}  // namespace paddock::tools
