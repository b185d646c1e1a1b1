// Where the server's messages for one request go: a line of stdout, the stream of one HTTP answer.
// Nothing here waits; a transport that cannot take more may leave notifications out, but never an
// answer.
#pragma once

#include "mcp/message.h"

namespace paddock::mcp {

class Outlet {
 public:
  virtual ~Outlet() = default;
  // A notification, or a request to a legacy client.
  virtual void tell(const Message& message) = 0;
  // The answer, once; nothing follows for this request.
  virtual void finish(const Message& answer) = 0;
  // Used instead: no answer will come.
  virtual void drop() = 0;
};

}  // namespace paddock::mcp
