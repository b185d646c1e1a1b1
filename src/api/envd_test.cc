// The small pure parts of envd: signatures, ranges, metadata, entries, ends of processes,
// compressed bodies.
#include <gtest/gtest.h>
#include <zlib.h>

#include "api/envd_access.h"
#include "api/envd_files.h"
#include "api/envd_filesystem.h"
#include "api/envd_process_end.h"
#include "api/gunzip.h"

namespace paddock::api {
namespace {

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

TEST(Envd, ReadsRanges) {
  auto range = [](const char* header, uint64_t size) { return parse_range(header, size).value(); };
  EXPECT_EQ(range("bytes=0-9", 100)->length, 10u);
  EXPECT_EQ(range("bytes=90-", 100)->length, 10u);
  EXPECT_EQ(range("bytes=90-1000", 100)->length, 10u);
  EXPECT_EQ(range("bytes=-5", 100)->offset, 95u);
  EXPECT_EQ(range("bytes=-500", 100)->length, 100u);
}

TEST(Envd, IgnoresWhatIsNoSingleRange) {
  for (const char* header :
       {"", "bytes=", "bytes=-", "bytes=a-b", "bytes=9-1", "bytes=0-1,5-6", "lines=1-2", "bytes=1"})
    EXPECT_FALSE(parse_range(header, 100).value()) << header;
}

TEST(Envd, RefusesRangesBehindTheEnd) {
  EXPECT_FALSE(parse_range("bytes=100-", 100));
  EXPECT_FALSE(parse_range("bytes=-0", 100));
  EXPECT_FALSE(parse_range("bytes=0-", 0));
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
