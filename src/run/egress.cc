#include "run/egress.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>

#include "base/base64.h"
#include "base/text.h"
#include "launch/channel.h"
#include "launch/launcher.h"
#include "monitor/judge.h"
#include "run/secrets.h"

namespace paddock::runs {

namespace {

// An answer holds the bundle of all authorities, or the summary of a run, so it can be large.
constexpr size_t kLongestAnswer = 16 << 20;
constexpr int kAnswerMs = 30'000;  // an egress that does not answer for so long will not
// A reload happens on the server's loop, so everything else waits for it.
constexpr int kReloadMs = 2'000;

// A secret that is injected by egress must not be in the sandbox's environment as well.
Result<std::string> secret_to_inject(const InjectPolicy& inject, const EnvPolicy& env) {
  if (starts_with(inject.secret, "env:")) {
    std::string name = inject.secret.substr(4);
    if (env.pass && std::find(env.pass->begin(), env.pass->end(), name) != env.pass->end())
      return Error{
          Code::invalid,
          cat("network.inject keeps ", name, " out of the sandbox, but env.pass passes it in"),
          cat("take ", name, " out of env.pass")};
  }
  return read_secret(inject.secret, cat("network.inject for ", inject.host));
}

// Uses send(2), because egress may be gone, and SIGPIPE must not end us.
Result<void> send_line(int socket, const Value& value, int patience = kAnswerMs) {
  std::string line = to_json(value) + "\n";
  for (size_t sent = 0; sent < line.size();) {
    ssize_t count =
        ::send(socket, line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    pollfd writable{socket, POLLOUT, 0};
    if (count < 0 && errno == EAGAIN && ::poll(&writable, 1, patience) > 0) continue;
    if (count < 0) return errno_error(errno, "tell the egress process");
    sent += static_cast<size_t>(count);
  }
  return {};
}

}  // namespace

// Parsed by hand, as there are many of these lines, and no other line begins like this.
std::optional<LiveNetwork> parse_live(std::string_view line) {
  constexpr std::string_view kBegin = "{\"live\":[";
  if (!starts_with(line, kBegin)) return std::nullopt;
  LiveNetwork live;
  const char *at = line.data() + kBegin.size(), *end = line.data() + line.size();
  for (uint64_t* number : {&live.up, &live.down, &live.connections}) {
    std::from_chars_result read = std::from_chars(at, end, *number);
    if (read.ec != std::errc() || read.ptr == end || *read.ptr != ',') return std::nullopt;
    at = read.ptr + 1;
  }
  std::from_chars_result read = std::from_chars(at, end, live.time_ms);
  if (read.ec != std::errc() || live.time_ms <= 0 ||
      std::string_view(read.ptr, static_cast<size_t>(end - read.ptr)) != "]}")
    return std::nullopt;
  return live;
}

// The secrets are read here, by the caller, so that egress itself needs no access to files or
// variables.
Result<egress::Settings> egress_settings(const Policy& policy, const std::string& sandbox) {
  egress::Settings settings;
  settings.sandbox = sandbox;
  settings.allow = policy.network.allow.value_or(std::vector<std::string>());
  settings.deny = policy.network.deny;
  settings.granted = policy.network.granted;
  settings.strict = policy.network.strict.value_or(false);
  settings.resolvers = policy.network.resolvers.value_or(std::vector<std::string>());
  for (const InjectPolicy& inject : policy.network.inject) {
    std::string secret = TRY(secret_to_inject(inject, policy.env)), value = inject.format;
    value.replace(value.find("{}"), 2, secret);
    settings.inject.push_back({inject.host, inject.header, value, secret});
  }
  settings.connections = policy.limits[LimitKind::connections].value_or(0);
  settings.up_rate = policy.limits[LimitKind::net_up_rate].value_or(0);
  settings.down_rate = policy.limits[LimitKind::net_down_rate].value_or(0);
  settings.total = policy.limits[LimitKind::net_total].value_or(0);
  // Twice as often as they are read, so that each reading finds something new.
  if (!policy.monitor.rules.empty())
    settings.live_ms = std::min(kLiveMs, monitor::every_ms(policy.monitor) / 2);
  return settings;
}

Result<std::unique_ptr<Egress>> Egress::start(egress::Settings settings, bool privileged) {
  std::unique_ptr<Egress> egress(new Egress);
  if (privileged) {
    egress->uid_ = TRY(take_uid_slot());
    settings.uid = egress->uid_->uid;
  }
  std::string program = TRY(launch::find_program("paddock-egress"));
  auto [control, its_control] = TRY(launch::make_channel());
  auto [events, its_events] = TRY(launch::make_channel());
  auto [sandbox, its_sandbox] = TRY(launch::make_channel());
  // High numbers first, so that no dup2 below overwrites a descriptor that another one still needs.
  int high[3], wanted[3] = {egress::kControl, egress::kEvents, egress::kSandbox};
  const Fd* theirs[3] = {&its_control, &its_events, &its_sandbox};
  std::vector<Fd> copies;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i) {
    copies.emplace_back(::fcntl(theirs[i]->get(), F_DUPFD_CLOEXEC, 16));
    high[i] = copies.back().get();
    ::posix_spawn_file_actions_adddup2(&actions, high[i], wanted[i]);
  }
  const char* argv[] = {"paddock-egress", nullptr};
  char* env[] = {nullptr};
  int failed = ::posix_spawn(&egress->pid_, program.c_str(), &actions, nullptr,
                             const_cast<char* const*>(argv), env);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    egress->pid_ = -1;
    return errno_error(failed, cat("start '", program, "'"),
                       "build or install all of Paddock's programs together");
  }
  egress->control_ = std::move(control);
  egress->events_ = std::move(events);
  egress->sandbox_ = std::move(sandbox);
  egress->settings_ = std::move(settings);
  Value order;
  order.set("settings", egress::to_value(egress->settings_));
  TRY(send_line(egress->control_.get(), order));
  return egress;
}

