// DNS messages (RFC 1035), as much as a small server and a small resolver need. Strict: a message
// with a compression loop, a label that is too long, counts that do not match or bytes left over is
// refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"

namespace paddock::net {

enum class DnsType : uint16_t { a = 1, cname = 5, aaaa = 28, https = 65 };
enum class DnsCode : uint8_t {
  ok = 0,
  malformed = 1,
  failed = 2,
  no_such_name = 3,
  not_implemented = 4,
  refused = 5
};

struct DnsQuestion {
  // Labels joined by dots as they came, without the trailing dot; bytes outside of letters, digits,
  // '-' and '_' make the message refused, so a name never holds a dot inside a label.
  std::string name;
  uint16_t type = 0;  // a DnsType, or any other number
  uint16_t qclass = 1;
};

struct DnsQuery {
  uint16_t id = 0;
  bool recursion_desired = false;
  DnsQuestion question;
  // Bytes the asker takes over UDP: 512, or what its EDNS record says, at least 512, at most 4096.
  uint16_t most = 512;
  bool extended = false;  // it has an EDNS record, so the answer has one too
};

// One question of class IN in a standard query, with or without an EDNS record.
std::optional<DnsQuery> parse_query(std::string_view message);
// The id of a message that is too broken for parse_query, to answer "malformed"; none when there is
// not even that.
std::optional<uint16_t> query_id(std::string_view message);

// The answer to `query`: its question, and one record per address of the family that was asked for.
// What `query.most` has no room for is left out, and the answer is marked as truncated (over TCP,
// set `most` to 65535 first).
std::string make_answer(const DnsQuery& query, DnsCode code, const std::vector<Address>& addresses,
                        uint32_t ttl);
std::string make_error(uint16_t id, DnsCode code);

// The question for a server, as a recursive query with an EDNS record (1232 bytes). Empty if `name`
// is not a name.
std::string make_query(uint16_t id, const std::string& name, DnsType type);

// Over TCP a message has its length in front.
std::string frame_for_tcp(std::string_view message);
// The first message, off the front; none while it is not whole.
std::optional<std::string> take_framed(std::string& bytes);

struct DnsReply {
  uint16_t id = 0;
  DnsCode code = DnsCode::ok;
  bool truncated = false;  // then nothing after the question was read: ask again over TCP
  DnsQuestion question;
  // The addresses of the asked type at the end of the CNAME chain that starts at the question's
  // name. A record for any other name is left alone. `ttl` is the smallest of the chain; for a
  // negative answer that of the SOA, else 0.
  std::vector<Address> addresses;
  uint32_t ttl = 0;
};
std::optional<DnsReply> parse_reply(std::string_view message);

}  // namespace paddock::net
