#include "net/dns.h"

#include <algorithm>

#include "net/bytes.h"

namespace paddock::net {

namespace {

constexpr size_t kHeaderSize = 12, kLongestName = 255, kLongestLabel = 63;
constexpr size_t kMostJumps = 127;  // a name has no more labels than that
constexpr int kLongestChain = 16;   // of CNAME records
constexpr uint16_t kInternet = 1, kTypeSoa = 6, kTypeOpt = 41;
constexpr uint16_t kIsReply = 0x8000, kOpcode = 0x7800, kTruncated = 0x0200,
                   kRecursionDesired = 0x0100, kRecursionAvailable = 0x0080, kCode = 0x000f;
constexpr uint16_t kPointerToQuestion = 0xc000 | kHeaderSize;
constexpr size_t kOptSize = 11;

// A name as it stands in a message, uncompressed and without the root label: lengths and labels.
// Unlike text with dots it has one meaning only, whatever bytes the labels hold.
using Labels = std::string;

// The first twelve bytes of a message.
struct DnsHeader {
  uint16_t id, flags, questions, answers, authorities, additionals;
};

// A record whose data was found but not read. `data_at` is where it begins in the message, since
// names inside may point elsewhere.
struct Record {
  Labels name;  // lower case
  uint16_t type, record_class;
  uint32_t ttl;
  size_t data_at;
  std::string_view data;
};

// ASCII only: the names of DNS compare without case there and nowhere else.
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

Labels lower(Labels labels) {  // lengths are below 64, so they stay what they are
  std::transform(labels.begin(), labels.end(), labels.begin(), [](char c) { return lower(c); });
  return labels;
}

// Host names as the policy writes them. Underscores are used by services.
bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// Walks over a message. Every read says whether it was there.
class Message {
 public:
  explicit Message(std::string_view bytes) : bytes_(bytes) {}

  size_t position() const { return at_; }
  void move_to(size_t position) { at_ = position; }
  bool at_end() const { return at_ == bytes_.size(); }

  bool read(uint16_t& value) {
    uint32_t wide = 0;
    if (!read_number(2, wide)) return false;
    value = static_cast<uint16_t>(wide);
    return true;
  }
  bool read(uint32_t& value) { return read_number(4, value); }

  bool read(DnsHeader& header) {
    return read(header.id) && read(header.flags) && read(header.questions) &&
           read(header.answers) && read(header.authorities) && read(header.additionals);
  }

  // Pointers only lead backwards, to before the part of the name that holds them: so no name loops.
  bool read_name(Labels& labels) {
    labels.clear();
    size_t at = at_, part = at_, after = 0, jumps = 0;
    while (true) {
      if (at >= bytes_.size()) return false;
      size_t length = byte(at++);
      if (length == 0) break;
      if (length >= 0xc0) {
        if (at >= bytes_.size() || ++jumps > kMostJumps) return false;
        size_t target = (length & 0x3f) << 8 | byte(at++);
        if (target < kHeaderSize || target >= part) return false;
        if (after == 0) after = at;
        at = part = target;
        continue;
      }
      if (length > kLongestLabel || length > bytes_.size() - at) return false;
      labels += static_cast<char>(length);
      labels += bytes_.substr(at, length);
      if (labels.size() + 1 > kLongestName) return false;
      at += length;
    }
    at_ = after != 0 ? after : at;
    return true;
  }

  bool read(DnsQuestion& question) {
    Labels labels;
    if (!read_name(labels) || !read(question.type) || !read(question.qclass)) return false;
    question.name.clear();
    ByteReader reader(labels);
    while (!reader.at_end()) {
      std::string_view label = reader.counted(1);
      if (!std::all_of(label.begin(), label.end(), is_name_byte)) return false;
      if (!question.name.empty()) question.name += '.';
      question.name += label;
    }
    return question.qclass == kInternet;
  }

