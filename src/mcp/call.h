// One request that a service works on: its context. For a modern client that is asked something the
// call leaves its request, waits among the states, and goes on with the request that brings the
// answers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/token_bucket.h"
#include "io/bell.h"
#include "mcp/outlet.h"
#include "mcp/request_states.h"
#include "mcp/service.h"

namespace paddock::mcp {

class Connection;
struct ServerState;

// A question to the client, until it is answered.
struct Ask {
  explicit Ask(io::Loop& loop) : bell(loop) {}
  std::string method;
  Value params;
  std::optional<Result<Value>> answer;
  io::Bell bell;
  void settle(Result<Value> with);
};

class Call : public Context, public std::enable_shared_from_this<Call> {
 public:
  explicit Call(std::shared_ptr<ServerState> server) : server_(std::move(server)) {}
  ~Call() override { leave(); }

  // The request that this call answers from now on, and where; modern: with the answers that it
  // brought.
  void attach(std::shared_ptr<Connection> connection, const Message& request,
              std::shared_ptr<Outlet> outlet);
  // Lets the service work on it.
  void start();
  // Also called when the client has gone.
  void cancel(const std::string& why);

  void progress(double progress, std::optional<double> total, std::string message) override;
  void log(std::string level, std::string logger, Value data) override;
  io::Task<Result<Value>> ask(std::string method, Value params) override;
  bool is_cancelled() const override { return cancelled_; }
  void on_cancel(std::function<void()> cancelled) override;
  bool wants_progress() const override { return !progress_token_.is_null(); }

 private:
  // Until the service has answered.
  static io::Task<void> run(std::shared_ptr<Call> self);
  // A modern client's questions of one moment: answers its request with them, and waits.
  static io::Task<void> gather_and_park(std::shared_ptr<Call> self);
  // The answers of a legacy client to all of them, or the problem.
  static io::Task<Answer> ask_all(std::shared_ptr<Call> self, Value requests);
  static io::Task<void> ask_one(std::shared_ptr<Call> self,
                                std::shared_ptr<struct Gathering> gathering, std::string key,
                                Value request);
  io::Task<Result<Value>> ask_legacy(std::string method, Value params);
  // The answer of the service, and the ways to send it.
  void finish(Answer answer);
  void respond(const Answer& answer);
  void respond_needs(const Answer::Input& input);
  // Called when the request was answered.
  void leave();
  void park();
  void gather_soon();
  void settle_all(const Error& why);

  std::shared_ptr<ServerState> server_;
  std::weak_ptr<Connection> connection_;
  // Null when the request was answered, and the call waits or is over.
  std::shared_ptr<Outlet> outlet_;
  Value id_, progress_token_;
  // No level, so nothing is logged.
  int log_level_ = 8;
  RequestStates::Bound bound_;
  // By key, or for a legacy client by the id of our request.
  std::map<std::string, std::shared_ptr<Ask>> asks_;
  uint64_t asked_ = 0;
  bool gathering_ = false, cancelled_ = false, finished_ = false;
  // An answer that came while there was no request to answer.
  std::optional<Answer> kept_;
  std::optional<double> last_progress_;
  TokenBucket notifications_{50, 100};
  std::function<void()> on_cancel_;
};

}  // namespace paddock::mcp
