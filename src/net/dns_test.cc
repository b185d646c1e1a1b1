#include "net/dns.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "net/bytes.h"

namespace paddock::net {

namespace {

using namespace std::literals;

constexpr uint16_t kReplyFlags = 0x8180, kSoa = 6, kOpt = 41;

// "www.example.com" as labels, with the root's.
std::string name(std::string_view text) {
  std::string bytes;
  for (const std::string& label : split(text, '.'))
    bytes += cat(static_cast<char>(label.size()), label);
  return bytes + '\0';
}

struct Counts {
  uint16_t flags = 0x0100, questions = 1, answers = 0, authorities = 0, additionals = 0;
};

std::string header(const Counts& counts) {
  std::string bytes;
  for (uint16_t field : {uint16_t{0x1234}, counts.flags, counts.questions, counts.answers,
                         counts.authorities, counts.additionals}) {
    append_number(bytes, field, 2);
  }
  return bytes;
}

std::string question(const std::string& labels, uint16_t type = 1, uint16_t qclass = 1) {
  std::string bytes = labels;
  append_number(bytes, type, 2);
  append_number(bytes, qclass, 2);
  return bytes;
}

std::string record(const std::string& labels, uint16_t type, uint32_t ttl, const std::string& data,
                   uint16_t record_class = 1) {
  std::string bytes = question(labels, type, record_class);
  append_number(bytes, ttl, 4);
  append_number(bytes, static_cast<uint32_t>(data.size()), 2);
  return bytes + data;
}

std::string opt(uint16_t size, const std::string& options = "", uint32_t ttl = 0) {
  return record("\0"s, kOpt, ttl, options, size);
}
std::string a(const std::string& owner, const std::string& data, uint32_t ttl = 60) {
  return record(name(owner), 1, ttl, data);
}
std::string cname(const std::string& owner, const std::string& target, uint32_t ttl = 60) {
  return record(name(owner), 5, ttl, name(target));
}

// A reply about the A records of "example.com".
std::string reply(const std::vector<std::string>& answers, uint16_t flags = kReplyFlags) {
  return header({.flags = flags, .answers = static_cast<uint16_t>(answers.size())}) +
         question(name("example.com")) + join(answers, "");
}

std::vector<std::string> addresses(const std::string& message) {
  std::optional<DnsReply> parsed = parse_reply(message);
  if (!parsed) return {"refused"};
  std::vector<std::string> texts;
  for (const Address& address : parsed->addresses) texts.push_back(to_string(address));
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST(DnsQuery, ReadsAQuestion) {
  std::optional<DnsQuery> query = parse_query(header({}) + question(name("wWw.Example.com"), 28));
  ASSERT_TRUE(query);
  EXPECT_EQ(query->id, 0x1234);
  EXPECT_TRUE(query->recursion_desired);
  EXPECT_EQ(query->question.name, "wWw.Example.com");
  EXPECT_EQ(query->question.type, 28);
  EXPECT_EQ(query->most, 512);
  EXPECT_FALSE(query->extended);
}

TEST(DnsQuery, TakesTheSizeFromAnEdnsRecordWithinBounds) {
  std::string start = header({.additionals = 1}) + question(name("a"));
  EXPECT_EQ(parse_query(start + opt(1232))->most, 1232);
  EXPECT_EQ(parse_query(start + opt(100))->most, 512);
  EXPECT_EQ(parse_query(start + opt(65535))->most, 4096);
  EXPECT_TRUE(parse_query(start + opt(1232, "\x00\x0a\x00\x02hi"s)));
  EXPECT_TRUE(parse_query(start + opt(1232, "", 0x8000)));  // DNSSEC OK
}

TEST(DnsQuery, ReadsTheRootAndTheLongestNames) {
  EXPECT_EQ(parse_query(header({}) + question("\0"s))->question.name, "");
  std::string label(61, 'a'), longest = cat(label, ".", label, ".", label, ".", label, "12.abc");
  ASSERT_EQ(longest.size(), 253u);
  EXPECT_EQ(parse_query(header({}) + question(name(longest)))->question.name, longest);
  EXPECT_FALSE(parse_query(header({}) + question(name(longest + "d"))));
}

TEST(DnsQuery, RefusesWhatIsNotOneQuestion) {
  std::string good = question(name("example.com"));
  ASSERT_TRUE(parse_query(header({}) + good));
  for (const std::string& message : {
           ""s,
           "\x12"s,
           header({}).substr(0, 11),
           header({}),
           header({.questions = 0}),
           header({.questions = 2}) + good,
           header({.questions = 2}) + good + good,
           header({.flags = 0x8100}) + good,                    // a reply
           header({.flags = 0x2900}) + good,                    // an update
           header({.flags = 0x0300}) + good,                    // truncated
           header({.flags = 0x0101}) + good,                    // with a code
           header({}) + good + "x",                             // bytes left over
           header({}) + good.substr(0, good.size() - 1),        // cut
           header({}) + question(name("example.com"), 1, 3),    // CHAOS
           header({}) + question(name("example.com"), 1, 255),  // any class
           // Counts that do not match.
           header({.answers = 1}) + good,
           header({.answers = 1}) + good + a("example.com", "abcd"),
           header({.authorities = 1}) + good + a("example.com", "abcd"),
           header({.additionals = 1}) + good,
           header({.additionals = 1}) + good + a("example.com", "abcd"),
           header({.additionals = 2}) + good + opt(512) + opt(512),
           // EDNS not at the root.
           header({.additionals = 1}) + good + record(name("x"), kOpt, 0, ""),
           header({.additionals = 1}) + good + opt(512, "", 0x10000),  // EDNS version 1
           // An option beyond the end.
           header({.additionals = 1}) + good + opt(512, "\x00\x0a\x00\x03hi"s),
           header({.additionals = 1}) + good + opt(512, "\x00"s),
       }) {
    EXPECT_FALSE(parse_query(message)) << printable(message);
  }
}

TEST(DnsQuery, RefusesNamesThatAreNoHostNames) {
  for (const std::string& labels : {"\x03"
                                    "a.b\0"s,
                                    "\x03"
                                    "a b\0"s,
                                    "\x03"
                                    "a\0b\0"s,
                                    "\x02"
                                    "a\xe4\0"s,
                                    "\x01*\0"s, "\x01/\0"s, "\x01@\0"s, "\x01:\0"s}) {
    EXPECT_FALSE(parse_query(header({}) + question(labels))) << printable(labels);
  }
}

TEST(DnsQuery, RefusesPointersAndReservedLabels) {
  for (const std::string& labels : {
           "\xc0\x0c"s,  // to itself
           "\xc0\x00"s,  // into the header
           "\x01"
           "a\xc0\x0c"s,  // to the start of the same name
           "\xc0\x0e"s,   // forwards
           "\xc0"s,
           "\x40"
           "a\0"s,
           "\x80"
           "a\0"s,
           "\x3f"
           "a\0"s,
       }) {
    EXPECT_FALSE(parse_query(header({}) + question(labels))) << printable(labels);
  }
}

TEST(DnsQuery, GivesTheIdOfABrokenOneButNeverOfAReply) {
  EXPECT_EQ(query_id("\x12\x34"sv), 0x1234);
  EXPECT_EQ(query_id("\x12\x34\x01\x00garbage"sv), 0x1234);
  EXPECT_FALSE(query_id("\x12\x34\x81\x80"sv));
  EXPECT_FALSE(query_id("\x12"sv));
  EXPECT_FALSE(query_id(""sv));
}

TEST(DnsAnswer, HoldsTheAddressesOfTheFamilyThatWasAskedFor) {
  std::vector<Address> both = {*parse_address("198.18.1.0"), *parse_address("2001:2::c612:100")};
  for (auto [type, expected] :
       {std::pair{DnsType::a, "198.18.1.0"}, {DnsType::aaaa, "2001:2::c612:100"}}) {
    std::optional<DnsQuery> query = parse_query(make_query(7, "Example.com", type));
    ASSERT_TRUE(query);
    std::optional<DnsReply> answer = parse_reply(make_answer(*query, DnsCode::ok, both, 30));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->id, 7);
    EXPECT_EQ(answer->question.name, "Example.com");
    ASSERT_EQ(answer->addresses.size(), 1u);
    EXPECT_EQ(to_string(answer->addresses[0]), expected);
    EXPECT_EQ(answer->ttl, 30u);
  }
}

TEST(DnsAnswer, HasNoRecordsForOtherTypesOrWithAnError) {
  std::vector<Address> address = {ipv4(0xc6120100)};
  DnsQuery query{.id = 1, .question = {.name = "example.com", .type = 65}};
  EXPECT_EQ(make_answer(query, DnsCode::ok, address, 30),
            header({.flags = 0x8080}).replace(0, 2, "\0\1"s) + question(name("example.com"), 65));
  query.question.type = 1;
  std::optional<DnsReply> refused = parse_reply(make_answer(query, DnsCode::refused, address, 30));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, DnsCode::refused);
  EXPECT_TRUE(refused->addresses.empty());
}

TEST(DnsAnswer, IsTruncatedToWhatTheAskerTakes) {
  DnsQuery query{.question = {.name = "example.com", .type = 1}};
  std::string answer = make_answer(query, DnsCode::ok, std::vector<Address>(100, ipv4(1)), 30);
  EXPECT_LE(answer.size(), 512u);
  EXPECT_TRUE(parse_reply(answer)->truncated);
  query.most = 65535;
  EXPECT_EQ(parse_reply(make_answer(query, DnsCode::ok, std::vector<Address>(100, ipv4(1)), 30))
                ->addresses.size(),
            100u);
}

TEST(DnsAnswer, HasAnEdnsRecordWhenTheQueryHadOne) {
  DnsQuery query = *parse_query(make_query(7, "example.com", DnsType::a));
  EXPECT_EQ(make_answer(query, DnsCode::ok, {}, 0),
            header({.flags = 0x8180, .additionals = 1}).replace(0, 2, "\0\7"s) +
                question(name("example.com")) + opt(4096));
}

TEST(DnsAnswer, AnErrorIsAHeaderOnly) {
  EXPECT_EQ(make_error(0x1234, DnsCode::malformed), header({.flags = 0x8081, .questions = 0}));
}

TEST(DnsMakeQuery, RefusesWhatIsNoName) {
  for (const std::string& text : {"a..b"s, ".a"s, "a."s, "."s, "a b"s, "a\0b"s,
                                  std::string(64, 'a'), std::string(255, 'a')}) {
    EXPECT_EQ(make_query(1, text, DnsType::a), "") << text;
  }
}

TEST(DnsReply, TakesTheAddresses) {
  EXPECT_EQ(addresses(reply(
                {a("example.com", "\xcb\x00\x71\x01"s), a("EXAMPLE.com", "\xcb\x00\x71\x02"s)})),
            (Texts{"203.0.113.1", "203.0.113.2"}));
  std::string compressed = record("\xc0\x0c"s, 1, 60, "\xcb\x00\x71\x01"s);
  EXPECT_EQ(addresses(reply({compressed})), Texts{"203.0.113.1"});
}

TEST(DnsReply, FollowsTheChainWhateverItsOrder) {
  std::string last = a("c.example.net", "\xcb\x00\x71\x01"s, 300);
  std::vector<std::string> chain = {last, cname("b.example.com", "C.example.net", 20),
                                    cname("Example.com", "B.example.com", 100)};
  EXPECT_EQ(addresses(reply(chain)), Texts{"203.0.113.1"});
  EXPECT_EQ(parse_reply(reply(chain))->ttl, 20u);
}

TEST(DnsReply, LeavesOtherNamesAndTypesAlone) {
  std::vector<std::string> answers = {
      a("other.com", "\x0a\x00\x00\x01"s),
      a("sub.example.com", "\x0a\x00\x00\x02"s),
      record(name("example.com"), 28, 60, std::string(16, 'x')),
      record(name("example.com"), 16, 60, "text"),
      record(name("example.com"), 1, 60, "\x0a\x00\x00\x03"s, 3),
      // One label with a dot in it is another name.
      "\x0b"
      "example.com\0\0\x01\0\x01\0\0\0\x01\0\x04\x0a\0\0\4"s,
  };
  EXPECT_EQ(addresses(reply(answers)), Texts{});
  std::string extra = header({.flags = kReplyFlags, .additionals = 1}) +
                      question(name("example.com")) + a("example.com", "\x0a\x00\x00\x01"s);
  EXPECT_EQ(addresses(extra), Texts{});
}

TEST(DnsReply, RefusesALoopOfNames) {
  EXPECT_EQ(addresses(reply({cname("example.com", "b"), cname("b", "example.com")})),
            Texts{"refused"});
  EXPECT_EQ(addresses(reply({cname("example.com", "example.com")})), Texts{"refused"});
  std::vector<std::string> answers = {cname("example.com", "n0")};
  for (int i = 0; i < 20; ++i) answers.push_back(cname(cat("n", i), cat("n", i + 1)));
  answers.push_back(a("n20", "abcd"));
  EXPECT_EQ(addresses(reply(answers)), Texts{"refused"});
}

TEST(DnsReply, TakesTheTimeOfANegativeAnswerFromTheSoa) {
  std::string times;
  for (uint32_t field : {1u, 2u, 3u, 4u, 77u}) append_number(times, field, 4);
  auto negative = [&](uint32_t ttl, uint16_t code) {
    return header({.flags = static_cast<uint16_t>(kReplyFlags | code), .authorities = 1}) +
           question(name("example.com")) +
           record(name("com"), kSoa, ttl, name("ns.com") + name("root.com") + times);
  };
  EXPECT_EQ(parse_reply(negative(900, 3))->ttl, 77u);
  EXPECT_EQ(parse_reply(negative(900, 3))->code, DnsCode::no_such_name);
  EXPECT_EQ(parse_reply(negative(5, 0))->ttl, 5u);
  EXPECT_EQ(parse_reply(reply({}))->ttl, 0u);
}

TEST(DnsReply, ReadsNothingBehindTheQuestionWhenTruncated) {
  std::optional<DnsReply> cut =
      parse_reply(reply({a("example.com", "abcd"), "half a record"}, kReplyFlags | 0x0200));
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->truncated);
  EXPECT_TRUE(cut->addresses.empty());
}

