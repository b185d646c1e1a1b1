#include "launch/channel.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/text.h"

namespace paddock::launch {

namespace {

constexpr size_t kMaxDescriptors = 253;  // the kernel's SCM_MAX_FD
constexpr size_t kMaxPlan = 64 << 20;

struct Incoming {
  size_t size = 0;     // 0: the other side is gone, unless
  bool later = false;  // there is nothing yet
  pid_t sender = 0;
};

// Reads once, at most `size` bytes, and collects the descriptors that come along.
Result<Incoming> receive_some(int socket, void* bytes, size_t size, int flags,
                              std::vector<Fd>& descriptors) {
  iovec part{bytes, size};
  alignas(
      cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors) + CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t count;
  do count = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count < 0 && errno == ECONNRESET) return Incoming{};
  if (count < 0 && errno == EAGAIN) return Incoming{.later = true};
  if (count < 0) return errno_error(errno, "receive from another part of Paddock");
  Incoming incoming{.size = static_cast<size_t>(count)};
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    if (header->cmsg_type == SCM_RIGHTS) {
      size_t number = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < number; ++i) {
        int fd;
        std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
        descriptors.emplace_back(fd);
      }
    } else if (header->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials;
      std::memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
      incoming.sender = credentials.pid;
    }
  }
  return incoming;
}

// Reads exactly `size` bytes, or none if the other side is gone.
Result<Incoming> receive_exactly(int socket, void* bytes, size_t size,
                                 std::vector<Fd>& descriptors) {
  Incoming all;
  while (all.size < size) {
    Incoming incoming = TRY(receive_some(socket, static_cast<char*>(bytes) + all.size,
                                         size - all.size, 0, descriptors));
    if (incoming.size == 0 && all.size == 0) return all;
    if (incoming.size == 0)
      return Error{Code::io, "receive from another part of Paddock: cut short", ""};
    all.size += incoming.size;
    if (incoming.sender) all.sender = incoming.sender;
  }
  return all;
}

}  // namespace

Record Ended::to_record() const {
  Record record{.kind = Record::Kind::ended, .number = status};
  record.numbers = {static_cast<uint64_t>(static_cast<int64_t>(killed_by)),
                    cpu_us,
                    memory_peak,
                    pids_peak,
                    disk_bytes,
                    disk_inodes,
                    disk_full,
                    inodes_full,
                    oom_kills,
                    pids_refused,
                    wall_us};
  return record;
}

Ended Ended::from_record(const Record& record) {
  const auto& n = record.numbers;
  return Ended{record.number, static_cast<int32_t>(static_cast<int64_t>(n[0])),
               n[1],          n[2],
               n[3],          n[4],
               n[5],          n[6],
               n[7],          n[8],
               n[9],          n[10]};
}

Record LivingUsage::to_record() const {
  Record record{.kind = Record::Kind::usage};
  record.numbers = {cpu_us, memory,    memory_cache, memory_peak,     pids,
                    disk,   oom_kills, frozen,       paused_by_keeper};
  return record;
}

LivingUsage LivingUsage::from_record(const Record& record) {
  const auto& n = record.numbers;
  return LivingUsage{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7] != 0, n[8] != 0};
}

Record LifetimeOrder::to_record() const {
  Record record{.kind = Record::Kind::lifetime};
  record.numbers = {left_ms, idle_ms, pause, keep_memory};
  return record;
}

LifetimeOrder LifetimeOrder::from_record(const Record& record) {
  const auto& n = record.numbers;
  return LifetimeOrder{n[0], n[1], n[2] != 0, n[3] != 0};
}

Record RuleOrder::to_record() const {
  Record record{.kind = Record::Kind::rule};
  record.numbers = {first,
                    static_cast<uint64_t>(rule.action),
                    static_cast<uint64_t>(rule.metric),
                    std::bit_cast<uint64_t>(rule.above),
                    rule.of_limit,
                    rule.for_ms,
                    every_ms,
                    limit};
  std::strncpy(record.text, rule.name.c_str(), sizeof record.text - 1);
  std::strncpy(record.hint, rule.text.c_str(), sizeof record.hint - 1);
  return record;
}

std::optional<RuleOrder> RuleOrder::from_record(const Record& record) {
  const auto& n = record.numbers;
  if (n[1] > static_cast<uint64_t>(MonitorAction::kill) || n[2] >= std::size(kMonitorMetrics))
    return std::nullopt;
  RuleOrder order{.first = n[0] != 0, .rule = {}, .every_ms = n[6], .limit = n[7]};
  order.rule.action = static_cast<MonitorAction>(n[1]);
  order.rule.metric = static_cast<MonitorMetric>(n[2]);
  order.rule.above = std::bit_cast<double>(n[3]);
  order.rule.of_limit = n[4] != 0;
  order.rule.for_ms = n[5];
  order.rule.name.assign(record.text, ::strnlen(record.text, sizeof record.text));
  order.rule.text.assign(record.hint, ::strnlen(record.hint, sizeof record.hint));
  return order;
}

