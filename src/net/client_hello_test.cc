#include "net/client_hello.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "net/bytes.h"

namespace paddock::net {

namespace {

using namespace std::literals;
using Texts = std::vector<std::string>;

// From openssl s_client 3.0 -servername example.com -alpn h2,http/1.1.
constexpr std::string_view kRealHello =
    "160301014a010001460303824127168c48214d975d09b3b7c0422ed25b04ce0455d0b50a31ec9f122f76f8208d8cc7"
    "902d14f8d5e2794a"
    "82bdaf91a872fff9b59535575e5e29a0799559afba003e130213031301c02cc030009fcca9cca8ccaac02bc02f009e"
    "c024c028006bc023"
    "c0270067c00ac0140039c009c0130033009d009c003d003c0035002f00ff010000bf00000010000e00000b6578616d"
    "706c652e636f6d00"
    "0b000403000102000a00160014001d0017001e0019001801000101010201030104002300000010000e000c02683208"
    "687474702f312e31"
    "0016000000170000000d002a0028040305030603080708080809080a080b0804080508060401050106010303030103"
    "0204020502060200"
    "2b0009080304030303020301002d00020101003300260024001d002018d45b42627c1a423152c4532de8273e9d7707"
    "4ba6874e38f15811"
    "93cd05936f";

// From openssl s_client 3.0 -noservername -tls1_2.
constexpr std::string_view kNamelessHello =
    "16030100b7010000b30303c6f1df440827f5060e12a94b8846eb7288fecae1bc392ca3ed7b40d475b626f0000038c0"
    "2cc030009fcca9cc"
    "a8ccaac02bc02f009ec024c028006bc023c0270067c00ac0140039c009c0130033009d009c003d003c0035002f00ff"
    "01000052000b0004"
    "03000102000a000c000a001d0017001e00190018002300000016000000170000000d002a0028040305030603080708"
    "080809080a080b08"
    "0408050806040105010601030303010302040205020602";

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

std::string counted(const std::string& bytes, size_t width) {
  std::string result;
  append_number(result, static_cast<uint32_t>(bytes.size()), width);
  return result + bytes;
}

std::string record(const std::string& payload) { return "\x16\x03\x01"s + counted(payload, 2); }
std::string handshake(const std::string& message) { return "\x01"s + counted(message, 3); }
std::string extension(uint16_t type, const std::string& data) {
  std::string bytes;
  append_number(bytes, type, 2);
  return bytes + counted(data, 2);
}
std::string server_name(const std::string& name) {
  return extension(0, counted("\0"s + counted(name, 2), 2));
}

const std::string kStart =
    "\x03\x03"s + std::string(32, 'r') + "\0"s + "\x00\x02\x13\x01"s + "\x01\x00"s;
std::string message_with(const std::string& extensions) { return kStart + counted(extensions, 2); }
std::string hello_with(const std::string& extensions) {
  return record(handshake(message_with(extensions)));
}

Parse parse(const std::string& bytes) {
  ClientHello hello;
  return parse_client_hello(bytes, hello);
}

}  // namespace

TEST(ClientHello, ReadsWhatARealClientSends) {
  ClientHello hello;
  ASSERT_EQ(parse_client_hello(from_hex(kRealHello), hello), Parse::done);
  EXPECT_EQ(hello.server_name, "example.com");
  EXPECT_EQ(hello.alpn, (Texts{"h2", "http/1.1"}));
  EXPECT_FALSE(hello.encrypted);
}

TEST(ClientHello, ReadsOneWithoutAName) {
  ClientHello hello;
  ASSERT_EQ(parse_client_hello(from_hex(kNamelessHello), hello), Parse::done);
  EXPECT_EQ(hello.server_name, "");
  EXPECT_EQ(hello.alpn, Texts{});
  EXPECT_EQ(parse(record(handshake(kStart))), Parse::done);  // no extensions at all
}

TEST(ClientHello, AsksForMoreUntilItIsWhole) {
  std::string whole = from_hex(kRealHello);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(looks_like_tls(whole.substr(0, size)));
    EXPECT_EQ(parse(whole.substr(0, size)), Parse::more) << size;
  }
  EXPECT_EQ(parse(whole + "application data"), Parse::done);
}

TEST(ClientHello, ReadsOneThatIsSpreadOverManyRecords) {
  std::string payload = from_hex(kRealHello).substr(5), spread;
  for (char byte : payload) spread += record(std::string(1, byte));
  ClientHello hello;
  ASSERT_EQ(parse_client_hello(spread, hello), Parse::done);
  EXPECT_EQ(hello.server_name, "example.com");
  for (size_t size = 0; size < spread.size(); ++size)
    ASSERT_EQ(parse(spread.substr(0, size)), Parse::more) << size;
}

TEST(ClientHello, SeesEncryptedClientHello) {
  for (uint16_t type : {0xfe0d, 0xffce}) {
    ClientHello hello;
    ASSERT_EQ(parse_client_hello(
                  hello_with(server_name("public.example") + extension(type, "hidden")), hello),
              Parse::done);
    EXPECT_TRUE(hello.encrypted);
    EXPECT_EQ(hello.server_name, "public.example");
  }
}