TEST(DnsReply, TakesNoAddressesFromAnError) {
  std::string extended = header({.flags = kReplyFlags, .answers = 1, .additionals = 1}) +
                         question(name("example.com")) + a("example.com", "abcd");
  EXPECT_EQ(addresses(reply({a("example.com", "abcd")}, kReplyFlags | 3)), Texts{});
  EXPECT_EQ(parse_reply(extended + opt(512, "", 0x01000000))->code, DnsCode::failed);
  EXPECT_EQ(addresses(extended + opt(512, "", 0x01000000)), Texts{});
  EXPECT_EQ(parse_reply(reply({}, kReplyFlags | 9))->code, DnsCode::failed);
}

TEST(DnsReply, TakesAHugeTimeForNone) {
  EXPECT_EQ(parse_reply(reply({a("example.com", "abcd", 0x80000000)}))->ttl, 0u);
}

TEST(DnsReply, RefusesALongChainOfPointers) {
  // Where the first record's data begins: a name, a pointer to it, a pointer to that one, …
  constexpr int kName = 42;
  std::string chain = name("a");
  for (int i = 0; i < 200; ++i)
    append_number(chain, static_cast<uint32_t>(0xc000 | (i == 0 ? kName : kName + 1 + 2 * i)), 2);
  auto with_pointer_to = [&](uint32_t place) {
    std::string pointer;
    append_number(pointer, 0xc000 | place, 2);
    return reply({record(name("x"), 16, 60, chain), record(pointer, 1, 60, "abcd"),
                  cname("example.com", "a")});
  };
  EXPECT_EQ(addresses(with_pointer_to(kName + 3 + 2 * 10)), Texts{"97.98.99.100"});
  EXPECT_EQ(addresses(with_pointer_to(kName + 3 + 2 * 199)), Texts{"refused"});
}

