#include "linux/netlink.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.h"

namespace paddock::kernel {

namespace {

// The headers of all messages, in order.
Result<std::vector<nlmsghdr>> headers_of(std::string_view messages) {
  std::vector<nlmsghdr> headers;
  while (!messages.empty()) {
    nlmsghdr header;
    if (messages.size() < sizeof header)
      return Error{Code::internal, "send netlink messages: the last one is cut short", ""};
    std::memcpy(&header, messages.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || NLMSG_ALIGN(header.nlmsg_len) > messages.size())
      return Error{Code::internal, "send netlink messages: one has an impossible length", ""};
    headers.push_back(header);
    messages.remove_prefix(NLMSG_ALIGN(header.nlmsg_len));
  }
  return headers;
}

// What the kernel says beyond the number (NETLINK_EXT_ACK); empty if nothing. `answer` is a whole
// NLMSG_ERROR message.
std::string words_of(std::string_view answer) {
  nlmsghdr header;
  nlmsgerr error;
  std::memcpy(&header, answer.data(), sizeof header);
  std::memcpy(&error, answer.data() + sizeof header, sizeof error);
  if (!(header.nlmsg_flags & NLM_F_ACK_TLVS)) return "";
  // The refused message comes back whole in between, or its header alone.
  size_t echoed =
      header.nlmsg_flags & NLM_F_CAPPED ? sizeof(nlmsghdr) : NLMSG_ALIGN(error.msg.nlmsg_len);
  size_t at = sizeof header + sizeof(int) + echoed;
  while (at + sizeof(nlattr) <= answer.size()) {
    nlattr attribute;
    std::memcpy(&attribute, answer.data() + at, sizeof attribute);
    if (attribute.nla_len < sizeof attribute || at + attribute.nla_len > answer.size()) break;
    if ((attribute.nla_type & NLA_TYPE_MASK) == NLMSGERR_ATTR_MSG) {
      std::string_view text =
          answer.substr(at + sizeof attribute, attribute.nla_len - sizeof attribute);
      return printable(text.substr(0, text.find('\0')));
    }
    at += NLA_ALIGN(attribute.nla_len);
  }
  return "";
}

// Says which of the messages was refused, since a batch has many.
Error refusal(std::string_view answer, const nlmsgerr& error, const std::vector<nlmsghdr>& sent) {
  auto same = [&](const nlmsghdr& header) { return header.nlmsg_seq == error.msg.nlmsg_seq; };
  ptrdiff_t index = std::find_if(sent.begin(), sent.end(), same) - sent.begin();
  std::string words = words_of(answer);
  return errno_error(-error.error,
                     cat("netlink message ", index + 1, " of ", sent.size(), " (type ",
                         error.msg.nlmsg_type, ")", words.empty() ? "" : ": ", words));
}

}  // namespace

Result<Fd> open_netlink(int protocol) {
  Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  if (!socket) return errno_error(errno, cat("open a netlink socket of protocol ", protocol));
  int on = 1;
  // Asks for reasons in words, which the kernel gives since Linux 4.12.
  (void)::setsockopt(socket.get(), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
  return socket;
}

Result<void> send_netlink_on(int socket, std::string_view messages) {
  std::vector<nlmsghdr> sent = TRY(headers_of(messages));
  sockaddr_nl to_kernel{};
  to_kernel.nl_family = AF_NETLINK;
  if (::sendto(socket, messages.data(), messages.size(), 0, reinterpret_cast<sockaddr*>(&to_kernel),
               sizeof to_kernel) != static_cast<ssize_t>(messages.size()))
    return errno_error(errno, "send netlink messages");

  // The kernel processes the messages inside of sendto, so every answer is there already.
  ptrdiff_t missing = std::count_if(sent.begin(), sent.end(), [](const nlmsghdr& header) {
    return header.nlmsg_flags & NLM_F_ACK;
  });
  while (true) {
    alignas(nlmsghdr) char buffer[16 << 10];
    ssize_t size = ::recv(socket, buffer, sizeof buffer, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (size < 0) return errno_error(errno, "read what the kernel says to netlink messages");
    std::string_view left(buffer, static_cast<size_t>(size));
    while (left.size() >= sizeof(nlmsghdr) + sizeof(nlmsgerr)) {
      nlmsghdr header;
      std::memcpy(&header, left.data(), sizeof header);
      if (header.nlmsg_len < sizeof header || header.nlmsg_len > left.size()) break;
      if (header.nlmsg_type == NLMSG_ERROR &&
          header.nlmsg_len >= sizeof header + sizeof(nlmsgerr)) {
        nlmsgerr answer;
        std::memcpy(&answer, left.data() + sizeof header, sizeof answer);
        if (answer.error != 0) return refusal(left.substr(0, header.nlmsg_len), answer, sent);
        --missing;
      }
      left.remove_prefix(std::min<size_t>(NLMSG_ALIGN(header.nlmsg_len), left.size()));
    }
  }
  if (missing > 0)
    return Error{
        Code::io,
        cat("send netlink messages: the kernel did not answer ", missing, " of ", sent.size()), ""};
  return {};
}

Result<void> send_netlink(int protocol, std::string_view messages) {
  Fd socket = TRY(open_netlink(protocol));
  return send_netlink_on(socket.get(), messages);
}

}  // namespace paddock::kernel
