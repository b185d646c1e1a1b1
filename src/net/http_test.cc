#include "net/http.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock::net {

namespace {

using namespace std::literals;

// What is behind "GET / HTTP/1.1\r\nHost: a\r\n".
std::string with(const std::string& headers) {
  return cat("GET / HTTP/1.1\r\nHost: a\r\n", headers, "\r\n");
}
std::string with_line(const std::string& line) { return cat(line, "\r\nHost: a\r\n\r\n"); }

RequestHead request(const std::string& head) {
  Result<RequestHead> parsed = parse_request(head);
  EXPECT_TRUE(parsed) << printable(head) << "\n" << (parsed ? "" : parsed.error().message);
  return parsed ? parsed.value() : RequestHead{};
}

ResponseHead response(const std::string& head, std::string_view method = "GET") {
  Result<ResponseHead> parsed = parse_response(head, method);
  EXPECT_TRUE(parsed) << printable(head) << "\n" << (parsed ? "" : parsed.error().message);
  return parsed ? parsed.value() : ResponseHead{};
}

}  // namespace

TEST(HttpHead, EndsBehindTheEmptyLine) {
  EXPECT_EQ(head_size("GET / HTTP/1.1\r\nHost: a\r\n\r\nbody").value(), 27u);
  EXPECT_EQ(head_size("").value(), 0u);
  EXPECT_EQ(head_size("GET / HTTP/1.1\r\nHost: a\r\n\r").value(), 0u);
  EXPECT_EQ(head_size("GET / HTTP/1.1\nHost: a\n\nbody").value(), 24u);
  EXPECT_EQ(head_size("GET / HTTP/1.1\nHost: a\n\r\nbody").value(), 25u);
}

TEST(HttpHead, HasALargestSize) {
  std::string head = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  head += std::string(kLargestHead - head.size() - 4, 'x') + "\r\n\r\n";
  EXPECT_EQ(head_size(head).value(), kLargestHead);
  EXPECT_TRUE(parse_request(head));
  head.insert(head.size() - 4, "x");
  ASSERT_FALSE(head_size(head));
  EXPECT_EQ(head_size(head).error().code, Code::exhausted);
  EXPECT_FALSE(parse_request(head));
  EXPECT_EQ(head_size(std::string(kLargestHead - 1, 'x')).value(), 0u);
  EXPECT_FALSE(head_size(std::string(kLargestHead, 'x')));
}

