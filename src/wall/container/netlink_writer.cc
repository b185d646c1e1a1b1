#include "wall/container/netlink_writer.h"

#include <endian.h>

#include <cstring>
#include <utility>

namespace paddock::wall {

namespace {

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

void NetlinkWriter::begin(uint16_t type, uint16_t flags) {
  end_message();
  message_ = bytes_.size();
  nlmsghdr header{.nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = ++sequence_};
  bytes_ += bytes_of(header);
}

void NetlinkWriter::put(uint16_t type, std::string_view bytes) {
  nlattr attribute{.nla_len = static_cast<uint16_t>(sizeof(nlattr) + bytes.size()),
                   .nla_type = type};
  bytes_ += bytes_of(attribute);
  bytes_ += bytes;
  pad();
}

void NetlinkWriter::put_text(uint16_t type, std::string_view text) {
  put(type, std::string(text) + '\0');
}
void NetlinkWriter::put16(uint16_t type, uint16_t value) {
  put(type, bytes_of(value = htobe16(value)));
}
void NetlinkWriter::put32(uint16_t type, uint32_t value) {
  put(type, bytes_of(value = htobe32(value)));
}
void NetlinkWriter::put64(uint16_t type, uint64_t value) {
  put(type, bytes_of(value = htobe64(value)));
}
void NetlinkWriter::put_host32(uint16_t type, uint32_t value) { put(type, bytes_of(value)); }

std::string NetlinkWriter::finish() {
  end_message();
  sequence_ = 0;
  return std::exchange(bytes_, {});
}

// Everything in netlink is aligned to four bytes.
void NetlinkWriter::pad() { bytes_.resize(NLA_ALIGN(bytes_.size())); }

void NetlinkWriter::set_length(size_t attribute, size_t length) {
  uint16_t narrow = static_cast<uint16_t>(length);
  std::memcpy(bytes_.data() + attribute, &narrow, sizeof narrow);  // nla_len is its first field
}

void NetlinkWriter::end_message() {
  if (message_ == kNone) return;
  uint32_t length = static_cast<uint32_t>(bytes_.size() - message_);
  std::memcpy(bytes_.data() + message_, &length, sizeof length);  // nlmsg_len is its first field
  message_ = kNone;
}

}  // namespace paddock::wall
