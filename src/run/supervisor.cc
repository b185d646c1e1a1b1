#include "run/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include "base/text.h"
#include "run/output_descriptor.h"

namespace paddock::runs {

namespace {

constexpr size_t kTail = 4 << 10;  // bytes of output that are looked at for hints

using launch::Record;

// The signals that belong to the program while it runs. They are read from a descriptor instead of
// being handled, and SIGPIPE is ignored. The destructor puts everything back, since this may run in
// a library.
class Signals {
 public:
  Signals() {
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH})
      ::sigaddset(&wanted, number);
    (void)::sigprocmask(SIG_BLOCK, &wanted, &before_);
    fd_ = Fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    previous_pipe_ = ::signal(SIGPIPE, SIG_IGN);
  }
  ~Signals() {
    (void)::signal(SIGPIPE, previous_pipe_);
    (void)::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  int fd() const { return fd_.get(); }
  int next() const {
    signalfd_siginfo info;
    return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                : 0;
  }

 private:
  sigset_t before_{};
  sighandler_t previous_pipe_ = SIG_DFL;
  Fd fd_;
};

// One loop over poll(2) until the keeper reports the end. Nothing in it may block, or signals and
// limits would wait.
class Supervisor {
 public:
  Supervisor(launch::KeeperProcess keeper, Streams streams, const SupervisorOptions& options)
      : keeper_(std::move(keeper)), streams_(std::move(streams)), options_(options) {
    if (streams_.in) (void)::fcntl(streams_.in.get(), F_SETFL, O_NONBLOCK);
    if (options.sample_every_ms)
      next_usage_ = now_ms() + static_cast<int64_t>(options.sample_every_ms);
  }

  Result<Supervised> run() {
    while (!ended_) TRY(step());
    drain();
    flush();
    show_rest();
    raw_.leave();
    if (failure_) return std::move(*failure_);
    for (const std::optional<redact::Stream>& stream : redact_)
      if (stream)
        for (const auto& [kind, count] : stream->counts()) result_.redacted[kind] += count;
    return std::move(result_);
  }

 private:
  // How long a program has after a request to end, and how long an echo may be held back, in
  // milliseconds.
  static constexpr int64_t kGraceMs = 5000, kEchoMs = 20;
  // How long remaining output waits for a reader that takes nothing of it, after a limit or
  // somebody ended the run.
  static constexpr int64_t kLimitedReaderMs = 10'000, kEndedReaderMs = 1'000;

  enum Source { kFromOut, kFromErr, kFromTerminal, kSources };

  enum Slot {
    kControl,
    kSignals,
    kOut,
    kErr,
    kMaster,
    kStdin,
    kInPipe,
    kNetwork,
    kCaller,
    kOwnOut,
    kOwnErr,
    kSlots
  };

  // One round: wait, then handle everything that is ready. The keeper's record comes last, so that
  // output which is already there is taken before the end is noticed.
  Result<void> step() {
    std::array<pollfd, kSlots> polled;
    for (pollfd& entry : polled) entry = {-1, POLLIN, 0};
    polled[kControl].fd = keeper_.control.get();
    polled[kSignals].fd = signals_.fd();
    // While our own reader takes nothing, nothing is taken from the program: it waits, as it would
    // without us.
    if (!own_out_.is_full()) polled[kOut].fd = streams_.out.get();
    if (!own_err_.is_full()) polled[kErr].fd = streams_.err.get();
    short terminal = static_cast<short>((own_out_.is_full() ? 0 : POLLIN) |
                                        (pending_keys_.empty() ? 0 : POLLOUT));
    if (terminal) polled[kMaster] = {master_.get(), terminal, 0};
    if (own_out_.is_full()) polled[kOwnOut] = {own_out_.fd(), POLLOUT, 0};
    if (own_err_.is_full()) polled[kOwnErr] = {own_err_.fd(), POLLOUT, 0};
    polled[kNetwork].fd = network_closed_ ? -1 : options_.network;
    polled[kCaller].fd = caller_gone_ ? -1 : options_.caller;
    bool wants_input = pending_input_.empty() && !stdin_closed_ &&
                       (streams_.in || (master_ && streams_.stdin_is_terminal));
    if (wants_input) polled[kStdin].fd = STDIN_FILENO;
    if (streams_.in)
      polled[kInPipe] = {streams_.in.get(),
                         static_cast<short>(pending_input_.empty() ? 0 : POLLOUT), 0};
    int ready = ::poll(polled.data(), polled.size(), milliseconds_to_wait());
    if (ready < 0 && errno != EINTR) return errno_error(errno, "wait for the sandbox");
    ask_for_usage();
    show_what_is_typed();
    if (end_by_ && now_ms() >= *end_by_) {  // it was asked to end and did not
      end_by_.reset();
      return kill(-1);
    }
    if (polled[kOwnOut].revents) write_own(own_out_);
    if (polled[kOwnErr].revents) write_own(own_err_);
    if (polled[kOut].revents) read_output(streams_.out, kFromOut);
    if (polled[kErr].revents) read_output(streams_.err, kFromErr);
    if (polled[kMaster].revents & POLLOUT) write_keys();
    if (polled[kMaster].revents & ~POLLOUT) read_output(master_, kFromTerminal);
    if (polled[kStdin].revents) read_input();
    if (polled[kInPipe].revents) write_input();
    if (polled[kNetwork].revents) network_closed_ = !options_.on_network();
    if (polled[kSignals].revents) pass_signals();
    if (polled[kCaller].revents) {  // nothing is ever said on it: that was its end
      caller_gone_ = true;
      TRY(kill(-1));
    }
    if (polled[kControl].revents) TRY(from_keeper());
    return {};
  }

