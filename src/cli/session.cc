#include "cli/session.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"
#include "cli/cli.h"
#include "net/websocket.h"
#include "run/terminal.h"

namespace paddock::cli {

namespace {

using Type = net::WebSocketMessage::Type;
enum StreamByte : char { kInput = 0, kOutput = 1, kErrors = 2, kTerminal = 3 };

// In bytes of stdin in a message.
constexpr size_t kPiece = 32 << 10;

// In bytes. stdin waits while so much is on its way.
constexpr size_t kMostUnsent = 256 << 10;
constexpr size_t kLargestMessage = 4 << 20;

// Passes everything between the terminal and the WebSocket, in one thread, until the command ends.
class Session {
 public:
  Session(Fd connection, std::string ahead, const SessionOptions& options)
      : connection_(std::move(connection)),
        options_(options),
        reader_(net::WebSocketReader::From::server, kLargestMessage),
        reads_input_(options.input) {
    reader_.add(ahead);
  }

  // The terminal is put into raw mode only after everything that can fail before it.
  Result<Value> run(const Value& request) {
    signals_ = TRY(catch_signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}));
    if (::fcntl(connection_.get(), F_SETFL, O_NONBLOCK) != 0)
      return errno_error(errno, "make the connection ready");
    if (options_.terminal && options_.input && ::isatty(STDIN_FILENO))
      terminal_.enter(STDIN_FILENO);
    queue(Type::text, to_json(request));
    while (!end_) {
      TRY(take_messages());
      if (!end_) TRY(wait());
    }
    return *end_;
  }

 private:
  // Clients must mask their frames (RFC 6455, 5.3).
  void queue(Type type, std::string_view payload) {
    uint32_t mask = 0;
    (void)!::getrandom(&mask, sizeof mask, 0);
    unsent_ += net::websocket_frame(type, payload, mask);
  }

  void queue_message(const char* type, std::initializer_list<Value::Member> members) {
    Value message;
    message.set("type", type);
    for (const Value::Member& member : members) message.set(member.first, member.second);
    queue(Type::text, to_json(message));
  }

  // stdin is not read while much is unsent, so that a fast producer does not fill the memory.
  Result<void> wait() {
    bool wants_input = reads_input_ && unsent_.size() < kMostUnsent;
    pollfd polled[] = {
        {connection_.get(), static_cast<short>(POLLIN | (unsent_.empty() ? 0 : POLLOUT)), 0},
        {signals_.get(), POLLIN, 0},
        {wants_input ? STDIN_FILENO : -1, POLLIN, 0}};
    if (::poll(polled, 3, -1) < 0 && errno != EINTR) return errno_error(errno, "wait");
    if (polled[1].revents) TRY(take_signals());
    if (polled[2].revents) TRY(take_input());
    if (!unsent_.empty()) TRY(send());
    if (polled[0].revents & (POLLIN | POLLHUP | POLLERR)) TRY(receive());
    return {};
  }

  // Errors of sending are not final: the answer may have arrived already.
  Result<void> send() {
    ssize_t sent = ::send(connection_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent >= 0) unsent_.erase(0, static_cast<size_t>(sent));
    // A connection that takes nothing any more may still have an answer in it.
    else if (errno == EPIPE || errno == ECONNRESET)
      unsent_.clear(), reads_input_ = false;
    else if (errno != EAGAIN && errno != EINTR)
      return errno_error(errno, "send to the server");
    return {};
  }

