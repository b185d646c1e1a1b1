#include "wall/container/rule_batch.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>

namespace paddock::wall {

namespace {

constexpr char kTable[] = "paddock";

std::string byte(uint8_t value) { return std::string(1, static_cast<char>(value)); }
std::string port_bytes(uint16_t port) {
  return byte(static_cast<uint8_t>(port >> 8)) + byte(static_cast<uint8_t>(port));
}

}  // namespace

std::string address_bytes(const net::Address& address) {
  return {reinterpret_cast<const char*>(address.bytes.data()), address.ipv6 ? 16U : 4U};
}

RuleBatch::RuleBatch(bool ipv6) : ipv6_(ipv6) { marker(NFNL_MSG_BATCH_BEGIN); }

std::string RuleBatch::finish() {
  marker(NFNL_MSG_BATCH_END);
  return writer_.finish();
}

// Between its two markers the kernel takes a batch as a whole.
void RuleBatch::marker(uint16_t type) {
  writer_.begin(type, NLM_F_REQUEST);
  writer_.header(nfgenmsg{
      .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES)});
}

void RuleBatch::message(uint16_t type, uint16_t flags) {
  uint8_t family = ipv6_ ? NFPROTO_INET : NFPROTO_IPV4;
  writer_.begin(static_cast<uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type),
                NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | flags);
  writer_.header(nfgenmsg{.nfgen_family = family, .version = NFNETLINK_V0, .res_id = 0});
}

void RuleBatch::table() {
  message(NFT_MSG_NEWTABLE, NLM_F_EXCL);
  writer_.put_text(NFTA_TABLE_NAME, kTable);
}

void RuleBatch::chain(const Chain& chain) {
  message(NFT_MSG_NEWCHAIN, NLM_F_EXCL);
  writer_.put_text(NFTA_CHAIN_TABLE, kTable);
  writer_.put_text(NFTA_CHAIN_NAME, chain.name);
  writer_.nest(NFTA_CHAIN_HOOK, [&] {
    writer_.put32(NFTA_HOOK_HOOKNUM, chain.hook);
    writer_.put32(NFTA_HOOK_PRIORITY, static_cast<uint32_t>(chain.priority));
  });
  writer_.put32(NFTA_CHAIN_POLICY, chain.policy);
  writer_.put_text(NFTA_CHAIN_TYPE, chain.type);
}

void RuleBatch::begin_rule(const char* chain) {
  message(NFT_MSG_NEWRULE, NLM_F_APPEND);
  writer_.put_text(NFTA_RULE_TABLE, kTable);
  writer_.put_text(NFTA_RULE_CHAIN, chain);
}

// An expression is a name and its own attributes.
template <class Fill>
void RuleBatch::expression(const char* name, Fill fill) {
  writer_.nest(NFTA_LIST_ELEM, [&] {
    writer_.put_text(NFTA_EXPR_NAME, name);
    writer_.nest(NFTA_EXPR_DATA, fill);
  });
}

// What is loaded goes to the first register, and what is compared comes from it.
void RuleBatch::load_meta(uint32_t key) {
  expression("meta", [&] {
    writer_.put32(NFTA_META_KEY, key);
    writer_.put32(NFTA_META_DREG, NFT_REG_1);
  });
}

void RuleBatch::load_payload(uint32_t base, uint32_t offset, uint32_t length) {
  expression("payload", [&] {
    writer_.put32(NFTA_PAYLOAD_DREG, NFT_REG_1);
    writer_.put32(NFTA_PAYLOAD_BASE, base);
    writer_.put32(NFTA_PAYLOAD_OFFSET, offset);
    writer_.put32(NFTA_PAYLOAD_LEN, length);
  });
}

void RuleBatch::load_conntrack(uint32_t key) {
  expression("ct", [&] {
    writer_.put32(NFTA_CT_KEY, key);
    writer_.put32(NFTA_CT_DREG, NFT_REG_1);
  });
}

void RuleBatch::load_value(const std::string& bytes) {
  expression("immediate", [&] {
    writer_.put32(NFTA_IMMEDIATE_DREG, NFT_REG_1);
    writer_.nest(NFTA_IMMEDIATE_DATA, [&] { writer_.put(NFTA_DATA_VALUE, bytes); });
  });
}

