#include "net/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace paddock::net {

namespace {

std::string kind(const std::string& text) {
  std::optional<Address> address = parse_address(text);
  if (!address) return "no address";
  const char* why = not_public(*address);
  return why ? why : "public";
}

Address ipv6_of(const char* text) {  // parse_address would take a mapped address apart
  Address address{.ipv6 = true};
  EXPECT_EQ(inet_pton(AF_INET6, text, address.bytes.data()), 1) << text;
  return address;
}

}  // namespace

TEST(Address, ReadsAndWritesBothFamilies) {
  for (const char* text :
       {"0.0.0.0", "203.0.113.7", "255.255.255.255", "::", "::1", "2001:db8::1", "fe80::1"}) {
    std::optional<Address> address = parse_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_string(*address), text);
  }
  EXPECT_EQ(parse_address("203.0.113.7"), ipv4(0xcb007107));
}

TEST(Address, RefusesEverythingElse) {
  using namespace std::literals;
  for (std::string_view text : {""sv,
                                "1.2.3"sv,
                                "127.1"sv,
                                "01.2.3.4"sv,
                                "1.2.3.4.5"sv,
                                "1.2.3.256"sv,
                                "0x7f000001"sv,
                                "2130706433"sv,
                                " 1.2.3.4"sv,
                                "1.2.3.4 "sv,
                                "1.2.3.4:80"sv,
                                "1.2.3.4\0"sv,
                                "[::1]"sv,
                                "fe80::1%lo"sv,
                                "::1::"sv,
                                "1:2:3:4:5:6:7:8:9"sv,
                                "12345::"sv,
                                "::ffff:1.2.3"sv,
                                "example.com"sv,
                                "1111:1111:1111:1111:1111:1111:111.111.111.1111"sv}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

TEST(Address, TakesAMappedAddressForTheOneItStandsFor) {
  EXPECT_EQ(parse_address("::ffff:10.0.0.1"), ipv4(0x0a000001));
  EXPECT_EQ(parse_address("::ffff:a00:1"), ipv4(0x0a000001));
}

TEST(Address, WritesEndpoints) {
  EXPECT_EQ(to_string(Endpoint{*parse_address("203.0.113.7"), 443}), "203.0.113.7:443");
  EXPECT_EQ(to_string(Endpoint{*parse_address("2001:db8::1"), 443}), "[2001:db8::1]:443");
}

TEST(Address, ComesBackFromTheKernelsStructures) {
  for (const char* text : {"203.0.113.7", "2001:db8::1"}) {
    Endpoint endpoint{*parse_address(text), 18128};
    EXPECT_EQ(from_socket_address(to_socket_address(endpoint)), endpoint);
  }
  SocketAddress mapped = to_socket_address({ipv6_of("::ffff:192.168.1.1"), 80});
  EXPECT_EQ(from_socket_address(mapped), (Endpoint{ipv4(0xc0a80101), 80}));
}

TEST(Address, RefusesSocketAddressesOfOtherFamiliesOrSizes) {
  EXPECT_FALSE(from_socket_address(SocketAddress{}));
  SocketAddress cut = to_socket_address({ipv4(1), 80});
  cut.size = 4;
  EXPECT_FALSE(from_socket_address(cut));
  SocketAddress local = to_socket_address({ipv4(1), 80});
  local.storage.ss_family = AF_UNIX;
  EXPECT_FALSE(from_socket_address(local));
}

TEST(Address, KnowsWhatIsNotPublic) {
  struct Case {
    const char *text, *kind;
  };
  for (const auto& [text, expected] : {
           Case{"0.0.0.0", "reserved"},
           {"0.255.255.255", "reserved"},
           {"10.0.0.0", "private"},
           {"10.255.255.255", "private"},
           {"100.64.0.0", "carrier-grade NAT"},
           {"100.127.255.255", "carrier-grade NAT"},
           {"100.100.100.200", "cloud metadata"},
           {"127.0.0.1", "loopback"},
           {"127.255.255.255", "loopback"},
           {"168.63.129.16", "cloud metadata"},
           {"169.254.0.1", "link-local"},
           {"169.254.169.254", "cloud metadata"},
           {"169.254.170.2", "cloud metadata"},
           {"172.16.0.0", "private"},
           {"172.31.255.255", "private"},
           {"192.0.0.1", "reserved"},
           {"192.88.99.1", "reserved"},
           {"192.168.0.1", "private"},
           {"198.18.0.1", "benchmark network"},
           {"198.19.255.255", "benchmark network"},
           {"224.0.0.1", "multicast"},
           {"239.255.255.255", "multicast"},
           {"240.0.0.1", "reserved"},
           {"255.255.255.255", "broadcast"},
           {"::", "unspecified"},
           {"::1", "loopback"},
           {"fc00::1", "private"},
           {"fdff::1", "private"},
           {"fd00:ec2::254", "cloud metadata"},
           {"fe80::1", "link-local"},
           {"febf::1", "link-local"},
           {"fec0::1", "private"},
           {"ff02::1", "multicast"},
           {"2001:2::1", "benchmark network"},
           {"2001:10::1", "reserved"},
           {"2001:20::1", "reserved"},
           {"2001:1ff::1", "reserved"},
           {"64:ff9b:1::1", "private"},
           {"100::1", "reserved"},
           {"5f00::1", "reserved"},
           {"4000::1", "reserved"},
           {"1::", "reserved"},
       }) {
    EXPECT_EQ(kind(text), expected) << text;
  }
}

TEST(Address, KnowsWhatIsPublic) {
  for (const char* text : {"1.1.1.1",         "8.8.8.8",
                           "9.255.255.255",   "11.0.0.0",
                           "100.63.255.255",  "100.128.0.0",
                           "126.255.255.255", "128.0.0.0",
                           "168.63.129.15",   "169.253.255.255",
                           "169.255.0.0",     "172.15.255.255",
                           "172.32.0.0",      "192.0.1.0",
                           "192.167.255.255", "192.169.0.0",
                           "198.17.255.255",  "198.20.0.0",
                           "223.255.255.255", "2600::1",
                           "2001:200::1",     "2001:4860:4860::8888",
                           "2a00:1450::1",    "2003::1",
                           "3ffe::1"}) {
    EXPECT_EQ(kind(text), "public") << text;
  }
}

TEST(Address, TakesDocumentationNetworksForPublic) {
  for (const char* text : {"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"})
    EXPECT_EQ(kind(text), "public") << text;
}

TEST(Address, JudgesIpv4InsideIpv6) {
  EXPECT_EQ(kind("64:ff9b::10.0.0.1"), "IPv4 inside IPv6 (private)");
  EXPECT_EQ(kind("64:ff9b::169.254.169.254"), "IPv4 inside IPv6 (cloud metadata)");
  EXPECT_EQ(kind("64:ff9b::8.8.8.8"), "public");
  EXPECT_EQ(kind("2002:7f00:1::"), "IPv4 inside IPv6 (loopback)");
  EXPECT_EQ(kind("2002:808:808::"), "reserved");
  EXPECT_EQ(kind("::127.0.0.1"), "IPv4 inside IPv6 (loopback)");
  EXPECT_EQ(kind("::8.8.8.8"), "reserved");
  EXPECT_EQ(kind("::ffff:0:10.0.0.1"), "reserved");
  // Teredo: the server's address, and the client's with every bit turned.
  EXPECT_EQ(kind("2001:0:808:808:0:0:80ff:fffe"), "IPv4 inside IPv6 (loopback)");
  EXPECT_EQ(kind("2001:0:a00:1:0:0:f7f7:f7f7"), "IPv4 inside IPv6 (private)");
  EXPECT_EQ(kind("2001:0:808:808:0:0:f7f7:f7f7"), "reserved");
  EXPECT_STREQ(not_public(ipv6_of("::ffff:10.0.0.1")), "IPv4 inside IPv6 (private)");
  EXPECT_EQ(not_public(ipv6_of("::ffff:8.8.8.8")), nullptr);
}

}  // namespace paddock::net