TEST(ClientHello, IsLeftAloneWhenNotUnderstood) {
  ClientHello hello{.server_name = "before"};
  EXPECT_EQ(parse_client_hello(hello_with(server_name("after") + server_name("again")), hello),
            Parse::wrong);
  EXPECT_EQ(hello.server_name, "before");
}

TEST(ClientHello, SaysNoToOtherProtocolsAtOnce) {
  for (const std::string& bytes : {"G"s, "\x05"s, "\x80"s, "\x18"s, "\x16\x02"s, "SSH-2.0"s}) {
    EXPECT_FALSE(looks_like_tls(bytes)) << printable(bytes);
    EXPECT_EQ(parse(bytes), Parse::wrong) << printable(bytes);
  }
  EXPECT_TRUE(looks_like_tls(""));
  EXPECT_TRUE(looks_like_tls("\x16\x03\x03"));
}

// Servers ignore the minor version, and some a record in front: what looks like TLS to them must be
// judged, or refused.
TEST(ClientHello, CannotBeHiddenBehindItsRecords) {
  std::string odd = hello_with(server_name("a.example"));
  odd[2] = '\xff';
  ClientHello hello;
  EXPECT_TRUE(looks_like_tls(odd));
  EXPECT_EQ(parse_client_hello(odd, hello), Parse::done);
  EXPECT_EQ(hello.server_name, "a.example");
  for (const std::string& front : {"\x16\x03\x01\x00\x00"s, "\x14\x03\x01\x00\x01\x01"s,
                                   "\x15\x03\x01\x00\x02\x01\x00"s, "\x16\x03\x01\x00\x10\x02"s}) {
    EXPECT_TRUE(looks_like_tls(front + odd)) << printable(front);
    EXPECT_EQ(parse(front + odd), Parse::wrong) << printable(front);
  }
}

TEST(ClientHello, RefusesWhatIsAgainstTheRules) {
  std::string name = server_name("example.com");
  ASSERT_EQ(parse(hello_with(name)), Parse::done);
  std::string two_names =
      extension(0, counted("\0"s + counted("a", 2) + "\0"s + counted("b", 2), 2));
  std::string message = message_with(name), cut = handshake(message);
  cut[3] = static_cast<char>(cut[3] - 1);
  for (const std::string& bytes : {
           hello_with(name + server_name("other.com")),
           hello_with(name + name),
           hello_with(two_names),
           hello_with(server_name("a\0b"s)),
           hello_with(server_name("")),
           hello_with(extension(0, "")),
           hello_with(extension(0, counted("", 2))),
           hello_with(extension(0, counted("\1"s + counted("a", 2), 2))),
           hello_with(extension(0, counted("\0"s + counted("a", 2), 2) + "x")),
           hello_with(extension(0, counted("\0"s + counted("a", 2) + "x", 2))),
           hello_with(extension(16, "")),
           hello_with(extension(16, counted("", 2))),
           hello_with(extension(16, counted(counted("", 1), 2))),
           hello_with(extension(16, counted("\x03h2"s, 2))),
           hello_with(extension(16, counted(counted("h2", 1), 2) + "x")),
           hello_with(extension(7, "a") + extension(7, "b")),  // any extension twice
           hello_with(name.substr(0, name.size() - 1)),
           hello_with(name + "\0"s),
           // Bytes behind the extensions.
           record(handshake(message + "x")),
           record(handshake(message.substr(0, message.size() - 1))),
           record(handshake(message) + handshake(message)),  // a second message
           // Its length says less than there is.
           record(cut),
           record(handshake("")),
           record(handshake("\x02\x00"s + message.substr(2))),
           // Session id of 33.
           record(handshake(kStart.substr(0, 34) + "\x21"s + std::string(33, 's') +
                            "\x00\x02\x13\x01\x01\x00"s)),
           // No cipher suites.
           record(handshake(kStart.substr(0, 35) + "\x00\x00\x01\x00"s)),
           // Half a cipher suite.
           record(handshake(kStart.substr(0, 35) + "\x00\x03"
                                                   "abc\x01\x00"s)),
           // No compression method.
           record(handshake(kStart.substr(0, 35) + "\x00\x02\x13\x01\x00"s)),
           // An empty record, and one that is too large.
           "\x16\x03\x01\x00\x00"s,
           "\x16\x03\x01\x40\x01\x01"s,
           // Another kind of record in between.
           record("\x01"s) + "\x17\x03\x03\x00\x01\x00"s,
           // A length beyond the largest.
           record("\x01"s) + "\x17"s,
           record("\x01\x01\x00\x01"s),
       }) {
    EXPECT_EQ(parse(bytes), Parse::wrong) << printable(bytes);
  }
}

TEST(ClientHello, RefusesOneThatNeverEnds) {
  std::string payload = handshake(message_with(extension(21, std::string(60000, '\0')))), large;
  for (size_t at = 0; at < payload.size(); at += 16000) large += record(payload.substr(at, 16000));
  EXPECT_EQ(parse(large), Parse::done);
  std::string tiny_records;
  for (char byte : payload) tiny_records += record(std::string(1, byte));
  EXPECT_EQ(parse(tiny_records.substr(0, kLargestClientHello - 1)), Parse::more);
  EXPECT_EQ(parse(tiny_records.substr(0, kLargestClientHello)), Parse::wrong);
  EXPECT_EQ(parse(tiny_records), Parse::wrong);
}

}  // namespace paddock::net