Record failure(const Error& error) {
  Record record{.kind = Record::Kind::failed, .number = static_cast<int32_t>(error.code)};
  std::strncpy(record.text, error.message.c_str(), sizeof record.text - 1);
  std::strncpy(record.hint, error.hint.c_str(), sizeof record.hint - 1);
  return record;
}

Error to_error(const Record& record) {
  auto bounded = [](const char* text, size_t size) {
    return std::string(text, ::strnlen(text, size));
  };
  Code code = record.number >= 0 && record.number <= static_cast<int>(Code::internal)
                  ? static_cast<Code>(record.number)
                  : Code::internal;
  return Error{code, bounded(record.text, sizeof record.text),
               bounded(record.hint, sizeof record.hint)};
}

Result<std::pair<Fd, Fd>> make_channel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return errno_error(errno, "make a socket pair");
  return std::pair<Fd, Fd>{Fd(ends[0]), Fd(ends[1])};
}

namespace {

ssize_t send_message(int socket, const msghdr& message) {
  ssize_t sent;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent;
}

// Descriptors in flight are counted for all processes of the user, and a program may have used up
// as many as its limit allows. Its limit is lower than our hard limit (kernel::set_rlimits), which
// counts here.
ssize_t send_with_all_descriptors(int socket, const msghdr& message) {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return -1;
  rlimit raised{before.rlim_max, before.rlim_max};
  (void)::setrlimit(RLIMIT_NOFILE, &raised);
  ssize_t sent = send_message(socket, message);
  int why = errno;
  (void)::setrlimit(RLIMIT_NOFILE, &before);
  errno = why;
  return sent;
}

}  // namespace

Result<void> send_bytes(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    if (descriptors.size() > kMaxDescriptors)
      return Error{Code::internal, "send: too many descriptors", ""};
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
  }
  ssize_t sent = send_message(socket, message);
  if (sent < 0 && errno == ETOOMANYREFS) sent = send_with_all_descriptors(socket, message);
  if (sent < 0) return errno_error(errno, "send to another part of Paddock");
  // The rest of a long block is sent without the descriptors.
  bytes.remove_prefix(static_cast<size_t>(sent));
  while (!bytes.empty()) {
    ssize_t more = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return errno_error(errno, "send to another part of Paddock");
    bytes.remove_prefix(static_cast<size_t>(more));
  }
  return {};
}

Result<void> send_record(int socket, const Record& record, const std::vector<int>& descriptors) {
  return send_bytes(socket, {reinterpret_cast<const char*>(&record), sizeof record}, descriptors);
}

Result<Received> receive_record(int socket) {
  Received received;
  Incoming incoming =
      TRY(receive_exactly(socket, &received.record, sizeof received.record, received.descriptors));
  received.closed = incoming.size == 0;
  received.sender = incoming.sender;
  return received;
}

Result<std::optional<Received>> RecordReader::read(int socket) {
  while (size_ < sizeof(Record)) {
    Incoming incoming = TRY(receive_some(socket, reinterpret_cast<char*>(&next_.record) + size_,
                                         sizeof(Record) - size_, MSG_DONTWAIT, next_.descriptors));
    if (incoming.later) return std::optional<Received>();
    next_.closed = incoming.size == 0;
    if (next_.closed) break;
    size_ += incoming.size;
  }
  size_ = 0;
  return std::optional<Received>(std::exchange(next_, Received{}));
}

Result<void> send_plan(int socket, const std::string& bytes, const std::vector<int>& descriptors) {
  Record announcement{.kind = Record::Kind::plan};
  announcement.numbers[0] = bytes.size();
  TRY(send_record(socket, announcement, descriptors));
  return send_bytes(socket, bytes, {});
}

// A caller that dies in the middle of sending is gone like any other, and what it was making must
// be known all the same.
Result<ReceivedPlan> receive_plan(int socket) {
  ReceivedPlan plan;
  while (true) {
    Result<Received> received = receive_record(socket);
    plan.closed = !received || received.value().closed;
    if (plan.closed) return plan;
    const Record& record = received.value().record;
    if (record.kind == Record::Kind::making)
      plan.making.assign(record.text, ::strnlen(record.text, sizeof record.text));
    if (record.kind != Record::Kind::plan) continue;
    if (record.numbers[0] == 0 || record.numbers[0] > kMaxPlan)
      return Error{Code::invalid, "receive the plan: impossible size", ""};
    plan.bytes.resize(record.numbers[0]);
    plan.descriptors = std::move(received.value().descriptors);
    Result<Incoming> body =
        receive_exactly(socket, plan.bytes.data(), plan.bytes.size(), plan.descriptors);
    plan.closed = !body || body.value().size == 0;
    return plan;
  }
}

}  // namespace paddock::launch