  bool read(Record& record) {
    uint16_t size = 0;
    Labels labels;
    if (!read_name(labels) || !read(record.type) || !read(record.record_class) ||
        !read(record.ttl) || !read(size))
      return false;
    if (size > bytes_.size() - at_) return false;
    record.name = lower(labels);
    record.data_at = at_;
    record.data = bytes_.substr(at_, size);
    at_ += size;
    if (record.type != kTypeOpt && record.ttl > INT32_MAX) record.ttl = 0;  // RFC 2181, 8
    return true;
  }

 private:
  uint8_t byte(size_t at) const { return static_cast<uint8_t>(bytes_[at]); }
  bool read_number(size_t width, uint32_t& value) {
    if (width > bytes_.size() - at_) return false;
    value = ByteReader(bytes_.substr(at_, width)).number(width);
    at_ += width;
    return true;
  }

  std::string_view bytes_;
  size_t at_ = 0;
};

// RFC 6891, 6.1.2: the root's name, and options that fill the data exactly.
bool is_valid_opt(const Record& record) {
  // Another version of EDNS.
  if (!record.name.empty() || (record.ttl >> 16 & 0xff) != 0) return false;
  ByteReader options(record.data);
  while (!options.at_end()) {
    options.number(2);
    options.counted(2);
  }
  return options.ok();
}

// The labels of a name that is text; nothing when it cannot be one.
std::optional<Labels> labels_of(std::string_view name) {
  Labels labels;
  while (!name.empty()) {
    std::string_view label = name.substr(0, name.find('.'));
    if (label.empty() || label.size() > kLongestLabel) return {};
    if (!std::all_of(label.begin(), label.end(), is_name_byte)) return {};
    labels += static_cast<char>(label.size());
    labels += label;
    if (label.size() + 1 == name.size()) return {};  // "name."
    name.remove_prefix(std::min(label.size() + 1, name.size()));
  }
  if (labels.size() + 1 > kLongestName) return {};
  return labels;
}

void append_header(std::string& message, const DnsHeader& header) {
  for (uint16_t field : {header.id, header.flags, header.questions, header.answers,
                         header.authorities, header.additionals}) {
    append_number(message, field, 2);
  }
}

void append_question(std::string& message, const Labels& labels, uint16_t type) {
  message += labels;
  append_number(message, 0, 1);
  append_number(message, type, 2);
  append_number(message, kInternet, 2);
}

void append_opt(std::string& message, uint16_t most) {
  append_number(message, 0, 1);  // the root's name
  append_number(message, kTypeOpt, 2);
  append_number(message, most, 2);
  append_number(message, 0, 4);  // version 0, no flags
  append_number(message, 0, 2);
}

// Each question has one family; answers of the other one would be ignored.
bool is_asked_for(const Address& address, uint16_t type) {
  return type == static_cast<uint16_t>(address.ipv6 ? DnsType::aaaa : DnsType::a);
}

// Reads the rest of a reply and looks into every record whose content matters, so that a broken one
// is refused wherever it stands.
class ReplyReader {
 public:
  ReplyReader(Message& message, DnsReply& reply) : message_(message), reply_(reply) {}

  bool read(const DnsHeader& header) {
    for (int i = 0; i < header.answers; ++i) {
      if (!read_answer()) return false;
    }
    for (int i = 0; i < header.authorities; ++i) {
      if (!read_authority()) return false;
    }
    for (int i = 0; i < header.additionals; ++i) {
      if (!read_additional()) return false;
    }
    return message_.at_end();
  }

  // From the question's name along the CNAME records to the addresses. False for a chain without
  // end.
  bool follow(Labels name) {
    uint32_t ttl = UINT32_MAX;
    for (int step = 0; step <= kLongestChain; ++step) {
      for (const auto& [owner, address, address_ttl] : addresses_) {
        if (owner != name) continue;
        reply_.addresses.push_back(address);
        ttl = std::min(ttl, address_ttl);
      }
      if (!reply_.addresses.empty()) {
        reply_.ttl = ttl;
        return true;
      }
      auto alias = std::find_if(aliases_.begin(), aliases_.end(),
                                [&](const Alias& candidate) { return candidate.name == name; });
      if (alias == aliases_.end()) {
        reply_.ttl = std::min(ttl, negative_ttl_);
        return true;
      }
      ttl = std::min(ttl, alias->ttl);
      name = alias->target;
    }
    return false;
  }

