// One server behind the gateway: started, watched, and started again when it ended, with growing
// pauses.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "mcp/client.h"
#include "policy/tools/tool.h"
#include "redact/redact.h"
#include "tools/gateway/dial.h"

namespace paddock::tools {

struct SuperviseOptions {
  policy::McpServer server;
  Dial dial;
  int64_t call_timeout_ms = 0;
  mcp::Upstream upstream;  // ask and tell
  // Before anybody uses a new connection: what it offers is read. The error arm: it is not used.
  std::function<io::Task<Result<void>>(std::shared_ptr<mcp::ServerLink>)> ready;
  std::function<void(std::string line)> on_line;
  // Called with the values of its secrets and headers as they are now.
  std::function<void(std::vector<redact::Secret> values)> on_secrets;
};

class Supervised : public std::enable_shared_from_this<Supervised> {
 public:
  enum class State : uint8_t { stopped, starting, running, failed };

  Supervised(io::Loop& loop, SuperviseOptions options)
      : loop_(loop), options_(std::move(options)) {}

  // Returns when the server runs, or has failed to.
  io::Task<void> start();
  io::Task<void> stop();
  // The error arm is ours (it does not run, ended meanwhile, did not answer in time); the value is
  // the server's answer. `allowed` is asked when it runs, right before the request is sent: a
  // server that was started again may offer other things.
  struct Request {
    std::string method;
    Value params;
    std::shared_ptr<mcp::Context> context;
    std::function<Result<void>()> allowed;
  };
  io::Task<Result<mcp::Answer>> call(Request request);
  // A failed server is tried again in the background as soon as it may be, but not for ever by
  // itself.
  void nudge(bool needed);

  State state() const { return state_; }
  // It failed last time; empty once it runs.
  const std::string& why() const { return why_; }
  // Null unless it runs.
  std::shared_ptr<mcp::ServerLink> link() const { return link_; }
  uint64_t restarts() const { return generation_ > 1 ? generation_ - 1 : 0; }
  const std::deque<std::string>& last_lines() const { return lines_; }

 private:
  // A connection, and the start that it belongs to. Callbacks of earlier starts are told by it.
  struct Running {
    std::shared_ptr<mcp::ServerLink> link;
    uint64_t generation = 0;
  };
  io::Task<Result<Running>> running();
  io::Task<void> try_once();
  io::Task<void> again(uint64_t generation);
  io::Task<void> check_alive(std::shared_ptr<mcp::ServerLink> link, uint64_t generation);
  io::Task<Error> ended_meanwhile(uint64_t generation, std::string method);
  Result<DialOptions> dial_options(uint64_t generation);
  io::Milliseconds may_start_at() const;
  io::Milliseconds timeout() const;
  void down(uint64_t generation, std::string why);
  void process_ended(uint64_t generation, std::string why);
  void line(std::string text);
  void fail(std::string why);
  void say(const std::string& text) { options_.on_line(text); }
  io::Task<void> let_go(std::unique_ptr<Sandboxed> process, std::shared_ptr<mcp::ServerLink> link,
                        uint64_t generation);
  // Waits until the process of this start has ended, or the patience is over.
  io::Task<void> ended(uint64_t generation, io::Milliseconds patience);

  io::Loop& loop_;
  SuperviseOptions options_;
  State state_ = State::stopped;
  bool wanted_ = false, checking_ = false, trying_again_ = false;
  std::string why_;
  uint64_t generation_ = 0;
  std::shared_ptr<mcp::ServerLink> link_;
  std::unique_ptr<Sandboxed> process_;
  // Whether this start has a process.
  bool has_process_ = false;
  // The start whose connection has ended.
  uint64_t gone_generation_ = 0;
  // How the processes of the last starts ended.
  std::map<uint64_t, std::string> ends_;
  // The times of recent starts.
  std::deque<io::Milliseconds> starts_;
  // Happens when the start that is under way is over.
  std::shared_ptr<io::Event> started_;
  std::deque<std::string> lines_;
};

}  // namespace paddock::tools
