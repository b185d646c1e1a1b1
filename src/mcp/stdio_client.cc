// An MCP server over its standard streams: a message is a line.
#include <algorithm>

#include "base/text.h"
#include "io/pipe.h"
#include "mcp/link.h"

namespace paddock::mcp {

namespace {

using io::Stream;
using io::Task;

// After so many lines in a row that are not messages, it is not an MCP server.
constexpr size_t kMostGarbage = 1000;

// The second bounds how much is taken from one server before others have their turn.
constexpr size_t kReadAtOnce = 64 << 10, kBeforeOthers = 256 << 10;
// How many bytes of the end of a long line are kept: many servers write the id last.
constexpr size_t kTail = 256;

// For a server that does not read its input.
constexpr io::Milliseconds kStuck = 30'000;

// Reader and writer are coroutines of their own, so that a server that only writes, or only reads,
// cannot block the other direction.
class StdioLink : public Link {
 public:
  StdioLink(io::Loop& loop, Fd to_server, Fd from_server, ClientOptions options)
      : Link(loop, std::move(options)),
        to_(loop, std::move(to_server)),
        from_(loop, std::move(from_server)),
        bell_(loop) {}

  // Until the server's stdout ends, which is the end of the connection.
  static Task<void> read_all(std::shared_ptr<StdioLink> self) {
    size_t since = 0;
    while (!self->is_gone()) {
      Stream::More more = co_await self->from_.read(io::Wait::kForever, kReadAtOnce);
      if (self->is_gone()) co_return;
      if (more != Stream::More::yes)
        co_return self->lost(
            {paddock::Code::io, "the MCP server has ended", "its own lines may say why"});
      since += self->from_.ahead.size();
      self->take_lines();
      if (since < kBeforeOthers) continue;
      since = 0;
      co_await self->loop_.yield();  // a server that never stops does not stop others
    }
  }

  // A server that does not read its stdin for kStuck is given up.
  static Task<void> write_all(std::shared_ptr<StdioLink> self) {
    while (!self->is_gone()) {
      if (self->queued_.empty()) {
        (void)co_await self->bell_.wait();
        continue;
      }
      self->writing_ = std::exchange(self->queued_, "");
      bool written = co_await self->to_.write(self->writing_, kStuck);
      self->writing_.clear();
      if (!written && !self->is_gone())
        co_return self->lost({paddock::Code::io, "the MCP server does not read its input",
                              "its own lines may say why"});
    }
  }

 protected:
  // A request that cannot be queued fails at once.
  void send_request(const PendingPtr& pending, Value params) override {
    std::string text = to_text(request(pending->id, pending->method, std::move(params)));
    if (!put_out(text))
      settle(pending, Answer::failed(kInternalError,
                                     cat(pending->method,
                                         ": the server does not read what was sent to it before")));
  }

  void send(const Message& message) override { (void)put_out(to_text(message)); }

  // The protocol does not let a greeting be cancelled.
  void forget(const PendingPtr& pending, const std::string& why) override {
    if (pending->method == "initialize" || pending->method == "server/discover") return;
    Value params;
    params.set("requestId", pending->id);
    params.set("reason", why);
    send(notification("notifications/cancelled", std::move(params)));
  }

  // Wakes the writer, which finds that the link is gone.
  void shut() override {
    to_.close();
    from_.close();
    bell_.ring();
  }

 private:
  // False: it was left out.
  bool put_out(const std::string& text) {
    if (is_gone() || queued_.size() + writing_.size() + text.size() > 4 * options_.largest_message)
      return false;
    queued_ += text;
    queued_ += '\n';
    bell_.ring();
    return true;
  }

  // A line that is too long is passed over; only its id is looked for.
  void take_lines() {
    std::string& ahead = from_.ahead;
    size_t begin = 0;
    while (!is_gone()) {
      size_t end = ahead.find('\n', std::max(begin, searched_));
      if (end == std::string::npos) break;
      std::string_view line(ahead.data() + begin, end - begin);
      searched_ = 0;
      if (skipping_)
        end_of_long_line(line);
      else
        take_line(line);
      begin = end + 1;
    }
    if (is_gone()) return;
    ahead.erase(0, begin);
    searched_ = ahead.size();  // there is no end in it
    if (ahead.size() <= options_.largest_message && !skipping_) return;
    if (!std::exchange(skipping_, true)) skipped_id_ = id_in(ahead);
    if (ahead.size() > kTail) ahead.erase(0, ahead.size() - kTail);
    searched_ = ahead.size();
  }

  // The id may stand at the beginning or at the end of the message.
  void end_of_long_line(std::string_view tail) {
    skipping_ = false;
    size_t at = tail.rfind("\"id\":");
    if (!skipped_id_ && at != std::string_view::npos)
      skipped_id_ = id_in(cat("{", tail.substr(at)));
    PendingPtr pending = skipped_id_ ? find(Value(std::exchange(skipped_id_, 0))) : only();
    broke(pending, cat("a message of more than ", human_size(options_.largest_message)));
  }

  // Programs that print to stdout by mistake are tolerated for a while.
  void take_line(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) return;
    if (line.size() > options_.largest_message)
      return broke(find(Value(id_in(line))),
                   cat("a message of more than ", human_size(options_.largest_message)));
    Parsed parsed = parse_message(line);
    if (parsed.message) {
      garbage_ = 0;
      return take(std::move(*parsed.message), nullptr);
    }
    PendingPtr pending = !parsed.id.is_null()  ? find(parsed.id)
                         : line.front() == '{' ? find(Value(id_in(line)))
                                               : nullptr;
    if (pending || line.front() == '{')
      broke(pending, parsed.problem.message);
    else
      complain(cat("on its stdout: ", line.substr(0, 500)));
    if (++garbage_ >= kMostGarbage)
      lost({paddock::Code::io,
            cat("the MCP server has printed ", kMostGarbage, " lines that are no messages"),
            "programs that print to stdout are no MCP servers"});
  }

  io::PipeEnd to_, from_;
  io::Bell bell_;
  std::string queued_, writing_;
  // Up to here there is no end of a line in what is ahead.
  size_t searched_ = 0;
  size_t garbage_ = 0;
  // The rest of a line that is too long is being skipped.
  bool skipping_ = false;
  int64_t skipped_id_ = 0;
};

}  // namespace

// The reader and the writer hold the link until the streams end.
Task<Result<std::shared_ptr<ServerLink>>> connect_stdio(io::Loop& loop, Fd to_server,
                                                        Fd from_server, ClientOptions options) {
  auto link = std::make_shared<StdioLink>(loop, std::move(to_server), std::move(from_server),
                                          std::move(options));
  io::spawn(StdioLink::read_all(link));
  io::spawn(StdioLink::write_all(link));
  Result<void> greeted = co_await link->greet();
  if (!greeted) {
    link->close();
    co_return std::move(greeted.error());
  }
  co_return std::static_pointer_cast<ServerLink>(link);
}

}  // namespace paddock::mcp
