#include "net/nflog.h"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace paddock::net {

namespace {

// The word that the log uses for a protocol.
std::string protocol_text(uint8_t number) {
  switch (number) {
    case IPPROTO_UDP: return "udp";
    case IPPROTO_TCP: return "tcp";
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6: return "icmp";
    case IPPROTO_SCTP: return "sctp";
    case IPPROTO_GRE: return "gre";
    case IPPROTO_DCCP: return "dccp";
    case IPPROTO_UDPLITE: return "udplite";
    default: return cat("ip protocol ", static_cast<int>(number));
  }
}

// The packet is the program's: it may be cut short or nonsense, and every length is checked.
// Extension headers of IPv6 are not followed.
std::optional<DroppedPacket> parse_packet(std::string_view packet) {
  auto byte = [&](size_t at) { return static_cast<uint8_t>(packet[at]); };
  if (packet.empty()) return std::nullopt;
  int version = byte(0) >> 4;
  size_t header = version == 4 ? static_cast<size_t>(byte(0) & 15) * 4 : 40;
  if ((version != 4 && version != 6) || header < 20 || packet.size() < header) return std::nullopt;
  DroppedPacket dropped;
  uint8_t protocol = byte(version == 4 ? 9 : 6);
  dropped.protocol = protocol_text(protocol);
  dropped.to.address.ipv6 = version == 6;
  std::memcpy(dropped.to.address.bytes.data(), packet.data() + (version == 4 ? 16 : 24),
              version == 4 ? 4 : 16);
  bool has_ports = protocol == IPPROTO_UDP || protocol == IPPROTO_TCP || protocol == IPPROTO_SCTP ||
                   protocol == IPPROTO_DCCP || protocol == IPPROTO_UDPLITE;
  if (has_ports && packet.size() >= header + 4)
    dropped.to.port = static_cast<uint16_t>(byte(header + 2) << 8 | byte(header + 3));
  return dropped;
}

}  // namespace

// The packet is in the attribute NFULA_PAYLOAD; the others are skipped.
std::optional<DroppedPacket> parse_dropped(std::string_view message) {
  nlmsghdr head;
  if (message.size() < sizeof head + sizeof(nfgenmsg)) return std::nullopt;
  std::memcpy(&head, message.data(), sizeof head);
  if (head.nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET) ||
      head.nlmsg_len > message.size())
    return std::nullopt;
  std::string_view attributes = message.substr(0, head.nlmsg_len);
  if (attributes.size() < sizeof head + sizeof(nfgenmsg)) return std::nullopt;
  attributes.remove_prefix(sizeof head + sizeof(nfgenmsg));
  while (attributes.size() >= sizeof(nlattr)) {
    nlattr attribute;
    std::memcpy(&attribute, attributes.data(), sizeof attribute);
    if (attribute.nla_len < sizeof attribute || attribute.nla_len > attributes.size())
      return std::nullopt;
    if ((attribute.nla_type & NLA_TYPE_MASK) == NFULA_PAYLOAD)
      return parse_packet(
          attributes.substr(sizeof attribute, attribute.nla_len - sizeof attribute));
    attributes.remove_prefix(std::min<size_t>(NLA_ALIGN(attribute.nla_len), attributes.size()));
  }
  return std::nullopt;
}

}  // namespace paddock::net
