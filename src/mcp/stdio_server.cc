#include "mcp/stdio_server.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"

namespace paddock::mcp {

namespace {

using io::Milliseconds;
using io::Task;

constexpr size_t kReadSize = 64 << 10;
// Not read by the client yet: notifications are left out.
constexpr size_t kMuch = 1 << 20;

// With this much unread, no further requests are taken.
constexpr size_t kTooMuch = 8 << 20;

// For what is under way when the client has closed its end.
constexpr Milliseconds kLastMoment = 500;
constexpr Milliseconds kLastWrites = 2'000;

// Both directions, shared by the reader, the writer and the calls that answer.
struct Lines {
  Lines(io::Loop& on) : loop(on), to_write(on), room(on) {}
  io::Loop& loop;
  io::Socket input, output;
  // Not written yet.
  std::string queued;
  // How much of it the writer has taken.
  size_t writing = 0;
  bool broken = false, closing = false, done = false;
  io::Bell to_write, room;
  size_t unread() const { return queued.size() + writing; }
};

// Puts messages into the queue of the one writer, so that lines never mix.
class StdioOutlet : public Outlet {
 public:
  explicit StdioOutlet(std::shared_ptr<Lines> lines) : lines_(std::move(lines)) {}
  // Notifications are left out while the client does not read; cancellations and acknowledgements
  // never.
  void tell(const Message& message) override {
    bool may_be_left_out = message.kind == Message::Kind::notification &&
                           message.method != "notifications/cancelled" &&
                           message.method != "notifications/subscriptions/acknowledged";
    if (!may_be_left_out || lines_->unread() < kMuch) write(message);
  }
  void finish(const Message& answer) override { write(answer); }
  void drop() override {}

 private:
  void write(const Message& message) {
    if (lines_->broken) return;
    lines_->queued += to_text(message);
    lines_->queued += '\n';
    lines_->to_write.ring();
  }
  std::shared_ptr<Lines> lines_;
};

// Writes what is queued until the connection closes and nothing is left.
Task<void> write_all(std::shared_ptr<Lines> lines) {
  while (!lines->broken) {
    if (lines->queued.empty()) {
      if (lines->closing) break;
      (void)co_await lines->to_write.wait();
      continue;
    }
    std::string bytes = std::move(lines->queued);
    lines->queued.clear();
    size_t at = 0;
    while (at < bytes.size() && !lines->broken) {
      lines->writing = bytes.size() - at;
      ssize_t written = ::write(lines->output.get(), bytes.data() + at, bytes.size() - at);
      if (written >= 0)
        at += static_cast<size_t>(written);
      else if (errno == EAGAIN) {
        lines->output.not_writable();
        // The bell: when it is given up.
        io::Interest interests[2] = {{&lines->output, true}, lines->to_write.interest()};
        io::Wait wait(lines->loop, interests, 2, io::Wait::kForever);
        (void)co_await wait;
      } else if (errno != EINTR) {
        lines->broken = true;
      }
    }
    lines->writing = 0;
    lines->room.ring();
  }
  lines->done = true;
  lines->room.ring();
}

// Takes whole lines out of `bytes`.
void take_lines(std::string& bytes, bool& skipping, size_t largest, Connection& connection,
                const std::shared_ptr<Outlet>& outlet) {
  size_t from = 0;
  for (size_t end; (end = bytes.find('\n', from)) != std::string::npos; from = end + 1) {
    std::string_view line = std::string_view(bytes).substr(from, end - from);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (std::exchange(skipping, false)) continue;  // the rest of one that was too long
    if (line.empty()) continue;
    bool is_huge = line.size() > largest;
    Parsed parsed;
    if (is_huge)
      parsed.problem = {
          kInvalidRequest, cat("Invalid request: a message is at most ", human_size(largest)), {}};
    else
      parsed = parse_message(line);
    if (parsed.message)
      connection.receive(*std::move(parsed.message), outlet);
    else
      outlet->finish(refusal(parsed.id, parsed.problem));
  }
  bytes.erase(0, from);
  if (bytes.size() <= largest) return;
  bytes.clear();
  if (std::exchange(skipping, true)) return;
  outlet->finish(refusal(
      Value{},
      {kInvalidRequest, cat("Invalid request: a message is at most ", human_size(largest)), {}}));
}

}  // namespace

// Reads lines, and stops reading while the client does not read its answers.
Task<void> serve_stdio(Server& server, StdioOptions options) {
  io::Loop& loop = server.loop();
  auto lines = std::make_shared<Lines>(loop);
  for (const Fd* fd : {&options.input, &options.output})
    (void)::fcntl(fd->get(), F_SETFL, ::fcntl(fd->get(), F_GETFL) | O_NONBLOCK);
  lines->input.open(loop, std::move(options.input));
  lines->output.open(loop, std::move(options.output));
  std::shared_ptr<Outlet> outlet = std::make_shared<StdioOutlet>(lines);
  std::shared_ptr<Connection> connection = server.connect(options.principal, outlet);
  std::shared_ptr<Stopper> stopper = options.stopper;
  io::spawn(write_all(lines));

  std::string bytes;
  std::vector<char> buffer(kReadSize);
  bool skipping = false;
  while (!stopper->stopped && !lines->broken) {
    if (lines->unread() > kTooMuch) {  // a client that does not read is not listened to
      io::Interest interests[2] = {lines->room.interest(), stopper->bell.interest()};
      io::Wait wait(loop, interests, 2, io::Wait::kForever);
      (void)co_await wait;
      continue;
    }
    ssize_t got = ::read(lines->input.get(), buffer.data(), buffer.size());
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) break;
    if (got > 0) {
      bytes.append(buffer.data(), static_cast<size_t>(got));
      take_lines(bytes, skipping, options.largest_message, *connection, outlet);
      co_await loop.yield();
      continue;
    }
    lines->input.not_readable();
    io::Interest interests[3] = {
        {&lines->input, false}, stopper->bell.interest(), lines->room.interest()};
    io::Wait wait(loop, interests, 3, io::Wait::kForever);
    if (!stopper->stopped && !lines->broken) (void)co_await wait;
  }

  Milliseconds until = loop.now() + kLastMoment;
  while (connection->is_calling() && loop.now() < until && !lines->broken && !stopper->stopped)
    co_await loop.sleep(10);
  server.close();  // what waits for an answer, too
  lines->closing = true;
  lines->to_write.ring();
  until = loop.now() + kLastWrites;
  while (!lines->done && loop.now() < until) co_await loop.sleep(5);
  lines->broken = true;  // a client that reads nothing gets no more
  lines->to_write.ring();
  while (!lines->done) co_await loop.sleep(5);
}

}  // namespace paddock::mcp