  Result<void> receive() {
    char buffer[64 << 10];
    ssize_t size = ::recv(connection_.get(), buffer, sizeof buffer, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (size <= 0)
      return Error{Code::io, "the connection to the server ended before the command did",
                   "the sandbox may have ended: see paddock ls --all"};
    reader_.add({buffer, static_cast<size_t>(size)});
    return {};
  }

  // The end of stdin is told to the command as well.
  Result<void> take_input() {
    std::string piece(1 + kPiece, kInput);
    ssize_t size = ::read(STDIN_FILENO, piece.data() + 1, kPiece);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (size <= 0) {
      reads_input_ = false;
      queue_message("close_stdin", {});
      return {};
    }
    piece.resize(1 + static_cast<size_t>(size));
    queue(Type::binary, piece);
    return {};
  }

  // Ctrl-C and the like go to the command. A second SIGTERM, or a lost terminal, ends this program.
  Result<void> take_signals() {
    while (int signal = next_signal(signals_)) {
      if (signal == SIGWINCH) {
        if (!options_.terminal) continue;
        runs::WindowSize size = runs::window_size(STDOUT_FILENO);
        queue_message("resize", {{"rows", size.rows}, {"columns", size.columns}});
      } else if (signal == SIGHUP || (signal == SIGTERM && terminated_)) {
        // The terminal is gone.
        return Error{Code::io, "the command was let go of", ""};
      } else {
        terminated_ |= signal == SIGTERM;
        queue_message("signal", {{"signal", cat("SIG", ::sigabbrev_np(signal))}});
      }
    }
    return {};
  }

  // Everything that has arrived is handled before the next wait.
  Result<void> take_messages() {
    while (!end_) {
      std::optional<net::WebSocketMessage> message = TRY(reader_.next());
      if (!message) return {};
      switch (message->type) {
        case Type::text: TRY(take_text(message->payload)); break;
        case Type::binary: TRY(take_output(message->payload)); break;
        case Type::ping: queue(Type::pong, message->payload); break;
        case Type::pong: break;
        case Type::close:
          return Error{Code::io,
                       cat("the server ended the connection", message->payload.empty() ? "" : ": ",
                           printable(message->payload)),
                       ""};
      }
    }
    return {};
  }

  // The first byte says which stream it belongs to.
  Result<void> take_output(const std::string& payload) {
    if (payload.empty()) return {};
    return write_all(payload[0] == kErrors ? STDERR_FILENO : STDOUT_FILENO,
                     std::string_view(payload).substr(1));
  }

  // Errors that are not fatal are ignored, such as a signal for a process that has just ended.
  Result<void> take_text(const std::string& text) {
    Value message = TRY(parse_json(text, "the server's message"));
    std::string type = text_in(message, "type");
    if (type == "end") {
      end_ = std::move(message);
      return {};
    }
    const Value* fatal = message.find("fatal");
    // A signal for a process that has just ended, and the like.
    bool goes_on = fatal && fatal->as_bool() && !*fatal->as_bool();
    if (type != "error" || goes_on) return {};
    const Value* error = message.find("error");
    Code code = error && text_in(*error, "code") == "not_found" ? Code::not_found : Code::invalid;
    return Error{code, error ? printable(text_in(*error, "message")) : "the server gave up",
                 error ? printable(text_in(*error, "hint")) : ""};
  }

  Fd connection_, signals_;
  SessionOptions options_;
  net::WebSocketReader reader_;
  runs::RawTerminal terminal_;
  std::string unsent_;
  std::optional<Value> end_;
  bool reads_input_, terminated_ = false;
};

}  // namespace

// The size of the terminal is sent with the request, so that the first output fits.
Result<Value> run_session(const client::Client& client, const std::string& path, Value request,
                          const SessionOptions& options) {
  client::Response response = TRY(client.upgrade(path));
  std::string ahead;
  Fd connection = response.take(ahead);
  if (options.terminal) {
    runs::WindowSize size =
        runs::window_size(::isatty(STDOUT_FILENO) ? STDOUT_FILENO : STDIN_FILENO);
    Value terminal;
    terminal.set("rows", size.rows);
    terminal.set("columns", size.columns);
    request.set("terminal", std::move(terminal));
  }
  request.set("stdin", options.input);
  return Session(std::move(connection), std::move(ahead), options).run(request);
}

}  // namespace paddock::cli
