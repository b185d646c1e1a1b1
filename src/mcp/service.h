// What an MCP server offers, written once for clients of every era. mcp/server.h speaks with the
// clients. The implementations are the tools (tools/toolbox.h) and the conformance fixture
// (mcp/fixture.h).
//
// The eras differ in how a server asks its client for something while it serves a request. Before
// 2026-07-28 it sends requests of its own and waits; since then it returns "input required" and is
// called again with the answers. A service may do either, whatever the client speaks:
//
//   // Waits. For a modern client the call is kept until the client's retry brings the answer.
//   Result<Value> said = co_await context->ask("elicitation/create", params);
//
//   // For a legacy client the requests are sent, and call() is called again with their answers.
//   co_return Answer::needs(requests, state);
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event.h"
#include "base/value.h"
#include "io/loop.h"
#include "mcp/message.h"

namespace paddock::mcp {

// Who is at the other end, as far as rights go. Whoever accepts the connection makes one, and finds
// in it what it needs again.
struct Principal {
  virtual ~Principal() = default;
  // Two with the same id are the same principal. State of one is never shown to another.
  std::string id;
  // Asked now and then while they are connected. Empty: they may.
  std::function<bool()> may_still;
};

// What a client said about itself.
struct Client {
  Era era = Era::modern;
  // The revision of the protocol.
  std::string version;
  // Objects; `info` may be null.
  Value info, capabilities;
  // "sampling", "elicitation", "roots", "elicitation.url", "sampling.tools".
  bool can(std::string_view capability) const;
};

// What came of a request.
struct Answer {
  // An object; resultType, serverInfo and default caching hints are added for modern clients.
  Value result;
  // Used instead of a result.
  std::optional<Problem> problem;
  struct Input {
    // An object: key → {"method","params"}.
    Value requests;
    std::optional<std::string> state;
  };
  // Used instead: what is needed first.
  std::optional<Input> input;

  static Answer done(Value result);
  static Answer failed(int code, std::string message, Value data = {});
  static Answer needs(Value requests, std::optional<std::string> state);
};

// One request that is being served. It outlives the connection that it came on.
class Context {
 public:
  virtual ~Context() = default;

  std::string method;
  // An object. requestState is the service's own again: null if it gave none, absent if it asked
  // for nothing.
  Value params;
  Client client;
  std::shared_ptr<const Principal> principal;
  // From _meta.traceparent, or the transport's.
  Cause cause = Cause::begin();

  // Told with the request, where the client asked for it; else nothing happens.
  virtual void progress(double progress, std::optional<double> total, std::string message) = 0;
  virtual void log(std::string level, std::string logger, Value data) = 0;
  // Asks the client's user, model or roots: elicitation/create, sampling/createMessage, roots/list.
  // The error arm: it cannot (Code::unsupported: it did not say that it could), would not in time,
  // or has gone.
  virtual io::Task<Result<Value>> ask(std::string method, Value params) = 0;

  virtual bool is_cancelled() const = 0;
  // Called once, and at once if the call is cancelled already. Replaces the one before.
  virtual void on_cancel(std::function<void()> cancelled) = 0;
  virtual bool wants_progress() const = 0;
};

// For requests that come by other ways than MCP. Nobody hears progress and nobody can be asked, but
// the caller may go: then cancel() ends what is under way.
class DirectContext : public Context {
 public:
  DirectContext(std::string method, Value params, std::shared_ptr<const Principal> principal);

  void progress(double, std::optional<double>, std::string) override {}
  void log(std::string level, std::string logger, Value data) override;
  io::Task<Result<Value>> ask(std::string method, Value params) override;
  bool is_cancelled() const override { return cancelled_; }
  void on_cancel(std::function<void()> cancelled) override;
  bool wants_progress() const override { return false; }

  void cancel();
  // For the caller: logs that are plain text, such as that somebody has to approve the call first.
  std::function<void(const std::string& line)> on_log;

 private:
  bool cancelled_ = false;
  std::function<void()> on_cancel_;
};

// What a service says of itself to a client that connects.
struct Offer {
  // As in the newest revision: {"tools":{"listChanged":true},"resources":{"subscribe":true,…},…}.
  Value capabilities;
  std::string name, title, version, instructions;
};

// One change of what is offered.
struct Change {
  enum class Kind : uint8_t { tools, prompts, resources, resource } kind = Kind::tools;
  // For Kind::resource.
  std::string uri;
};

class Service {
 public:
  virtual ~Service() = default;
  // Awaited before offer() is asked; may be called any number of times.
  virtual io::Task<void> start() { co_return; }
  virtual Offer offer(const Principal& principal) = 0;
  // Everything but the lifecycle, subscriptions and logging levels, which are the server's own:
  // tools/list, tools/call, prompts/…, resources/list|read|templates/list, completion/complete. An
  // unknown method: kMethodNotFound.
  virtual io::Task<Answer> call(std::shared_ptr<Context> context) = 0;
  // Somebody wants to hear of this resource, or nobody does any more.
  virtual void watch_resource(const std::string& uri, bool wanted) { (void)uri, (void)wanted; }
  // A legacy client's roots have changed.
  virtual void roots_changed(const Principal& principal) { (void)principal; }

  // Set by the server; called when what is offered changes.
  std::function<void(const Change&)> on_change;
};

}  // namespace paddock::mcp