TEST(HttpRequest, ReadsAnOrdinaryOne) {
  RequestHead head = request(
      "POST /a?b=c HTTP/1.1\r\nHost: Example.com:8080\r\ncontent-LENGTH: "
      "12\r\nX-Empty:\r\nX-Blank: \t a b \t\r\n\r\n");
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/a?b=c");
  EXPECT_EQ(head.path, "/a?b=c");
  EXPECT_EQ(head.form, RequestHead::Form::origin);
  EXPECT_EQ(head.host, "Example.com:8080");
  EXPECT_EQ(head.body.kind, Body::Kind::length);
  EXPECT_EQ(head.body.length, 12u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_EQ(find_header(head.headers, "x-empty")->value, "");
  EXPECT_EQ(find_header(head.headers, "x-blank")->value, "a b");
  EXPECT_EQ(find_header(head.headers, "missing"), nullptr);
}

TEST(HttpRequest, ReadsEveryFormOfTarget) {
  RequestHead absolute = request("GET http://a.com:8080/x?y HTTP/1.1\r\nHost: A.com:8080\r\n\r\n");
  EXPECT_EQ(absolute.form, RequestHead::Form::absolute);
  EXPECT_EQ(absolute.authority, "a.com:8080");
  EXPECT_EQ(absolute.path, "/x?y");
  EXPECT_EQ(request("GET http://a.com HTTP/1.1\r\nHost: a.com\r\n\r\n").path, "/");
  EXPECT_EQ(request("GET http://a.com?q HTTP/1.1\r\nHost: a.com\r\n\r\n").path, "/?q");
  EXPECT_EQ(request("GET HTTP://a.com:80/ HTTP/1.1\r\nHost: a.com\r\n\r\n").authority, "a.com:80");
  EXPECT_EQ(request("GET http://[2001:db8::1]/ HTTP/1.0\r\n\r\n").authority, "[2001:db8::1]");

  RequestHead tunnel = request("CONNECT a.com:443 HTTP/1.1\r\nHost: a.com\r\n\r\n");
  EXPECT_EQ(tunnel.form, RequestHead::Form::authority);
  EXPECT_EQ(tunnel.authority, "a.com:443");
  EXPECT_EQ(request("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").form, RequestHead::Form::asterisk);
}

TEST(HttpRequest, KnowsWhetherTheConnectionStays) {
  EXPECT_TRUE(request("GET / HTTP/1.1\r\nHost: a\r\n\r\n").keep_alive);
  EXPECT_FALSE(request("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n").keep_alive);
  EXPECT_FALSE(
      request("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nConnection: x ,close\r\n\r\n")
          .keep_alive);
  EXPECT_FALSE(request("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_TRUE(request("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
  EXPECT_FALSE(request("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n").keep_alive);
}

TEST(HttpRequest, SeesAnUpgradeOnlyWhenConnectionNamesIt) {
  EXPECT_EQ(request(with("Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n")).upgrade,
            "websocket");
  EXPECT_EQ(request(with("Upgrade: h2c\r\n")).upgrade, std::nullopt);
  EXPECT_EQ(request(with("Connection: upgrade\r\n")).upgrade, std::nullopt);
}

TEST(HttpRequest, TakesWhatIsUnusualButClear) {
  for (const std::string& head : {
           with(""),
           with("Content-Length: 0\r\n"),
           with("Content-Length: 000000000000000012\r\n"),
           with("content-length:12\r\n"),
           with("Transfer-Encoding: chunked\r\n"),
           with("transfer-encoding:\tchunked \r\n"),
           with("TE: trailers\r\nConnection: TE\r\n"),
           with("X: \xc3\xa4\r\n"),
           with("X:a:b\r\n"),
           with("X: a\r\nX: b\r\n"),
           with("X: \"a\\\"\r\n"),
           with("!#$%&'*+-.^_`|~: x\r\n"),
           with("Expect: 100-continue\r\nContent-Length: 5\r\n"),
           with("Content_Length: 5\r\n"),
           with_line("get / HTTP/1.1"),
           with_line("M-SEARCH /a HTTP/1.1"),
           with_line("GET //b/../c HTTP/1.1"),
           with_line("GET /a%20%00b HTTP/1.1"),
           with_line("GET /?a=http://b/ HTTP/1.1"),
           with_line("GET /{\"|^`\\} HTTP/1.1"),
           with_line("GET /" + std::string(kLongestTarget - 1, 'a') + " HTTP/1.1"),
           with_line("GET http://a:80/ HTTP/1.1"),
           with_line("CONNECT b:443 HTTP/1.1"),
           "GET / HTTP/1.0\r\n\r\n"s,
           "CONNECT a:443 HTTP/1.0\r\nContent-Length: 0\r\n\r\n"s,
           "GET / HTTP/1.1\r\nhOST:[::1]:80\r\n\r\n"s,
           "GET / HTTP/1.1\r\nHost: a_b.c.\r\n\r\n"s,
       }) {
    RequestHead head_parsed = request(head);
    EXPECT_EQ(to_bytes(request(to_bytes(head_parsed))), to_bytes(head_parsed));
  }
}

TEST(HttpRequest, RefusesWhatCouldBeReadInTwoWays) {
  const std::vector<std::string> heads = {
      // lines
      "",
      "\r\n",
      "\r\n\r\n",
      "GET / HTTP/1.1",
      "GET / HTTP/1.1\r\nHost: a\r\n",
      "GET / HTTP/1.1\nHost: a\n\n",
      "GET / HTTP/1.1\r\nHost: a\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
      "GET / HTTP/1.1\rHost: a\r\n\r\n",
      "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      with("") + "x",
      with("") + with(""),
      with("X: a\rb\r\n"),
      with("X: a\nY: b\r\n"),
      with("\r\nX: b\r\n"),
      // the first line
      with_line("GET  / HTTP/1.1"),
      with_line(" GET / HTTP/1.1"),
      with_line("GET /  HTTP/1.1"),
      with_line("GET / HTTP/1.1 "),
      with_line("GET\t/ HTTP/1.1"),
      with_line("GET /\tHTTP/1.1"),
      with_line("GET / a HTTP/1.1"),
      with_line("GET /"),
      with_line("GET"),
      with_line("GET HTTP/1.1"),
      with_line("GET  HTTP/1.1"),
      with_line("G(T / HTTP/1.1"),
      with_line("G\x01T / HTTP/1.1"),
      with_line("G\xc3\xa4T / HTTP/1.1"),
      with_line(" / HTTP/1.1"),
      with_line("GET: / HTTP/1.1"),
      with_line("GET / HTTP/1.2"),
      with_line("GET / HTTP/2.0"),
      with_line("GET / HTTP/0.9"),
      with_line("GET / HTTP/1.1x"),
      with_line("GET / HTTP/01.1"),
      with_line("GET / http/1.1"),
      with_line("GET / HTTP/1"),
      with_line("GET / HTTP/11"),
      with_line("PRI * HTTP/2.0"),
      with_line("GET / ICY/1.1"),
      // targets
      with_line("GET a HTTP/1.1"),
      with_line("GET /a#b HTTP/1.1"),
      with_line("GET /\x80 HTTP/1.1"),
      with_line("GET /\x7f HTTP/1.1"),
      with_line("GET /\0 HTTP/1.1"s),
      with_line("GET * HTTP/1.1"),
      with_line("GET https://a/ HTTP/1.1"),
      with_line("GET ftp://a/ HTTP/1.1"),
      with_line("GET http:/a/ HTTP/1.1"),
      with_line("GET http:///x HTTP/1.1"),
      with_line("GET http:// HTTP/1.1"),
      with_line("GET http://b/ HTTP/1.1"),
      with_line("GET http://a:81/ HTTP/1.1"),
      with_line("GET http://u@a/ HTTP/1.1"),
      with_line("GET http://u:p@a/ HTTP/1.1"),
      with_line("GET http://a\\@b/ HTTP/1.1"),
      with_line("GET http://a%2eb/ HTTP/1.1"),
      with_line("GET http://a:80:80/ HTTP/1.1"),
      with_line("GET http://a#b/ HTTP/1.1"),
      with_line("GET ://a/ HTTP/1.1"),
      with_line("GET a:80 HTTP/1.1"),
      with_line("CONNECT a HTTP/1.1"),
      with_line("CONNECT /a HTTP/1.1"),
      with_line("CONNECT http://a/ HTTP/1.1"),
      with_line("CONNECT a:443/ HTTP/1.1"),
      with_line("CONNECT a:0 HTTP/1.1"),
      with_line("CONNECT a: HTTP/1.1"),
      with_line("CONNECT u@a:443 HTTP/1.1"),
      with_line("connect a:443 HTTP/1.1"),
      with_line("GET /" + std::string(kLongestTarget, 'a') + " HTTP/1.1"),
      // Host
      "GET / HTTP/1.1\r\n\r\n",
      with("Host: a\r\n"),
      with("HOST: b\r\n"),
      "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost:\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: ::1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: [a]\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n",
      "GET http://a/ HTTP/1.0\r\nHost: b\r\n\r\n",
      // headers
      with("X : a\r\n"),
      with("X\t: a\r\n"),
      with(" X: a\r\n"),
      with("X: a\r\n b\r\n"),
      with("X: a\r\n\tb\r\n"),
      with("X\r\n"),
      with(": a\r\n"),
      with("X Y: a\r\n"),
      with("X\0: a\r\n"s),
      with("X: a\0b\r\n"s),
      with("X: a\x01\r\n"),
      with("X: a\x7f\r\n"),
      with("X(: a\r\n"),
      with("\xc3\xa4: a\r\n"),
      with("X: a\vb\r\n"),
      // lengths
      with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
      with("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"),
      with("Content-Length: 5\r\nContent-Length: 5\r\n"),
      with("Content-Length: 5\r\ncontent-length: 6\r\n"),
      with("Content-Length: 5, 5\r\n"),
      with("Content-Length: +5\r\n"),
      with("Content-Length: -5\r\n"),
      with("Content-Length: 0x5\r\n"),
      with("Content-Length: 5 5\r\n"),
      with("Content-Length: \r\n"),
      with("Content-Length: 5.0\r\n"),
      with("Content-Length: \"5\"\r\n"),
      with("Content-Length: 99999999999999999999\r\n"),
      with("Content-Length: \v5\r\n"),
      with("Content-Length : 5\r\n"),
      with("Content-Length\t: 5\r\n"),
      // codings
      with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
      with("Transfer-Encoding: chunked, chunked\r\n"),
      with("Transfer-Encoding: gzip, chunked\r\n"),
      with("Transfer-Encoding: chunked, identity\r\n"),
      with("Transfer-Encoding: identity\r\n"),
      with("Transfer-Encoding: xchunked\r\n"),
      with("Transfer-Encoding: Chunked\r\n"),
      with("Transfer-Encoding: chunked;q=1\r\n"),
      with("Transfer-Encoding: \"chunked\"\r\n"),
      with("Transfer-Encoding:\r\n"),
      with("Transfer-Encoding : chunked\r\n"),
      with("Transfer-Encoding: \vchunked\r\n"),
      with("Transfer-Encoding: chunked\0\r\n"s),
      with("Transfer-Encoding:\r\n chunked\r\n"),
      with("X: a\r\n Transfer-Encoding: chunked\r\n"),
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
      // who removes what
      with("Connection: Host\r\n"),
      with("Connection: close, content-length\r\nContent-Length: 5\r\n"),
      with("Connection: transfer-encoding\r\n"),
      with("Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n"),
      "CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
      "CONNECT a:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
  };
  for (const std::string& head : heads) {
    Result<RequestHead> parsed = parse_request(head);
    EXPECT_FALSE(parsed) << printable(head);
    if (!parsed) {
      EXPECT_TRUE(starts_with(parsed.error().message, "read HTTP head: "))
          << parsed.error().message;
    }
  }
}

TEST(HttpRequest, HasAtMostSoManyHeaders) {
  std::string headers;
  for (size_t i = 1; i < kMostHeaders; ++i) headers += "X: a\r\n";
  EXPECT_EQ(request(with(headers)).headers.size(), kMostHeaders);
  EXPECT_FALSE(parse_request(with(headers + "X: a\r\n")));
}

TEST(HttpResponse, ReadsAnOrdinaryOne) {
  ResponseHead head = response("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(head.status, 404);
  EXPECT_EQ(head.reason, "Not Found");
  EXPECT_EQ(head.body.kind, Body::Kind::length);
  EXPECT_EQ(head.body.length, 9u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_EQ(to_bytes(head), "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n");
}

TEST(HttpResponse, TakesAnEmptyReason) {
  EXPECT_EQ(response("HTTP/1.1 200 \r\n\r\n").reason, "");
  EXPECT_EQ(to_bytes(response("HTTP/1.1 200\r\n\r\n")), "HTTP/1.1 200 \r\n\r\n");
}

TEST(HttpResponse, KnowsWhereItsBodyEnds) {
  using Kind = Body::Kind;
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").body.kind,
            Kind::chunked);
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD").body.kind, Kind::none);
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\n\r\n", "CONNECT").body.kind, Kind::none);
  EXPECT_EQ(response("HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\n", "CONNECT").body.kind,
            Kind::length);
  for (const char* status : {"100", "101", "103", "204", "304"}) {
    EXPECT_EQ(response(cat("HTTP/1.1 ", status, " X\r\nContent-Length: 5\r\n\r\n")).body.kind,
              Kind::none)
        << status;
    EXPECT_TRUE(response(cat("HTTP/1.1 ", status, " X\r\n\r\n")).keep_alive) << status;
  }
  ResponseHead endless = response("HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(endless.body.kind, Kind::until_close);
  EXPECT_FALSE(endless.keep_alive);
  EXPECT_FALSE(response("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").keep_alive);
}

TEST(HttpResponse, RefusesWhatCouldBeReadInTwoWays) {
  for (const std::string& head : {
           ""s,
           "HTTP/1.1\r\n\r\n"s,
           "HTTP/1.1 \r\n\r\n"s,
           "HTTP/1.1 20\r\n\r\n"s,
           "HTTP/1.1 2000 OK\r\n\r\n"s,
           "HTTP/1.1 099 OK\r\n\r\n"s,
           "HTTP/1.1 2x0 OK\r\n\r\n"s,
           "HTTP/1.1  200 OK\r\n\r\n"s,
           "HTTP/1.1\t200 OK\r\n\r\n"s,
           "HTTP/2 200 OK\r\n\r\n"s,
           "HTTP/1.2 200 OK\r\n\r\n"s,
           "http/1.1 200 OK\r\n\r\n"s,
           "HTTP/1.1 200 O\x01K\r\n\r\n"s,
           "ICY 200 OK\r\n\r\n"s,
           "HTTP/1.1 200 OK\n\n"s,
           "HTTP/1.1 200\tOK\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"s,
           "HTTP/1.1 304 OK\r\nContent-Length: x\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"s,
           "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nX : a\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\n\r\nx"s,
       }) {
    EXPECT_FALSE(parse_response(head, "GET")) << printable(head);
  }
}

TEST(HttpAuthority, SplitsHostAndPort) {
  EXPECT_EQ(parse_authority("Example.com").value().host, "Example.com");
  EXPECT_EQ(parse_authority("Example.com").value().port, std::nullopt);
  EXPECT_EQ(parse_authority("example.com:65535").value().port, 65535);
  EXPECT_EQ(parse_authority("[2001:db8::1]:80").value().host, "[2001:db8::1]");
  EXPECT_EQ(parse_authority("[2001:db8::1]:80").value().port, 80);
  EXPECT_EQ(parse_authority("203.0.113.7:1").value().host, "203.0.113.7");
}

TEST(HttpAuthority, RefusesOthers) {
  for (const std::string& text : {""s,         ":80"s,       "a:"s,
                                  "a:0"s,      "a:080"s,     "a:65536"s,
                                  "a:100000"s, "a:-1"s,      "a:+1"s,
                                  "a:1 "s,     " a"s,        "a "s,
                                  "a,b"s,      "u@a"s,       "a/b"s,
                                  "a?b"s,      "a%00"s,      "a\0"s,
                                  "a\\b"s,     "\xc3\xa4"s,  "*"s,
                                  "::1"s,      "[]"s,        "[::1"s,
                                  "::1]"s,     "[1.2.3.4]"s, "[fe80::1%25lo]"s,
                                  "[::1]80"s,  "[::1]:"s,    "[[::1]]"s,
                                  "a[::1]"s}) {
    EXPECT_FALSE(parse_authority(text)) << printable(text);
  }
}

TEST(LooksLikeHttp, KnowsARequest) {
  for (const std::string& bytes : {
           "GET /"s,
           "GET /\r"s,
           "GET /\r\nHost: a\r\n"s,
           "GET /\xc3\xa4"s,
           "GET /\0x HTTP/1.1"s,
           "GET http:"s,
           "OPTIONS *"s,
           "GET / HTTP/1.1\r\n"s,
           "GET / HTTP/"s,
           "get / HTTP/1.1"s,
           "GET\t/ HTTP/1.1"s,
           "GET\v/\fHTTP/1.1"s,
           "  GET / HTTP/1.1"s,
           "\tGET / HTTP/1.1"s,
           "\r\n\r\nGET / HTTP/1.1"s,
           "\nGET / HTTP/1.1"s,
           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"s,
           "GET / http/1.1"s,
           "GET /\x80\xff\x01 HTTP/1.1"s,
           "CONNECT a:443 HTTP/1.1"s,
           "GET /\rHTTP/1.1"s,
           "GET / HTTP/1.1\0"s,
           "GET http://a/ HTTP/1.1"s,
           "GET /" + std::string(kLongestTarget + 64, 'a'),
           std::string(kLongestTarget + 65, '\n'),
           std::string(8193, 'A') + " / HTTP/1.1\r\n",
           std::string(kLongestTarget + 65, 'A'),
       }) {
    EXPECT_EQ(looks_like_http(bytes), Looks::http) << printable(bytes.substr(0, 40));
  }
}

TEST(LooksLikeHttp, WaitsWhileItCanBecomeOne) {
  for (const std::string& bytes : {""s, "\r\n"s, "\r\n\r\n "s, "G"s, "GET"s, "GET "s, "GET h"s,
                                   "SSH-2.0"s, "CONNECT a"s, std::string(10'000, 'a')}) {
    EXPECT_EQ(looks_like_http(bytes), Looks::more) << printable(bytes.substr(0, 40));
  }
}

TEST(LooksLikeHttp, KnowsOtherProtocols) {
  for (const std::string& bytes : {
           "SSH-2.0-OpenSSH_9.2\r\n"s,
           "EHLO a\r\n"s,
           "*1\r\n$4\r\nPING\r\n"s,
           "\x16\x03\x01"s,
           "\x05\x01\x00"s,
           "\0\0\0\x08\x04\xd2\x16\x2f"s,
           "AMQP\0\0\x09\x01"s,
           "\x80"s,
           "0032git-upload-pack /a.git\0host=a\0"s,
           "\r\nEHLO a\nGET / HTTP/1.1\r\n"s,
           "RTSP://a RTSP/1.0\r\n"s,
           "\x10\x0e\x00\x04MQTT"s,
           "HTTP/1.1 200 OK\r\n"s,
           "{\"id\": 1}"s,
       }) {
    EXPECT_EQ(looks_like_http(bytes), Looks::other) << printable(bytes);
  }
}

TEST(Http, KnowsTheGreetingOfAnHttp2Server) {
  const std::string settings("\0\0\x12\x04\0\0\0\0\0\0\x03", 11), empty("\0\0\0\x04\0\0\0\0\0", 9),
      answer("\0\0\0\x04\x01\0\0\0\0", 9);
  for (const std::string& bytes : {settings, empty, answer})
    EXPECT_EQ(looks_like_http2_settings(bytes), Looks::http);
  for (size_t size = 0; size < kHttp2FrameHead; ++size)
    EXPECT_EQ(looks_like_http2_settings(settings.substr(0, size)), Looks::more);
  const std::string mysql(
      "\x4a\0\0\0\x0a"
      "8.0",
      8),
      ping("\0\0\x08\x06\0\0\0\0\0", 9), odd("\0\0\x07\x04\0\0\0\0\0", 9),
      stream("\0\0\0\x04\0\0\0\0\x01", 9);
  for (const std::string& bytes :
       {mysql, ping, odd, stream, std::string("220 mail"), std::string("SSH-2.0-x")})
    EXPECT_EQ(looks_like_http2_settings(bytes), Looks::other) << printable(bytes);
}

}  // namespace paddock::net