  // The time until something has to be done without being woken: a program that was asked to end, a
  // sample of its usage, an echo.
  int milliseconds_to_wait() const {
    int64_t next = std::min({end_by_.value_or(INT64_MAX), next_usage_.value_or(INT64_MAX),
                             show_by_.value_or(INT64_MAX)});
    if (next == INT64_MAX) return -1;
    return static_cast<int>(std::clamp<int64_t>(next - now_ms(), 0, INT_MAX));
  }

  // Shows the first letters of a word that could become a secret, because whoever types them waits
  // for their echo.
  void show_what_is_typed() {
    if (!show_by_ || now_ms() < *show_by_) return;
    show_by_.reset();
    shown_.clear();
    redact_[kFromTerminal]->idle(shown_);
    show(shown_, kFromTerminal);
  }

  // There is one question at a time, so that a slow keeper is not asked more often.
  void ask_for_usage() {
    if (!next_usage_ || now_ms() < *next_usage_) return;
    int64_t every = static_cast<int64_t>(options_.sample_every_ms);
    next_usage_ = std::max(*next_usage_ + every, now_ms() + every / 2);
    if (!std::exchange(asked_for_usage_, true))
      (void)launch::send_record(keeper_.control.get(), Record{.kind = Record::Kind::usage});
  }

  static int64_t now_ms() {
    timespec time;
    (void)::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
  }

  // A closed socket means that the keeper was killed: it always reports before it closes.
  Result<void> from_keeper() {
    launch::Received received = TRY(launch::receive_record(keeper_.control.get()));
    if (received.closed) {
      result_.keeper_died = true;
      ended_ = true;
      return {};
    }
    const Record& record = received.record;
    switch (record.kind) {
      case Record::Kind::built:
        if (received.descriptors.empty()) return {};
        master_ = std::move(received.descriptors[0]);
        // A program that does not read its keys must not block us.
        (void)::fcntl(master_.get(), F_SETFL, O_NONBLOCK);
        if (streams_.stdin_is_terminal) raw_.enter(STDIN_FILENO);
        return {};
      case Record::Kind::ready:
        if (options_.on_ready) {
          Result<void> checked = options_.on_ready(record);
          if (!checked) failure_ = std::move(checked.error());
        }
        if (failure_) return kill(-1);
        (void)launch::send_record(keeper_.control.get(), Record{.kind = Record::Kind::go});
        return {};
      case Record::Kind::usage:
        asked_for_usage_ = false;
        return options_.on_usage(launch::LivingUsage::from_record(record)) ? kill(-1)
                                                                           : Result<void>();
      case Record::Kind::not_run: result_.not_run = record.number; return {};
      case Record::Kind::failed:
        if (!failure_) failure_ = launch::to_error(record);
        ended_ = true;
        return {};
      case Record::Kind::ended:
        result_.ended = launch::Ended::from_record(record);
        ended_ = true;
        return {};
      default: return {};
    }
  }

