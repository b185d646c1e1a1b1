// nftables rules as netlink messages: one batch, which the kernel takes as a whole or not at all.
//
//   RuleBatch batch(ipv6);
//   batch.table();
//   batch.chain({"output", "filter", NF_INET_LOCAL_OUT, 0, NF_DROP});
//   batch.rule("output", [&] {
//     batch.match_destination_port(IPPROTO_UDP, 53);
//     batch.give(NF_ACCEPT);
//   });
//   std::string bytes = batch.finish();
#pragma once

#include <linux/netfilter/nf_tables.h>

#include <cstdint>
#include <string>

#include "net/address.h"
#include "wall/container/netlink_writer.h"

namespace paddock::wall {

std::string address_bytes(const net::Address& address);

class RuleBatch {
 public:
  explicit RuleBatch(bool ipv6);  // without it the table is one of IPv4 alone

  bool ipv6() const { return ipv6_; }

  // All chains and rules belong to this table.
  void table();

  struct Chain {
    const char *name, *type;
    uint32_t hook;
    int32_t priority;
    uint32_t policy;
  };
  void chain(const Chain& chain);

  // Adds a rule at the end of the chain. `expressions` calls those below: all matches must hold,
  // then the last one acts.
  template <class Expressions>
  void rule(const char* chain, Expressions expressions) {
    begin_rule(chain);
    writer_.nest(NFTA_RULE_EXPRESSIONS, expressions);
  }

  void match_family(bool ipv6);
  void match_protocol(uint8_t protocol);
  // `bytes` may also be only the first bytes of an address.
  void match_destination(bool ipv6, const std::string& bytes);
  void match_destination_port(uint8_t protocol, uint16_t port);
  // NFT_CT_STATUS or NFT_CT_STATE: matches if one of the bits is set.
  void match_conntrack(uint32_t key, uint32_t bits);
  void match_replies();
  void match_no_more_than(uint64_t per_second, uint32_t burst);

  void give(uint32_t verdict);  // NF_ACCEPT, NF_DROP
  void redirect(uint16_t port);
  void change_source(const net::Address& address);
  void log(uint16_t group, uint32_t bytes);

  std::string finish();

 private:
  void marker(uint16_t type);
  void message(uint16_t type, uint16_t flags);
  void begin_rule(const char* chain);
  template <class Fill>
  void expression(const char* name, Fill fill);
  void load_meta(uint32_t key);
  void load_payload(uint32_t base, uint32_t offset, uint32_t length);
  void load_conntrack(uint32_t key);
  void load_value(const std::string& bytes);
  void compare(const std::string& bytes, uint32_t how = NFT_CMP_EQ);

  NetlinkWriter writer_;
  bool ipv6_;
};

}  // namespace paddock::wall
