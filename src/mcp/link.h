// What a connection to a server means, whatever carries it: requests under way, what the server
// says meanwhile, and the era it speaks. mcp/stdio_client.cc and mcp/http_client.cc carry the
// messages.
#pragma once

#include <map>
#include <set>

#include "base/token_bucket.h"
#include "io/bell.h"
#include "mcp/client.h"

namespace paddock::mcp {

// A request of ours until it is answered.
struct PendingRequest {
  explicit PendingRequest(io::Loop& loop) : bell(loop) {}
  // It is also the progress token.
  int64_t id = 0;
  std::string method;
  // Null if the request is the link's own.
  std::shared_ptr<Context> context;
  std::optional<Answer> answer;
  bool cancelled = false;
  io::Bell bell;
};
using PendingPtr = std::shared_ptr<PendingRequest>;

class Link : public ServerLink, public std::enable_shared_from_this<Link> {
 public:
  Link(io::Loop& loop, ClientOptions options) : loop_(loop), options_(std::move(options)) {}

  io::Task<Answer> call(std::string method, Value params, std::shared_ptr<Context> context,
                        io::Milliseconds timeout) override;
  void notify(std::string method, Value params) override;
  io::Task<Result<void>> listen(std::vector<std::string> resources) override;
  void set_log_level(std::string level) override;
  void close() override;

  // Finds out what it speaks, and what it offers. The error arm: it cannot be spoken with.
  io::Task<Result<void>> greet();

 protected:
  // What carries the messages. A request's answer comes to take(), or settle().
  virtual void send_request(const PendingPtr& pending, Value params) = 0;
  // Sends a notification, or an answer.
  virtual void send(const Message& message) = 0;
  // Nobody waits for its answer any more.
  virtual void forget(const PendingPtr& pending, const std::string& why) = 0;
  // After this nothing more comes or goes.
  virtual void shut() = 0;
  // Sends a message, and returns when it has arrived.
  virtual io::Task<void> send_and_wait(Message message);
  // Called when the greeting has succeeded.
  virtual void greeted() {}
  // Called before anybody hears of the answer.
  virtual void answered(const PendingRequest&, Answer&) {}

  // `on`: the request on whose stream it came; null: there is one for all.
  void take(Message message, const PendingPtr& on);
  void settle(const PendingPtr& pending, Answer answer);
  PendingPtr find(const Value& id) const;
  // Set when one request alone is under way.
  PendingPtr only() const;
  // It answered what cannot be understood; null: nobody knows to what.
  void broke(const PendingPtr& pending, const std::string& why);
  // The connection has ended; everything fails.
  void lost(Error why);
  void complain(std::string_view what);
  void tell(std::string method, Value params) const;
  Value prepared(const PendingRequest& pending,
                 Value params) const;  // with what the era wants in _meta
  PendingPtr begin_request(std::string method, std::shared_ptr<Context> context);
  void end_request(const PendingPtr& pending) { pending_.erase(pending->id); }
  bool is_gone() const { return gone_.has_value(); }
  // The parameters of initialize.
  Value hello() const;
  Result<void> take_initialization(const Value& result);

  io::Loop& loop_;
  ClientOptions options_;
  std::map<int64_t, PendingPtr> pending_;

 private:
  struct Greeting;
  static io::Task<void> ask_own(std::shared_ptr<Link> self, std::shared_ptr<Greeting> greeting,
                                std::string method, Value params);
  static io::Task<void> answer_ask(std::shared_ptr<Link> self, Message request,
                                   std::shared_ptr<Context> during);
  static io::Task<void> send_log_level(std::shared_ptr<Link> self, std::string level);
  static io::Task<void> listen_again(std::shared_ptr<Link> self);
  io::Task<Result<void>> subscribe_each(std::vector<std::string> resources);
  io::Task<Result<void>> listen_modern(std::vector<std::string> resources);

  void take_request(Message message, const PendingPtr& on);
  void take_notification(Message message, const PendingPtr& on);
  Answer read(const PendingRequest& pending, Message message) const;
  Result<bool> hear_discovery(const Answer& said);
  Result<void> take_discovery(const Value& result, bool& is_legacy);
  // For when the stream of subscriptions/listen broke off.
  void relisten();
  void take_identity(const Value* info, const Value& result);

  int64_t last_id_ = 0;
  std::optional<Error> gone_;
  bool closed_ = false;
  TokenBucket complaints_{20, 40};
  // Questions of the server that wait for their answers.
  size_t asked_ = 0;
  std::string log_level_;
  // For a legacy server.
  std::set<std::string> subscribed_;
  std::vector<std::string> resources_;
  // For a modern server: the request of subscriptions/listen.
  PendingPtr listening_;
  bool acknowledged_ = false, listening_again_ = false;
  // How long to wait before listening again.
  io::Milliseconds patience_ = 1000;
};

// The id of a message that is not strict JSON, so that the request it answers does not wait for
// nothing. 0: it cannot be told.
int64_t id_in(std::string_view text);

}  // namespace paddock::mcp
