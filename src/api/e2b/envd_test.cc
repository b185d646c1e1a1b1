// The small parts of envd: signatures, fields, metadata, entries, ends of processes, compressed
// bodies.
#include <gtest/gtest.h>
#include <zlib.h>

#include "api/e2b/envd_access.h"
#include "api/e2b/envd_services.h"
#include "api/http/exchange_test.h"
#include "api/http/gunzip.h"
#include "base/percent.h"

namespace paddock::api {
namespace {

using EnvdAccess = ExchangeTest;

TEST(Envd, SignsAsTheClientsDo) {
  SignedFile file{.path = "hello.txt", .user = "user"};
  EXPECT_EQ(sign_file(file, "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"),
            "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
}

TEST(Envd, ASignatureIsForOnePathUserAndDirection) {
  SignedFile file{.path = "a", .user = "user"}, other = file;
  other.to_write = true;
  EXPECT_NE(sign_file(file, "token"), sign_file(other, "token"));
  other = file;
  other.expiration = "5";
  EXPECT_NE(sign_file(file, "token"), sign_file(other, "token"));
}

TEST_F(EnvdAccess, ATokenInTheHeaderIsEnough) {
  EXPECT_EQ(why_not_by_token(get("/", "X-Access-Token: t\r\n"), "t"), nullptr);
  EXPECT_NE(why_not_by_token(get("/", "X-Access-Token: u\r\n"), "t"), nullptr);
  EXPECT_NE(why_not_by_token(get("/"), "t"), nullptr);
  EXPECT_EQ(why_not_for_file(get("/files", "X-Access-Token: t\r\n"), "t", 0), nullptr);
  EXPECT_STREQ(why_not_for_file(get("/files", "X-Access-Token: u\r\n"), "t", 0),
               "access token present in header but does not match");
}

TEST_F(EnvdAccess, ASignatureIsEnoughForAFileUntilItExpires) {
  SignedFile file{.path = "/a", .user = "user", .expiration = "100"};
  std::string url = cat("/files?path=/a&username=user&signature_expiration=100&signature=",
                        percent_encode(sign_file(file, "t")));
  EXPECT_EQ(why_not_for_file(get(url), "t", 99), nullptr);
  EXPECT_STREQ(why_not_for_file(get(url), "t", 101), "signature is already expired");
  EXPECT_STREQ(why_not_for_file(get(url), "other", 99), "invalid signature");
  EXPECT_STREQ(why_not_for_file(get("/files?path=/a"), "t", 0),
               "missing signature query parameter");
}

TEST_F(EnvdAccess, TheUserComesFromBasicCredentials) {
  EXPECT_EQ(user_of(get("/")).value(), "");
  EXPECT_EQ(user_of(get("/", "Authorization: Basic cm9vdDo=\r\n")).value(), "root");
  Result<std::string> wrong = user_of(get("/", "Authorization: Basic ???\r\n"));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, Kind::unauthenticated);
}

TEST(EnvdFields, AreFoundByEitherName) {
  Value message = Value::Object{{"include_entry", true}, {"pid", "12"}, {"n", "x"}, {"tag", "t"}};
  EXPECT_TRUE(bool_field(message, "includeEntry", false));
  EXPECT_TRUE(bool_field(message, "missing", true));
  EXPECT_EQ(number_field(message, "pid"), 12);
  EXPECT_FALSE(number_field(message, "n"));
  EXPECT_EQ(text_field(message, "tag"), "t");
  EXPECT_EQ(text_field(message, "pidx"), "");
}

TEST_F(EnvdAccess, TheKeepaliveIntervalIsInSeconds) {
  EXPECT_EQ(keepalive_interval(get("/")), 90'000);
  EXPECT_EQ(keepalive_interval(get("/", "Keepalive-Ping-Interval: 5\r\n")), 5'000);
  EXPECT_EQ(keepalive_interval(get("/", "Keepalive-Ping-Interval: x\r\n")), 90'000);
}

TEST(Envd, MetadataComesFromHeadersInLowerCase) {
  auto metadata = metadata_of({{"X-Metadata-Author", "mish"}, {"Content-Type", "text/plain"}});
  ASSERT_TRUE(metadata);
  EXPECT_EQ(metadata.value(), (std::map<std::string, std::string>{{"author", "mish"}}));
}

TEST(Envd, RefusesMetadataThatCannotBeStored) {
  EXPECT_FALSE(metadata_of({{"X-Metadata-", "x"}}));
  EXPECT_FALSE(metadata_of({{"X-Metadata-a", "caf\xc3\xa9"}}));
  EXPECT_FALSE(metadata_of({{"X-Metadata-a", std::string(5000, 'x')}}));
  EXPECT_FALSE(metadata_of({{"X-Metadata-" + std::string(300, 'k'), "x"}}));
  EXPECT_FALSE(metadata_of({{"X-Metadata-a", "1"}, {"x-metadata-A", "2"}}));
}

TEST(Envd, TheEndOfAProcessIsSaidAsGoSaysIt) {
  EXPECT_EQ(to_json(end_event(Value::Object{{"code", 0}})),
            R"({"exitCode":0,"exited":true,"status":"exit status 0"})");
  EXPECT_EQ(to_json(end_event(Value::Object{{"code", 3}})),
            R"({"exitCode":3,"exited":true,"status":"exit status 3","error":"exit status 3"})");
  const char* killed =
      R"({"exitCode":-1,"exited":false,"status":"signal: killed","error":"signal: killed"})";
  EXPECT_EQ(to_json(end_event(Value::Object{{"signal", 9}})), killed);
  EXPECT_EQ(to_json(end_event(Value::Object{{"signal", "SIGKILL"}})), killed);
}

TEST(Envd, ALinkShowsWhatItLeadsTo) {
  Value info = entry_info(
      parse_json(
          R"({"name":"l","path":"/l","type":"symlink","permissions":"lrwxrwxrwx","mode":511,"size":3,
    "target":"/etc/hosts","target_type":"file","target_mode":420,"modified_ns":1000000001})",
          "entry")
          .value());
  EXPECT_EQ(*info.find("type")->as_string(), "FILE_TYPE_FILE");
  EXPECT_EQ(*info.find("mode")->as_int(), 0644);
  EXPECT_EQ(*info.find("permissions")->as_string(), "Lrwxrwxrwx");
  EXPECT_EQ(*info.find("symlinkTarget")->as_string(), "/etc/hosts");
  EXPECT_EQ(*info.find("size")->as_string(), "3");
  EXPECT_EQ(*info.find("modifiedTime")->as_string(), "1970-01-01T00:00:01.000000001Z");
}

TEST(Envd, ALinkToNothingHasNoType) {
  Value info = entry_info(Value::Object{{"type", "symlink"}, {"target", "/nowhere"}});
  EXPECT_EQ(*info.find("type")->as_string(), "FILE_TYPE_UNSPECIFIED");
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Gunzip, GivesLittleAtATimeHoweverMuchIsInside) {
  std::string text(5 << 20, 'x'), packed = gzip(text), all;
  Gunzip gunzip;
  for (size_t i = 0; i < packed.size(); i += 7) {
    Result<std::string> piece = gunzip.take(std::string_view(packed).substr(i, 7));
    while (true) {
      ASSERT_TRUE(piece);
      if (piece.value().empty()) break;
      ASSERT_LE(piece.value().size(), 64u << 10);
      all += piece.value();
      piece = gunzip.take("");
    }
  }
  EXPECT_TRUE(gunzip.ended());
  EXPECT_EQ(all, text);
}

TEST(Gunzip, KnowsWhenItIsCutOff) {
  std::string packed = gzip("hello");
  Gunzip gunzip;
  (void)gunzip.take(packed.substr(0, packed.size() - 3));
  EXPECT_FALSE(gunzip.ended());
}

TEST(Gunzip, RefusesWhatIsNotGzip) {
  Gunzip gunzip;
  EXPECT_FALSE(gunzip.take("this is not gzip at all"));
}

}  // namespace
}  // namespace paddock::api