  // Asks the keeper to end the sandbox. `limit` is the LimitKind that ended it, or -1 for none. A
  // keeper that cannot be reached any more is noticed by its closed socket.
  Result<void> kill(int32_t limit) {
    (void)launch::send_record(keeper_.control.get(),
                              Record{.kind = Record::Kind::kill, .number = limit});
    return {};
  }

  // Reads once. False at the end of the stream.
  bool read_output(Fd& from, Source source) {
    char buffer[65536];
    ssize_t count = ::read(from.get(), buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return errno == EINTR;
    if (count <= 0) {  // a terminal whose last user is gone says EIO
      from.reset();
      return false;
    }
    take_output(std::string_view(buffer, static_cast<size_t>(count)), source);
    if (options_.tell_output && !ended_)
      (void)launch::send_record(keeper_.control.get(), Record{.kind = Record::Kind::alive});
    return true;
  }

  // Counts before redacting: the limit is on what the program wrote. What is beyond it is cut and
  // ends the run.
  void take_output(std::string_view bytes, Source source) {
    uint64_t room = options_.output_limit ? options_.output_limit - std::min(options_.output_limit,
                                                                             result_.output_bytes)
                                          : bytes.size();
    result_.output_bytes += bytes.size();
    if (bytes.size() > room) {
      bytes = bytes.substr(0, room);
      (source == kFromErr ? result_.err_truncated : result_.out_truncated) = true;
      if (!result_.output_hit) (void)kill(static_cast<int32_t>(LimitKind::output));
      result_.output_hit = true;
    }
    std::optional<redact::Stream>& stream = redact_[source];
    if (!stream) stream.emplace(options_.rules());
    shown_.clear();
    stream->feed(bytes, shown_);
    show(shown_, source);
    if (source != kFromTerminal) return;
    show_by_.reset();
    if (stream->holds() && !is_cut(source)) show_by_ = now_ms() + kEchoMs;
  }

  bool is_cut(Source source) const {
    return source == kFromErr ? result_.err_truncated : result_.out_truncated;
  }

  // `bytes` are redacted already.
  void show(const std::string& bytes, Source source) {
    bool is_err = source == kFromErr;
    if (options_.capture) {
      (is_err ? result_.err : result_.out) += bytes;
      return;
    }
    result_.tail += bytes;
    if (result_.tail.size() > 2 * kTail) result_.tail.erase(0, result_.tail.size() - kTail);
    OutputDescriptor& outlet = is_err ? own_err_ : own_out_;
    if (outlet.is_closed() || bytes.empty()) return;
    outlet.add(bytes);
    if (outlet.is_closed()) on_closed(outlet);
  }

  void write_own(OutputDescriptor& outlet) {
    (void)outlet.write();
    if (outlet.is_closed()) on_closed(outlet);
  }

  // Nobody reads any more. Without us the program would get SIGPIPE here, so its sandbox ends.
  void on_closed(const OutputDescriptor& outlet) {
    if (&outlet == &own_out_ && !ended_) (void)kill(-1);
  }

  // The sandbox is gone, and what it printed last waits for its reader. It does not wait for ever
  // if the run was ended, or if we are asked to end.
  void show_rest() {
    int64_t last = now_ms();
    while (own_out_.is_full() || own_err_.is_full()) {
      int64_t patience = asked_to_end_                                        ? kEndedReaderMs
                         : result_.ended.killed_by >= 0 || result_.output_hit ? kLimitedReaderMs
                                                                              : INT_MAX;
      int64_t left = std::max<int64_t>(0, last + patience - now_ms());
      pollfd polled[3] = {{signals_.fd(), POLLIN, 0},
                          {own_out_.is_full() ? own_out_.fd() : -1, POLLOUT, 0},
                          {own_err_.is_full() ? own_err_.fd() : -1, POLLOUT, 0}};
      int ready = left == 0 ? 0 : ::poll(polled, 3, static_cast<int>(left));
      if (ready == 0) {
        result_.out_truncated = result_.out_truncated || own_out_.is_full();
        result_.err_truncated = result_.err_truncated || own_err_.is_full();
        own_out_.drop();
        own_err_.drop();
        return;
      }
      if (ready < 0) continue;
      while (int number = signals_.next()) asked_to_end_ = asked_to_end_ || number != SIGWINCH;
      bool out = own_out_.write(), err = own_err_.write();
      if (out || err) last = now_ms();
    }
  }

  // Called only while pending_input_ is empty, so at most one read is ever held.
  void read_input() {
    char buffer[65536];
    ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
      stdin_closed_ = true;
      if (pending_input_.empty()) streams_.in.reset();
      return;
    }
    std::string_view bytes(buffer, static_cast<size_t>(count));
    if (!streams_.in) return type_into_terminal(bytes);
    pending_input_.assign(bytes);
    write_input();
  }