// The pidfd is opened while the process is still our child, and so cannot mean another one.
Result<std::vector<int>> Egress::handover() {
  pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_) return errno_error(errno, "hold on to the egress process");
  std::vector<int> held{control_.get(), events_.get(), pidfd_.get()};
  if (uid_) held.push_back(uid_->lock.get());
  return held;
}

std::unique_ptr<Egress> Egress::adopt(const std::string& sandbox, Fd control) {
  std::unique_ptr<Egress> egress(new Egress);
  char stale[4096];  // an answer that the server before did not live to read
  while (::recv(control.get(), stale, sizeof stale, MSG_DONTWAIT) > 0) {}
  egress->control_ = std::move(control);
  egress->settings_.sandbox = sandbox;
  egress->settings_.live_ms = kLiveMs;
  return egress;
}

// Closing the control socket is enough for egress to end; the signal makes sure.
Egress::~Egress() {
  control_.reset();
  if (pid_ <= 0) return;
  (void)::kill(pid_, SIGKILL);
  (void)::waitpid(pid_, nullptr, 0);
}

// With `reads_events`, the events that egress still sends are read meanwhile; otherwise it would
// wait for us.
Result<Value> Egress::read_answer(bool reads_events, int patience) {
  std::string line;
  char buffer[65536];
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience);
  while (line.empty() || line.back() != '\n') {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                    end - std::chrono::steady_clock::now())
                    .count();
    pollfd waiting[2] = {{control_.get(), POLLIN, 0},
                         {reads_events ? events_.get() : -1, POLLIN, 0}};
    int ready = ::poll(waiting, 2, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready > 0 && waiting[1].revents) (void)read_events();
    if (ready > 0 && !waiting[0].revents) continue;
    ssize_t count = ready > 0 ? ::read(control_.get(), buffer, sizeof buffer) : 0;
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || line.size() > kLongestAnswer)
      return Error{Code::internal, "the egress process ended without an answer",
                   "see the kernel log for an out-of-memory kill"};
    line.append(buffer, static_cast<size_t>(count));
  }
  return parse_answer(line);
}

// A refusal comes as a message for people, and becomes an error with that text.
Result<Value> Egress::parse_answer(const std::string& line) {
  Value answer = TRY(parse_json(line, "egress"));
  if (const Value* refused = answer.find("refused"))
    return Error{
        Code::unsupported,
        cat("the network cannot be opened: ", refused->as_string() ? *refused->as_string() : ""),
        ""};
  return answer;
}

Result<Value> Egress::ask(const Value& order, bool reads_events, int patience) {
  std::lock_guard<std::mutex> lock(asking_);
  TRY(send_line(control_.get(), order, patience));
  return read_answer(reads_events, patience);
}

Result<Egress::Ready> Egress::await_ready() {
  return parse_ready(TRY(read_answer(false, kAnswerMs)));
}

// The socket is duplicated, so that the loop forgets it at the end while the original stays open.
io::Task<Result<Egress::Ready>> Egress::await_ready(io::Loop& loop) {
  io::Milliseconds deadline = loop.now() + kAnswerMs;
  Fd copy(::fcntl(control_.get(), F_DUPFD_CLOEXEC, 0));
  io::Socket socket(loop, std::move(copy));
  std::string line;
  char buffer[4096];
  while (line.empty() || line.back() != '\n') {
    ssize_t count = ::recv(control_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      socket.not_readable();
      bool in_time = co_await socket.readable(deadline);
      if (!in_time)
        count = 0;
      else
        continue;
    }
    if (count <= 0 || line.size() > kLongestAnswer)
      co_return Error{Code::internal, "the egress process ended without an answer",
                      "see the kernel log for an out-of-memory kill"};
    line.append(buffer, static_cast<size_t>(count));
  }
  CO_TRY(Value answer, parse_answer(line));
  co_return parse_ready(answer);
}