 private:
  struct Alias {
    Labels name, target;
    uint32_t ttl;
  };
  struct Found {
    Labels name;
    Address address;
    uint32_t ttl;
  };

  // A record that cannot be read makes the whole reply invalid, even if nobody asked for it.
  bool read_answer() {
    Record record;
    if (!message_.read(record) || record.type == kTypeOpt) return false;
    if (record.record_class != kInternet) return true;
    if (record.type == static_cast<uint16_t>(DnsType::cname)) return read_alias(record);
    bool ipv6 = record.type == static_cast<uint16_t>(DnsType::aaaa);
    if (!ipv6 && record.type != static_cast<uint16_t>(DnsType::a)) return true;
    if (record.data.size() != (ipv6 ? 16 : 4)) return false;
    Address address{.ipv6 = ipv6};
    std::copy(record.data.begin(), record.data.end(), address.bytes.begin());
    if (record.type == reply_.question.type)
      addresses_.push_back({record.name, address, record.ttl});
    return true;
  }

  // The target may be compressed, so it is read in place, and must fill the data exactly.
  bool read_alias(const Record& record) {
    size_t end = message_.position();
    Labels target;
    message_.move_to(record.data_at);
    if (!message_.read_name(target) || message_.position() != end) return false;
    aliases_.push_back({record.name, lower(target), record.ttl});
    return true;
  }

  // Only the SOA is of interest: it says how long a negative answer holds.
  bool read_authority() {
    Record record;
    if (!message_.read(record) || record.type == kTypeOpt) return false;
    if (record.type != kTypeSoa || record.record_class != kInternet) return true;
    size_t end = message_.position();
    Labels ignored;
    message_.move_to(record.data_at);
    if (!message_.read_name(ignored) || !message_.read_name(ignored)) return false;
    uint32_t serial, refresh, retry, expire, minimum;
    if (!message_.read(serial) || !message_.read(refresh) || !message_.read(retry) ||
        !message_.read(expire))
      return false;
    if (!message_.read(minimum) || message_.position() != end) return false;
    negative_ttl_ = std::min(record.ttl, minimum);  // RFC 2308, 5
    return true;
  }

  bool read_additional() {
    Record record;
    if (!message_.read(record)) return false;
    if (record.type != kTypeOpt) return true;
    if (seen_opt_ || !is_valid_opt(record)) return false;
    seen_opt_ = true;
    // The upper bits of a code that is none of ours.
    if (record.ttl >> 24 != 0) reply_.code = DnsCode::failed;
    return true;
  }