void RuleBatch::compare(const std::string& bytes, uint32_t how) {
  expression("cmp", [&] {
    writer_.put32(NFTA_CMP_SREG, NFT_REG_1);
    writer_.put32(NFTA_CMP_OP, how);
    writer_.nest(NFTA_CMP_DATA, [&] { writer_.put(NFTA_DATA_VALUE, bytes); });
  });
}

void RuleBatch::match_family(bool ipv6) {
  load_meta(NFT_META_NFPROTO);
  compare(byte(ipv6 ? NFPROTO_IPV6 : NFPROTO_IPV4));
}

void RuleBatch::match_protocol(uint8_t protocol) {
  load_meta(NFT_META_L4PROTO);
  compare(byte(protocol));
}

void RuleBatch::match_destination(bool ipv6, const std::string& bytes) {
  match_family(ipv6);
  load_payload(NFT_PAYLOAD_NETWORK_HEADER, ipv6 ? 24 : 16, static_cast<uint32_t>(bytes.size()));
  compare(bytes);
}

void RuleBatch::match_destination_port(uint8_t protocol, uint16_t port) {
  match_protocol(protocol);
  load_payload(NFT_PAYLOAD_TRANSPORT_HEADER, 2, sizeof port);
  compare(port_bytes(port));
}

// Connection tracking keeps its bits in the machine's own order.
void RuleBatch::match_conntrack(uint32_t key, uint32_t bits) {
  std::string mask(reinterpret_cast<const char*>(&bits), sizeof bits), zero(sizeof bits, '\0');
  load_conntrack(key);
  expression("bitwise", [&] {
    writer_.put32(NFTA_BITWISE_SREG, NFT_REG_1);
    writer_.put32(NFTA_BITWISE_DREG, NFT_REG_1);
    writer_.put32(NFTA_BITWISE_LEN, sizeof bits);
    writer_.nest(NFTA_BITWISE_MASK, [&] { writer_.put(NFTA_DATA_VALUE, mask); });
    writer_.nest(NFTA_BITWISE_XOR, [&] { writer_.put(NFTA_DATA_VALUE, zero); });
  });
  compare(zero, NFT_CMP_NEQ);
}

void RuleBatch::match_replies() {
  load_conntrack(NFT_CT_DIRECTION);
  compare(byte(1));  // IP_CT_DIR_REPLY, which user space has no header for
}

void RuleBatch::match_no_more_than(uint64_t per_second, uint32_t burst) {
  expression("limit", [&] {
    writer_.put64(NFTA_LIMIT_RATE, per_second);
    writer_.put64(NFTA_LIMIT_UNIT, 1);
    writer_.put32(NFTA_LIMIT_BURST, burst);
    writer_.put32(NFTA_LIMIT_TYPE, NFT_LIMIT_PKTS);
  });
}

void RuleBatch::give(uint32_t verdict) {
  expression("immediate", [&] {
    writer_.put32(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    writer_.nest(NFTA_IMMEDIATE_DATA, [&] {
      writer_.nest(NFTA_DATA_VERDICT, [&] { writer_.put32(NFTA_VERDICT_CODE, verdict); });
    });
  });
}

void RuleBatch::redirect(uint16_t port) {
  load_value(port_bytes(port));
  expression("redir", [&] { writer_.put32(NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1); });
}

void RuleBatch::change_source(const net::Address& address) {
  load_value(address_bytes(address));
  expression("nat", [&] {
    writer_.put32(NFTA_NAT_TYPE, NFT_NAT_SNAT);
    writer_.put32(NFTA_NAT_FAMILY, address.ipv6 ? NFPROTO_IPV6 : NFPROTO_IPV4);
    writer_.put32(NFTA_NAT_REG_ADDR_MIN, NFT_REG_1);
  });
}

void RuleBatch::log(uint16_t group, uint32_t bytes) {
  expression("log", [&] {
    writer_.put16(NFTA_LOG_GROUP, group);
    writer_.put32(NFTA_LOG_SNAPLEN, bytes);
  });
}

}  // namespace paddock::wall