Result<Egress::Ready> Egress::parse_ready(const Value& answer) {
  const Value* ready = answer.find("ready");
  if (!ready) return Error{Code::internal, "the egress process said something unexpected", ""};
  return Ready{text_in(*ready, "certificate"), text_in(*ready, "bundle"),
               TRY(from_base64(text_in(*ready, "java")))};
}

// An egress that refused keeps its old rules. One that did not answer is ended, since nobody knows
// which rules it has.
Result<void> Egress::reload(const Policy& policy) {
  egress::Settings settings = TRY(egress_settings(policy, settings_.sandbox));
  settings.uid = settings_.uid;
  if (!settings.live_ms) settings.live_ms = settings_.live_ms;
  Value order;
  order.set("settings", egress::to_value(settings));
  if (!control_)
    return Error{Code::io,
                 "change the network: its egress process was ended, since it did not answer", ""};
  Result<Value> taken = ask(order, false, kReloadMs);
  if (!taken && taken.error().code != Code::unsupported) end_now();
  if (!taken) return std::move(taken.error());
  settings_ = std::move(settings);
  return {};
}

// Prefers no network to one whose rules are unknown. A process that another server started ends
// with its control socket.
void Egress::end_now() {
  (void)::shutdown(control_.get(), SHUT_RDWR);
  control_.reset();
  if (pid_ > 0) (void)::kill(pid_, SIGKILL);
}

void Egress::add_secrets(std::map<std::string, std::string>& secrets) const {
  for (const egress::Inject& inject : settings_.inject)
    secrets.emplace(cat(inject.host, " ", inject.header), inject.secret);
}

// Called from the supervisor's loop, so it must not block.
bool Egress::read_events() {
  char buffer[65536];
  while (true) {
    ssize_t count = ::recv(events_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return true;
    if (count <= 0) {
      events_.reset();
      return false;
    }
    lines_.append(buffer, static_cast<size_t>(count));
    take_lines();
  }
}

void Egress::take_lines() {
  size_t start = 0;
  for (size_t end = lines_.find('\n'); end != std::string::npos; end = lines_.find('\n', start)) {
    std::string line = lines_.substr(start, end - start);
    start = end + 1;
    if (std::optional<LiveNetwork> live = parse_live(line)) {
      live_ = *live;
      continue;
    }
    if (on_entry) on_entry(line);
    if (entries_.size() < kMostEntries)
      entries_.push_back(std::move(line));
    else
      ++entries_left_out_;
  }
  lines_.erase(0, start);
}

// Turns egress's summary into the parts of a result.
void Egress::take_summary(const Value& summary, RunResult& result) {
  result.usage.net_tx_bytes = count_in(summary, "bytes_up");
  result.usage.net_rx_bytes = count_in(summary, "bytes_down");
  if (count_in(summary, "connections_refused"))
    result.limits_hit.push_back(
        {LimitKind::connections, settings_.connections, count_in(summary, "connections_peak")});
  const Value* total = summary.find("total_reached");
  if (total && total->as_bool() && *total->as_bool())
    result.limits_hit.push_back({LimitKind::net_total, settings_.total,
                                 count_in(summary, "bytes_up") + count_in(summary, "bytes_down")});
  const Value* denials = summary.find("denials");
  if (denials && denials->as_array())
    for (const Value& denial : *denials->as_array())
      result.denials.push_back(
          {"network", text_in(denial, "action"), text_in(denial, "rule"), text_in(denial, "why")});
  for (const std::string& host : texts_in(summary, "secrets_in_the_clear"))
    result.notes.push_back(cat("a secret of network.inject went to ", host, " without TLS"));
  for (const std::string& host : texts_in(summary, "secrets_withheld"))
    result.notes.push_back(
        cat("requests to ", host,
            " went without the header of network.inject, which would be readable on its way; list ",
            host, " in network.allow to send it all the same"));
  if (uint64_t more = count_in(summary, "denials_left_out"))
    result.notes.push_back(cat(more, " more denials on the network are not listed"));
}

// The events are read while waiting for the summary, so that the last entries are not lost.
void Egress::finish(RunResult& result) {
  Value order, summary;
  order.set("finish", true);
  Result<Value> answer = ask(order, true, kAnswerMs);
  if (events_) (void)read_events();
  const Value* found = answer ? answer.value().find("summary") : nullptr;
  if (found)
    take_summary(*found, result);
  else
    result.notes.push_back(
        cat("the network's summary is lost: ",
            answer ? "egress said something unexpected" : answer.error().message));
  // The entries are JSON already.
  std::string hosts = "[]";
  if (const Value* list = found ? found->find("hosts") : nullptr) hosts = to_json(*list);
  entries_lost_ = found ? count_in(*found, "entries_dropped") : 0;
  uint64_t dropped = entries_left_out_ + entries_lost_;
  result.network = cat("{\"requests\":[", join(entries_, ","), "],\"requests_dropped\":", dropped,
                       ",\"hosts\":", hosts, "}");
}

}  // namespace paddock::runs