  Message& message_;
  DnsReply& reply_;
  std::vector<Alias> aliases_;
  std::vector<Found> addresses_;
  uint32_t negative_ttl_ = 0;
  bool seen_opt_ = false;
};

// Codes that are not known here count as a failure of the server.
DnsCode code_of(uint16_t flags) {
  uint16_t code = flags & kCode;
  return code <= static_cast<uint16_t>(DnsCode::refused) ? static_cast<DnsCode>(code)
                                                         : DnsCode::failed;
}

}  // namespace

std::optional<DnsQuery> parse_query(std::string_view bytes) {
  Message message(bytes);
  DnsHeader header;
  if (!message.read(header) || (header.flags & (kIsReply | kOpcode | kTruncated | kCode)) != 0)
    return {};
  if (header.questions != 1 || header.answers != 0 || header.authorities != 0 ||
      header.additionals > 1)
    return {};

  DnsQuery query{.id = header.id, .recursion_desired = (header.flags & kRecursionDesired) != 0};
  if (!message.read(query.question)) return {};
  if (header.additionals == 1) {
    Record record;
    if (!message.read(record) || record.type != kTypeOpt || !is_valid_opt(record)) return {};
    query.extended = true;
    // In this record the class is a size.
    query.most = std::clamp<uint16_t>(record.record_class, 512, 4096);
  }
  if (!message.at_end()) return {};
  return query;
}

std::optional<uint16_t> query_id(std::string_view message) {
  if (message.size() < 2) return {};
  // A reply: two servers would answer each other for ever.
  if (message.size() > 2 && (message[2] & 0x80)) return {};
  return static_cast<uint16_t>(ByteReader(message).number(2));
}

std::string make_answer(const DnsQuery& query, DnsCode code, const std::vector<Address>& addresses,
                        uint32_t ttl) {
  std::optional<Labels> labels = labels_of(query.question.name);
  if (!labels) return make_error(query.id, DnsCode::failed);

  std::string question, records;
  append_question(question, *labels, query.question.type);
  size_t room = query.most - std::min<size_t>(query.most, kHeaderSize + question.size() +
                                                              (query.extended ? kOptSize : 0));
  uint16_t count = 0;
  bool truncated = false;
  for (const Address& address : addresses) {
    if (code != DnsCode::ok || !is_asked_for(address, query.question.type)) continue;
    std::string record;
    size_t size = address.ipv6 ? 16 : 4;
    append_number(record, kPointerToQuestion, 2);
    append_number(record, query.question.type, 2);
    append_number(record, kInternet, 2);
    append_number(record, ttl, 4);
    append_number(record, static_cast<uint32_t>(size), 2);
    record.append(reinterpret_cast<const char*>(address.bytes.data()), size);
    truncated = records.size() + record.size() > room;
    if (truncated) break;
    records += record;
    ++count;
  }

  uint16_t flags = kIsReply | kRecursionAvailable | static_cast<uint16_t>(code);
  if (query.recursion_desired) flags |= kRecursionDesired;
  if (truncated) flags |= kTruncated;
  std::string message;
  append_header(message,
                {query.id, flags, 1, count, 0, static_cast<uint16_t>(query.extended ? 1 : 0)});
  message += question;
  message += records;
  if (query.extended) append_opt(message, 4096);
  return message;
}

std::string make_error(uint16_t id, DnsCode code) {
  std::string message;
  append_header(
      message,
      {id, static_cast<uint16_t>(kIsReply | kRecursionAvailable | static_cast<uint16_t>(code)), 0,
       0, 0, 0});
  return message;
}

std::string make_query(uint16_t id, const std::string& name, DnsType type) {
  std::optional<Labels> labels = labels_of(name);
  if (!labels) return "";
  std::string message;
  append_header(message, {id, kRecursionDesired, 1, 0, 0, 1});
  append_question(message, *labels, static_cast<uint16_t>(type));
  append_opt(message, 1232);
  return message;
}

std::optional<DnsReply> parse_reply(std::string_view bytes) {
  Message message(bytes);
  DnsHeader header;
  if (!message.read(header) || (header.flags & (kIsReply | kOpcode)) != kIsReply ||
      header.questions != 1)
    return {};

  DnsReply reply{.id = header.id,
                 .code = code_of(header.flags),
                 .truncated = (header.flags & kTruncated) != 0};
  if (!message.read(reply.question)) return {};
  // Where the rest was cut is the server's affair: ask again over TCP.
  if (reply.truncated) return reply;
  ReplyReader reader(message, reply);
  if (!reader.read(header)) return {};
  Labels name = lower(*labels_of(reply.question.name));
  if (!reader.follow(name)) return {};
  if (reply.code != DnsCode::ok) reply.addresses.clear();
  return reply;
}

std::string frame_for_tcp(std::string_view message) {
  std::string framed;
  append_number(framed, message.size(), 2);
  return framed.append(message);
}

std::optional<std::string> take_framed(std::string& bytes) {
  ByteReader reader(bytes);
  std::string message(reader.counted(2));
  if (!reader.ok()) return std::nullopt;
  bytes.erase(0, 2 + message.size());
  return message;
}

}  // namespace paddock::net
