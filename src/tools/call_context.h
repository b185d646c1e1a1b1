// What a provider sees of a request: the client's context, with secrets taken out of all that the
// tool says. It ends when the desk says so (its time is over) as well as when the client does. For
// a server behind the gateway it also holds the server to what the policy lets it ask and tell.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mcp/service.h"
#include "policy/tools/tool.h"
#include "tools/decide/output.h"

namespace paddock::tools {

// What is the same for all calls to one server behind the gateway.
struct ServerRules {
  policy::McpServer policy;
  // Takes out its secrets, and what looks like one.
  std::shared_ptr<const redact::Rules> redaction;
};

class CallContext : public mcp::Context, public std::enable_shared_from_this<CallContext> {
 public:
  static std::shared_ptr<CallContext> around(io::Loop& loop, std::shared_ptr<mcp::Context> client,
                                             Cause cause, RuleList redaction);
  // From now on a server speaks. Its logs carry its name, and its questions pass the policy.
  void speak_for(std::shared_ptr<const ServerRules> server) { server_ = std::move(server); }

  void progress(double progress, std::optional<double> total, std::string message) override;
  void log(std::string level, std::string logger, Value data) override;
  io::Task<Result<Value>> ask(std::string method, Value params) override;
  bool is_cancelled() const override { return cancelled_; }
  void on_cancel(std::function<void()> cancelled) override;
  bool wants_progress() const override { return !closed_ && client_->wants_progress(); }

  void cancel();
  // The call is answered: whatever the provider still says is not heard.
  void close();
  // How long people and models were asked by the provider: that is not the tool's time.
  io::Milliseconds asked_for() const;
  // Called when the call was cancelled, or an answer came.
  std::function<void()> on_change;

 private:
  CallContext(io::Loop& loop, std::shared_ptr<mcp::Context> client, RuleList redaction)
      : loop_(loop), client_(std::move(client)), redaction_(std::move(redaction)) {}

  io::Loop& loop_;
  std::shared_ptr<mcp::Context> client_;
  RuleList redaction_;
  // Null if the tool does not belong to a server.
  std::shared_ptr<const ServerRules> server_;
  bool cancelled_ = false, closed_ = false;
  std::function<void()> on_cancel_;
  // How many questions are open, since when, and the time of those that were answered.
  int asking_ = 0;
  io::Milliseconds asking_since_ = 0, asked_ = 0;
};

// Why a server must not ask this of a client: "denied by mcp.servers.files.sampling, which does not
// allow it". Empty: it may.
std::string ask_problem(const policy::McpServer& server, const std::string& method);
// The same request with the server's name in it: the user sees Paddock as the one who asks.
Value ask_in_its_name(const ServerRules& rules, const std::string& method, const Value& params);
// The capabilities that a server is told of: what the policy lets it ask.
Value client_capabilities(const policy::McpServer& server);

}  // namespace paddock::tools
