// Netlink messages as bytes.
//
//   NetlinkWriter writer;
//   writer.begin(RTM_NEWADDR, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE);
//   writer.header(ifaddrmsg{…});
//   writer.put(IFA_LOCAL, address);
//   writer.nest(SOMETHING, [&] { writer.put(…); });
//   std::string bytes = writer.finish();
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace paddock::wall {

class NetlinkWriter {
 public:
  // Starts a message, which ends where the next one begins. Each has a sequence number, from 1.
  void begin(uint16_t type, uint16_t flags);

  // The family's own header, right after the message's.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void header(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    pad();
  }

  void put(uint16_t type, std::string_view bytes);
  void put_text(uint16_t type, std::string_view text);  // with the zero that ends it
  // These three are in network order, as netfilter has them.
  void put16(uint16_t type, uint16_t value);
  void put32(uint16_t type, uint32_t value);
  void put64(uint16_t type, uint64_t value);
  void put_host32(uint16_t type, uint32_t value);  // as rtnetlink has them

  // An attribute that consists of those that `fill` adds.
  template <class Fill>
  void nest(uint16_t type, Fill fill) {
    size_t start = bytes_.size();
    put(type | NLA_F_NESTED, "");
    fill();
    set_length(start, bytes_.size() - start);
  }

  std::string finish();

 private:
  void pad();
  void set_length(size_t attribute, size_t length);
  void end_message();

  static constexpr size_t kNone = std::string::npos;
  std::string bytes_;
  size_t message_ = kNone;  // where the one in the making starts
  uint32_t sequence_ = 0;
};

}  // namespace paddock::wall
