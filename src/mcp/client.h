// A connection to an MCP server of either era, as its client. The era is found out when it is
// opened: modern servers answer server/discover, the others are greeted by initialize.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/value.h"
#include "io/loop.h"
#include "mcp/message.h"
#include "mcp/service.h"

namespace paddock::mcp {

// What a server behind the client may ask for and tell, while a request of ours is under way or by
// itself. Called on the loop's thread.
struct Upstream {
  // A legacy server asks (sampling/createMessage, elicitation/create, roots/list). `during`: the
  // request it belongs to, as far as that can be told (over HTTP by its stream; over stdio when one
  // alone is under way); may be null.
  std::function<io::Task<Answer>(std::string method, Value params, std::shared_ptr<Context> during)>
      ask;
  // Notifications that belong to no request: list_changed, resources/updated, message.
  std::function<void(std::string method, Value params)> tell;
  // Called once, when the server ended or broke the protocol.
  std::function<void(const Error& why)> gone;
  // For people: lines on its stdout that are not messages, answers that could not be read, tools
  // that cannot be used. Printable.
  std::function<void(std::string line)> complain;
};

struct ClientOptions {
  // Our own name and version.
  std::string name = "paddock", version;
  // What we say that we can: {"sampling":{},"elicitation":{…},"roots":{…}}.
  Value capabilities;
  Upstream upstream;
  io::Milliseconds start_timeout = 30'000;
  // Known from an earlier time: it is not probed. (Some old servers die of the probe.).
  std::optional<Era> era;
  size_t largest_message = kLargestMessage;
};

class ServerLink {
 public:
  virtual ~ServerLink() = default;

  Era era = Era::legacy;
  std::string version;
  // What the server said it is and can do.
  Offer offer;

  // One request. Progress and logs that belong to it go to `context`, whose cancellation cancels it
  // there, too. Params are sent as they are, but for _meta: what the era needs is put in, what the
  // client of ours had of it (progressToken, version …) is not passed on. A modern server's "input
  // required" comes back as such.
  virtual io::Task<Answer> call(std::string method, Value params, std::shared_ptr<Context> context,
                                io::Milliseconds timeout) = 0;
  virtual void notify(std::string method, Value params) = 0;
  // What it should tell of: list changes of all kinds, and these resources. Legacy:
  // resources/subscribe, and the GET stream over HTTP; modern: subscriptions/listen.
  virtual io::Task<Result<void>> listen(std::vector<std::string> resources) = 0;
  virtual void set_log_level(std::string level) = 0;
  // After this nobody is called back, and what is under way fails.
  virtual void close() = 0;
};

// Over the standard streams of a process that somebody else started. Both descriptors are taken,
// and made not to block.
io::Task<Result<std::shared_ptr<ServerLink>>> connect_stdio(io::Loop& loop, Fd to_server,
                                                            Fd from_server, ClientOptions options);

struct HttpTarget {
  std::string url;
  // With the secrets themselves as values.
  std::map<std::string, std::string> headers;
  // http: and networks that are not public may be gone to.
  bool private_addresses = false;
  // Certificates in PEM of the authorities to trust. Empty: those of this system.
  std::string trust;
};
// Streamable HTTP. A name is looked up once per connection and the address that was vetted is
// dialled. No redirect is followed.
io::Task<Result<std::shared_ptr<ServerLink>>> connect_http(io::Loop& loop, HttpTarget target,
                                                           ClientOptions options);

}  // namespace paddock::mcp