TEST(DnsReply, RefusesBrokenMessages) {
  std::string good = a("example.com", "abcd");
  ASSERT_EQ(addresses(reply({good})), Texts{"97.98.99.100"});
  for (const std::string& message : {
           ""s,
           reply({good}) + "x",
           reply({good}).substr(0, 40),
           reply({a("example.com", "abc")}),
           reply({a("example.com", "abcde")}),
           reply({record(name("example.com"), 28, 60, "abcd")}),
           reply({good}, 0x0100),
           reply({good}, 0xa900),
           header({.flags = kReplyFlags, .questions = 0}),
           header({.flags = kReplyFlags, .answers = 1}) + question(name("example.com")),
           reply({record(name("example.com"), 5, 60, name("a") + "x")}),
           reply({record(name("example.com"), 5, 60,
                         "\x05"
                         "a")}),
           reply({record("\xc0\xff"s, 1, 60, "abcd")}),  // a pointer forwards
           reply({record("\xc0\x1d"s, 1, 60, "abcd")}),  // to itself
           // To the start of the same name.
           reply({record("\x01"
                         "a\xc0\x1d"s,
                         1, 60, "abcd")}),
           // A target that is itself.
           reply({record(name("example.com"), 5, 60, "\xc0\x34"s)}),
           // EDNS among the answers.
           reply({opt(512)}),
           header({.flags = kReplyFlags, .authorities = 1}) + question(name("example.com")) +
               record(name("com"), kSoa, 1, name("a") + name("b")),
           header({.flags = kReplyFlags, .additionals = 2}) + question(name("example.com")) +
               opt(512) + opt(512),
       }) {
    EXPECT_EQ(addresses(message), Texts{"refused"}) << printable(message);
  }
}

}  // namespace paddock::net
