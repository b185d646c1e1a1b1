#include "living/life.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"
#include "base/units.h"
#include "guest/protocol.h"
#include "launch/living.h"
#include "linux/cgroup.h"

namespace paddock::living {

using launch::Record;

namespace {

constexpr io::Milliseconds kAttachMs = 20'000, kHelloMs = 20'000, kEndMs = 30'000, kReapMs = 10'000;
constexpr io::Milliseconds kGuestGraceMs = 500;  // for its keeper to say why
constexpr io::Milliseconds kCheckEveryMs = 20'000, kSignOfLifeMs = 30'000;
constexpr size_t kLongestLogLine = 256 << 10;  // of the request log

}  // namespace

io::Task<void> remove_cgroups(io::Loop& loop, std::vector<std::string> directories) {
  for (const std::string& directory : directories) {
    for (int attempt = 0; attempt < 500 && !kernel::end_cgroup(directory); ++attempt)
      co_await loop.sleep(10);
  }
}

std::string why_of(const LimitHit& hit) {
  return cat("limit ", info(hit.limit).name, "=", format_limit(info(hit.limit), hit.value));
}

void Instance::Life::begin() { io::spawn(follow(shared_from_this())); }

// Runs until the keeper is gone. Then what it left is removed, and the owner is notified.
io::Task<void> Instance::Life::follow(std::shared_ptr<Life> life) {
  io::Milliseconds forever = io::Wait::kForever;
  (void)co_await life->keeper->wait_for_end(forever);
  if ((!life->owner && !life->killed) || life->keeper->is_replaced()) {  // let go of: it lives on
    life->ended.happen();
    co_return;
  }
  co_await life->reap_keeper();
  co_await remove_cgroups(life->loop, life->facts.cgroups);  // for one that was killed
  life->egress.reset();
  InstanceFacts::remove(life->directory);
  if (life->guest) {
    life->guest->on_gone = nullptr;
    life->guest->close();
  }
  life->ended.happen();
  Instance* owner = life->owner;
  if (!owner || life->killed || !owner->on_end) co_return;
  InstanceEnd end = life->why();
  std::exchange(owner->on_end, nullptr)(std::move(end));
}

// A keeper that this process started must be waited for by it.
io::Task<void> Instance::Life::reap_keeper() {
  if (keeper_pid <= 0) co_return;
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, keeper_pid, 0)));
  if (pidfd) {
    io::Socket gone(loop, std::move(pidfd));
    io::Milliseconds deadline = loop.now() + kReapMs;
    gone.not_readable();
    while (::waitpid(keeper_pid, nullptr, WNOHANG) == 0) {
      bool in_time = co_await gone.readable(deadline);
      if (!in_time) (void)::kill(keeper_pid, SIGKILL);
      deadline = loop.now() + kReapMs;
      gone.not_readable();
    }
  }
  keeper_pid = -1;
}

// The most specific reason that is known: our own, the keeper's last record, or that there was
// none.
InstanceEnd Instance::Life::why() const {
  if (gave_up) return {{}, guest_trouble};
  const std::optional<Record>& last = keeper->last_words();
  if (!last) return {{}, "the keeper was killed"};
  if (last->kind == Record::Kind::failed) return {{}, launch::to_error(*last).message};
  launch::Ended ended = launch::Ended::from_record(*last);
  if (ended.killed_by < 0 || ended.killed_by >= static_cast<int32_t>(kLimitCount))
    return {{}, std::string(last->text, ::strnlen(last->text, sizeof last->text))};
  LimitKind kind = static_cast<LimitKind>(ended.killed_by);
  auto limit = facts.limits.find(kind);
  LimitHit hit{kind, limit == facts.limits.end() ? 0 : limit->second, 0};
  if (kind == LimitKind::memory) hit.peak = ended.memory_peak;
  if (kind == LimitKind::pids) hit.peak = ended.pids_peak;
  if (kind == LimitKind::disk) hit.peak = ended.disk_bytes;
  if (kind == LimitKind::inodes) hit.peak = ended.disk_inodes;
  if (kind == LimitKind::cpu_time) hit.peak = ended.cpu_us / 1000;
  return {hit, why_of(hit)};
}

