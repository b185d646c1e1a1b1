#include "wall/container/network_plan.h"

#include <linux/if_addr.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <algorithm>

#include "base/text.h"
#include "net/synthetic.h"
#include "policy/network/rule.h"
#include "wall/container/netlink_writer.h"
#include "wall/container/rule_batch.h"

namespace paddock::wall {

namespace {

constexpr uint32_t kLoopback = 1;  // interface index in every fresh namespace
constexpr uint16_t kAdd = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
constexpr char kRedirect[] = "redirect", kAnswer[] = "answer", kRest[] = "rest";
// Their rules and the kernel's answers fit into one socket buffer.
constexpr size_t kMostServices = 64;

net::Address gateway6() { return net::synthetic_ipv6(net::ipv4(1)); }

net::Address loopback6() {
  net::Address address{.ipv6 = true};
  address.bytes[15] = 1;
  return address;
}

// All addresses are on loopback: the namespace has no other interface.
void add_address(NetlinkWriter& writer, const net::Address& address, uint8_t prefix) {
  // Nobody else could have it: no duplicate address detection, which would take a second.
  uint8_t family = address.ipv6 ? AF_INET6 : AF_INET, flags = address.ipv6 ? IFA_F_NODAD : 0;
  writer.begin(RTM_NEWADDR, kAdd);
  writer.header(ifaddrmsg{.ifa_family = family,
                          .ifa_prefixlen = prefix,
                          .ifa_flags = flags,
                          .ifa_scope = RT_SCOPE_UNIVERSE,
                          .ifa_index = kLoopback});
  writer.put(IFA_LOCAL, address_bytes(address));
  writer.put(IFA_ADDRESS, address_bytes(address));
}

// Everything is "reachable" over loopback, so that the kernel lets programs connect and the rules
// can redirect them.
void add_default_route(NetlinkWriter& writer, const net::Address& source) {
  uint8_t family = source.ipv6 ? AF_INET6 : AF_INET,
          scope = source.ipv6 ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
  writer.begin(RTM_NEWROUTE, kAdd);
  writer.header(rtmsg{.rtm_family = family,
                      .rtm_table = RT_TABLE_MAIN,
                      .rtm_protocol = RTPROT_STATIC,
                      .rtm_scope = scope,
                      .rtm_type = RTN_UNICAST});
  writer.put(RTA_PREFSRC, address_bytes(source));
  writer.put_host32(RTA_OIF, kLoopback);
}

std::string plan_addresses(bool ipv6) {
  NetlinkWriter writer;
  add_address(writer, net::ipv4(net::kSyntheticGateway), net::kSyntheticPrefix);
  add_default_route(writer, net::ipv4(net::kSyntheticGateway));
  if (ipv6) {
    add_address(writer, gateway6(), sizeof net::kSyntheticPrefix6 * 8);
    add_default_route(writer, gateway6());
  }
  return writer.finish();
}

// What a program says to its own loopback never leaves the sandbox.
void accept_own_loopback(RuleBatch& batch, const char* chain) {
  batch.rule(chain, [&] {
    batch.match_destination(false, "\x7f");
    batch.give(NF_ACCEPT);
  });
  if (!batch.ipv6()) return;
  batch.rule(chain, [&] {
    batch.match_destination(true, address_bytes(loopback6()));
    batch.give(NF_ACCEPT);
  });
}

// The order is that of the chain: the host's services, then DNS, then the program's own loopback,
// and then all other TCP.
void redirect_connections(RuleBatch& batch, const std::vector<net::Endpoint>& loopback) {
  batch.chain({kRedirect, "nat", NF_INET_LOCAL_OUT, -100, NF_ACCEPT});
  for (const net::Endpoint& service : loopback) {
    if (service.address.ipv6 && !batch.ipv6()) continue;
    batch.rule(kRedirect, [&] {
      batch.match_destination(service.address.ipv6, address_bytes(service.address));
      batch.match_destination_port(IPPROTO_TCP, service.port);
      batch.redirect(net::kEgressPort);
    });
  }
  batch.rule(kRedirect, [&] {
    batch.match_destination_port(IPPROTO_UDP, 53);
    batch.redirect(net::kEgressPort);
  });
  accept_own_loopback(batch, kRedirect);
  batch.rule(kRedirect, [&] {
    batch.match_protocol(IPPROTO_TCP);
    batch.redirect(net::kEgressPort);
  });
}

// A question from 198.18.0.1 would be answered from 198.18.0.1, but it was asked of (and is tracked
// with) 127.0.0.1, because a UDP socket bound to every address answers from the address nearest to
// the asker. So the asker becomes 127.0.0.1 as well.
void answer_from_loopback(RuleBatch& batch) {
  batch.chain({kAnswer, "nat", NF_INET_POST_ROUTING, 100, NF_ACCEPT});
  for (const net::Address& address : {net::ipv4(INADDR_LOOPBACK), loopback6()}) {
    if (address.ipv6 && !batch.ipv6()) continue;
    batch.rule(kAnswer, [&] {
      batch.match_conntrack(NFT_CT_STATUS, IPS_DST_NAT);
      batch.match_family(address.ipv6);
      batch.match_destination_port(IPPROTO_UDP, net::kEgressPort);
      batch.change_source(address);
    });
  }
}

// Whatever was not redirected is dropped. Only the answers of egress get back.
void drop_the_rest(RuleBatch& batch) {
  batch.chain({kRest, "filter", NF_INET_LOCAL_OUT, 0, NF_DROP});
  accept_own_loopback(batch, kRest);
  batch.rule(kRest, [&] {
    batch.match_conntrack(NFT_CT_STATUS, IPS_DST_NAT);
    batch.give(NF_ACCEPT);
  });
  batch.rule(kRest, [&] {
    batch.match_replies();
    batch.give(NF_ACCEPT);
  });
  batch.rule(kRest, [&] {
    batch.match_conntrack(NFT_CT_STATE, NF_CT_STATE_INVALID_BIT);
    batch.give(NF_DROP);
  });
}

// In a batch of its own, so that a kernel without NFLOG refuses this alone.
std::string plan_log_rule(bool ipv6) {
  RuleBatch batch(ipv6);
  batch.rule(kRest, [&] {
    batch.match_no_more_than(50, 100);
    batch.log(net::kDroppedLogGroup, net::kDroppedLogBytes);
  });
  return batch.finish();
}

// Reports each packet at once; the kernel would otherwise collect them for a second.
std::string plan_log_listen() {
  NetlinkWriter writer;
  writer.begin(NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG, NLM_F_REQUEST | NLM_F_ACK);
  writer.header(nfgenmsg{
      .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(net::kDroppedLogGroup)});
  nfulnl_msg_config_cmd bind{NFULNL_CFG_CMD_BIND};
  nfulnl_msg_config_mode copy{.copy_range = htonl(net::kDroppedLogBytes),
                              .copy_mode = NFULNL_COPY_PACKET};
  writer.put(NFULA_CFG_CMD, {reinterpret_cast<const char*>(&bind), sizeof bind});
  writer.put(NFULA_CFG_MODE, {reinterpret_cast<const char*>(&copy), sizeof copy});
  writer.put32(NFULA_CFG_QTHRESH, 1);
  return writer.finish();
}

// Whether the rule is about loopback: `localhost`, anything within 127.0.0.0/8, or ::1.
bool is_loopback(const policy::NetworkRule& rule) {
  if (rule.kind == policy::NetworkRule::Kind::name) return rule.name == "localhost";
  if (rule.kind != policy::NetworkRule::Kind::addresses) return false;
  if (rule.address_bits == 32) return rule.address[0] == 127 && rule.prefix >= 8;
  return rule.prefix == 128 && rule.address == loopback6().bytes;
}

void add_new(std::vector<net::Endpoint>& services, const net::Endpoint& service) {
  if (std::find(services.begin(), services.end(), service) == services.end())
    services.push_back(service);
}

Error refuse(const std::string& entry, const char* why) {
  return Error{Code::invalid, cat("network.allow: '", printable(entry), "' ", why),
               "name the port: 127.0.0.1:8080"};
}

}  // namespace

Result<std::vector<net::Endpoint>> loopback_services(const std::vector<std::string>& allow) {
  std::vector<net::Endpoint> services;
  for (const std::string& entry : allow) {
    policy::NetworkRule rule = TRY(policy::parse_network_rule(entry));
    if (!is_loopback(rule)) continue;
    bool by_name = rule.kind == policy::NetworkRule::Kind::name;
    if (!by_name && rule.prefix != rule.address_bits)
      return refuse(entry, "is a range of loopback addresses, which the sandbox has for itself");
    if (!rule.port)
      return refuse(
          entry, "stands for every port of this host's loopback, which the sandbox has for itself");
    if (*rule.port == net::kEgressPort)
      return refuse(entry, "names the port that the sandbox's own way out has");
    if (by_name) add_new(services, {net::ipv4(INADDR_LOOPBACK), *rule.port});
    add_new(services, {by_name ? loopback6() : net::Address{rule.address, rule.address_bits == 128},
                       *rule.port});
  }
  if (services.size() > kMostServices)
    return Error{Code::invalid, cat("network.allow names ", services.size(), " loopback services"),
                 cat("name at most ", kMostServices)};
  return services;
}

launch::NetworkPlan plan_network(const std::vector<net::Endpoint>& loopback, bool ipv6) {
  RuleBatch batch(ipv6);
  batch.table();
  redirect_connections(batch, loopback);
  answer_from_loopback(batch);
  drop_the_rest(batch);
  return {.enabled = true,
          .addresses = plan_addresses(ipv6),
          .rules = batch.finish(),
          .log_rule = plan_log_rule(ipv6),
          .log_listen = plan_log_listen(),
          .ipv6 = ipv6,
          .port = net::kEgressPort};
}

}  // namespace paddock::wall
