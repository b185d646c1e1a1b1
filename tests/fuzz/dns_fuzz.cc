// DNS messages: what is understood can be asked and answered again, with the same meaning.
#include <cstdlib>

#include "net/dns.h"

using namespace paddock::net;

namespace {

void check(bool held) {
  if (!held) std::abort();
}

void check_query(std::string_view bytes) {
  std::optional<DnsQuery> query = parse_query(bytes);
  if (!query) return;
  check(query_id(bytes) == query->id);
  check(query->question.name.size() <= 253 && query->most >= 512 && query->most <= 4096);

  auto type = static_cast<DnsType>(query->question.type);
  std::optional<DnsQuery> again = parse_query(make_query(query->id, query->question.name, type));
  check(again && again->id == query->id && again->question.name == query->question.name);
  check(again->question.type == query->question.type && again->recursion_desired &&
        again->most == 1232);

  bool has_addresses = type == DnsType::a || type == DnsType::aaaa;
  Address address{.ipv6 = type == DnsType::aaaa};
  for (size_t count : {size_t{3}, size_t{500}}) {
    std::string answer = make_answer(*query, DnsCode::ok, std::vector<Address>(count, address), 60);
    check(answer.size() <= query->most);
    std::optional<DnsReply> reply = parse_reply(answer);
    check(reply && reply->id == query->id && reply->question.name == query->question.name);
    check(reply->truncated == (has_addresses && count == 500));
    if (!reply->truncated)
      check(reply->addresses == std::vector<Address>(has_addresses ? count : 0, address));
  }
}

void check_reply(std::string_view bytes) {
  std::optional<DnsReply> reply = parse_reply(bytes);
  if (!reply) return;
  check(reply->question.qclass == 1 && reply->question.name.size() <= 253);
  check(reply->addresses.empty() || (reply->code == DnsCode::ok && !reply->truncated));
  for (const Address& address : reply->addresses)
    check(address.ipv6 == (reply->question.type == static_cast<uint16_t>(DnsType::aaaa)));
  if (!reply->truncated) check(!parse_reply(std::string(bytes) + '\0'));  // bytes left over
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_query(bytes);
  check_reply(bytes);
  return 0;
}