// Each attachment replaces the guest's stream. The egress sockets come along for every server.
io::Task<Result<void>> Instance::Life::attach() {
  Record question{.kind = Record::Kind::attach};
  Result<launch::Received> answer = co_await keeper->ask(question, kAttachMs);
  if (!answer) co_return answer.error();
  std::vector<Fd>& descriptors = answer.value().descriptors;
  if (descriptors.empty())
    co_return Error{Code::internal, "attach to the sandbox: the keeper gave no stream", ""};
  (void)::fcntl(descriptors[0].get(), F_SETFL, O_NONBLOCK);
  greeted = false;
  guest = guest::Client::create(loop, std::move(descriptors[0]));
  std::weak_ptr<Life> weak = weak_from_this();
  guest->on_gone = [weak](const Error& why) {
    std::shared_ptr<Life> life = weak.lock();
    if (!life || life->killed) return;
    life->guest_trouble = why.message;
    io::spawn(give_up_guest(life));
  };
  if (descriptors.size() >= 3) {
    if (!egress) egress = runs::Egress::adopt(id, std::move(descriptors[1]));
    io::spawn(read_network(shared_from_this(), std::move(descriptors[2])));
  }
  bool frozen = answer.value().record.numbers[0] != 0;
  if (frozen && facts.freezer) co_return Result<void>();  // it cannot answer
  Result<void> hello = co_await greet();
  co_return hello;
}

// Holds the client meanwhile: a new attachment may replace it.
io::Task<Result<void>> Instance::Life::greet() {
  io::Milliseconds deadline = loop.now() + kHelloMs;
  std::shared_ptr<guest::Client> client = guest;
  Result<Value> hello = co_await client->shake_hands(deadline);
  if (!hello) co_return hello.error();
  greeted = true;
  co_return Result<void>();
}

// The guest's stream broke. Usually the guest is gone and the keeper says more. Otherwise it does
// not speak the protocol, and the sandbox has to go.
io::Task<void> Instance::Life::give_up_guest(std::shared_ptr<Life> life) {
  // Not wait_for_end(): follow() and end() wait there already, and a bell takes two.
  io::Milliseconds deadline = life->loop.now() + kGuestGraceMs;
  while (!life->keeper->is_over() && life->loop.now() < deadline) co_await life->loop.sleep(20);
  if (life->keeper->is_over() || !life->owner) co_return;
  life->gave_up = true;
  life->keeper->tell({.kind = Record::Kind::kill, .number = -1});
}

// Called with each look at the usage, but asks only every kCheckEveryMs.
void Instance::Life::check_guest() {
  if (checking || killed || !greeted || guest->is_gone() || loop.now() < next_check) return;
  next_check = loop.now() + kCheckEveryMs;
  checking = true;
  io::spawn(await_sign_of_life(shared_from_this()));
}

// Asks twice, since the first answer seems late when this process itself was stopped for a while.
io::Task<void> Instance::Life::await_sign_of_life(std::shared_ptr<Life> life) {
  uint64_t pauses = life->pauses;
  bool late = true;
  std::shared_ptr<guest::Client> client = life->guest;
  Value question = guest::to_value(guest::MetricsRequest{});
  for (int attempt = 0; late && attempt < 2; ++attempt) {
    io::Milliseconds deadline = life->loop.now() + kSignOfLifeMs;
    Result<Value> answer = co_await client->ask(question, deadline);
    late = !answer && answer.error().kind == Kind::deadline_exceeded;
  }
  life->checking = false;
  if (!late || life->killed || !life->owner || pauses != life->pauses) co_return;
  life->guest_trouble = "the guest does not answer";
  life->gave_up = true;
  client->close();
  life->keeper->tell({.kind = Record::Kind::kill, .number = -1});
}

// Lines of the request log are passed on; the sums are kept. A line without an end must not fill
// the memory.
io::Task<void> Instance::Life::read_network(std::shared_ptr<Life> life, Fd events) {
  io::Socket socket(life->loop, std::move(events));
  std::string lines;
  char buffer[16384];
  while (true) {
    ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      socket.not_readable();
      (void)co_await socket.readable();
      continue;
    }
    if (count <= 0 || !life->owner) co_return;
    lines.append(buffer, static_cast<size_t>(count));
    size_t start = 0;
    for (size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', start)) {
      std::string line = lines.substr(start, end - start);
      start = end + 1;
      if (std::optional<runs::LiveNetwork> live = runs::parse_live(line)) {
        life->network = *live;
        life->network_known = true;
        continue;
      }
      if (life->owner && life->owner->on_network) life->owner->on_network(line);
    }
    lines.erase(0, start);
    if (lines.size() > kLongestLogLine) lines.clear();
    co_await life->loop.yield();
  }
}

// Several callers may ask for the end; all wait for the same one.
io::Task<void> Instance::Life::end() {
  std::shared_ptr<Life> life = shared_from_this();
  if (killed) {  // somebody else asked first
    co_await ended;
    co_return;
  }
  killed = true;
  keeper->tell({.kind = Record::Kind::kill, .number = -1});
  io::Milliseconds deadline = loop.now() + kEndMs;
  bool over = co_await keeper->wait_for_end(deadline);
  // The keeper hangs. If it is killed, PID 1 goes with it, and with that all processes.
  if (!over && keeper_pid > 0) (void)::kill(keeper_pid, SIGKILL);
  co_await ended;
}

}  // namespace paddock::living