  // Any error but "try again" means that the program closed its stdin.
  void write_input() {
    ssize_t count = pending_input_.empty()
                        ? 0
                        : ::write(streams_.in.get(), pending_input_.data(), pending_input_.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0 || pending_input_.empty()) {  // the program closed its stdin
      streams_.in.reset();
      pending_input_.clear();
      stdin_closed_ = true;
      return;
    }
    pending_input_.erase(0, static_cast<size_t>(count));
    if (pending_input_.empty() && stdin_closed_) streams_.in.reset();
  }

  // A second Ctrl-C in a row ends a program that leaves the keys to its terminal; one that reads
  // keys itself gets it.
  void type_into_terminal(std::string_view bytes) {
    for (char key : bytes) {
      if (key != '\x03')
        interrupts_ = 0;
      else if (is_cooked(master_.get()) && ++interrupts_ >= 2)
        return end_by_user();
    }
    pending_keys_ += bytes;
    write_keys();
  }

  void write_keys() {
    ssize_t count = ::write(master_.get(), pending_keys_.data(), pending_keys_.size());
    if (count > 0) pending_keys_.erase(0, static_cast<size_t>(count));
  }

  // The program gets the same signal. SIGTERM and SIGHUP also start the time after which it is
  // killed.
  void pass_signals() {
    while (int number = signals_.next()) {
      if (number == SIGWINCH) {
        if (master_)
          set_window_size(master_.get(),
                          window_size(streams_.stdout_is_terminal ? STDOUT_FILENO : STDIN_FILENO));
        continue;
      }
      if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
        asked_to_end_ = true;
      if (number == SIGINT && ++interrupts_ >= 2) return end_by_user();
      if ((number == SIGTERM || number == SIGHUP) && !end_by_) end_by_ = now_ms() + kGraceMs;
      (void)launch::send_record(keeper_.control.get(),
                                Record{.kind = Record::Kind::signal, .number = number});
    }
  }

  // On the second Ctrl-C the program is not asked any more.
  void end_by_user() {
    result_.killed_by_user = true;
    (void)kill(-1);
  }

  // Everything written before the end has arrived in our pipes by now. Non-blocking: a descriptor
  // that somehow survived must not hang us.
  void drain() {
    for (auto [fd, source] : {std::pair{&streams_.out, kFromOut},
                              {&streams_.err, kFromErr},
                              {&master_, kFromTerminal}}) {
      if (!*fd) continue;
      (void)::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
      while (*fd && read_output(*fd, source)) {}
    }
  }

  // Bytes that are held back where the limit cut the output may begin a secret whose rest nobody
  // will see, so they are dropped.
  void flush() {
    for (Source source : {kFromOut, kFromErr, kFromTerminal}) {
      if (!redact_[source] || is_cut(source)) continue;
      shown_.clear();
      redact_[source]->finish(shown_);
      show(shown_, source);
    }
  }

  launch::KeeperProcess keeper_;
  Streams streams_;
  const SupervisorOptions& options_;
  Signals signals_;
  RawTerminal raw_;
  Fd master_;
  // Each is made when its first byte comes.
  std::array<std::optional<redact::Stream>, kSources> redact_;
  std::string shown_;
  std::string pending_input_, pending_keys_;  // for a pipe, for a terminal
  OutputDescriptor own_out_{STDOUT_FILENO}, own_err_{STDERR_FILENO};
  bool stdin_closed_ = false, network_closed_ = false, caller_gone_ = false;
  bool asked_to_end_ = false;  // by a signal
  int interrupts_ = 0;
  std::optional<int64_t> end_by_, next_usage_, show_by_;  // CLOCK_MONOTONIC in ms
  bool asked_for_usage_ = false;
  bool ended_ = false;
  std::optional<Error> failure_;
  Supervised result_;
};

}  // namespace

Result<Supervised> supervise(launch::KeeperProcess keeper, Streams streams,
                             const SupervisorOptions& options) {
  return Supervisor(std::move(keeper), std::move(streams), options).run();
}

}  // namespace paddock::runs
