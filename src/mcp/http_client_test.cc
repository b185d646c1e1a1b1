#include <netinet/in.h>
#include <sys/socket.h>

#include "io/http_client.h"
#include "mcp/client_test.h"
#include "mcp/http_headers.h"
#include "mcp/sse.h"

namespace paddock::mcp {

namespace {

using Texts = std::vector<std::string>;

struct Asked {
  net::RequestHead head;
  std::optional<Message> message;
  std::string body;
  std::string header(const char* name) const {
    const net::Header* found = net::find_header(head.headers, name);
    return found ? found->value : "";
  }
};

std::string id_of(const Asked& asked) {
  return asked.message ? to_json(asked.message->id) : "null";
}

std::string reply(const std::string& status, const std::string& type, const std::string& body,
                  const std::string& headers = "") {
  return cat("HTTP/1.1 ", status, "\r\n", headers,
             type.empty() ? "" : cat("Content-Type: ", type, "\r\n"),
             "Content-Length: ", body.size(), "\r\n\r\n", body);
}
std::string answer_with(const Asked& asked, const std::string& result,
                        const std::string& headers = "") {
  return reply(
      "200 OK", "application/json",
      cat(R"({"jsonrpc":"2.0","id":)", id_of(asked), R"(,"result":)", to_json(json(result)), "}"),
      headers);
}
// A stream that ends with its connection.
std::string events(const std::vector<std::string>& each) {
  std::string text =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: "
      "close\r\n\r\n";
  for (const std::string& event : each) text += cat(event, "\n\n");
  return text;
}
std::string result_event(const Asked& asked, const std::string& result) {
  return cat(R"(data: {"jsonrpc":"2.0","id":)", id_of(asked), R"(,"result":)", result, "}");
}

// Answers each request with bytes; an empty answer leaves the connection hanging.
class Web {
 public:
  explicit Web(std::function<std::string(const Asked&)> handler) : handler_(std::move(handler)) {
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd.get(), 64), 0);
    EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
    listener_.open(test_loop(), std::move(fd));
    io::spawn(listen(this));
  }
  ~Web() {
    over_ = true;
    listener_.nudge();
    for (io::Stream* stream : streams_) stream->cut();
    (void)run_until([&] { return !listening_ && streams_.empty(); });
  }
  Texts methods() const {
    Texts all;
    for (const Asked& each : asked)
      all.push_back(each.message && !each.message->method.empty() ? each.message->method
                                                                  : each.head.method);
    return all;
  }
  size_t count(const std::string& method) const {
    Texts all = methods();
    return static_cast<size_t>(std::count(all.begin(), all.end(), method));
  }
  const Asked& last(const std::string& method) const {
    for (size_t i = asked.size(); i-- > 0;)
      if (methods()[i] == method) return asked[i];
    ADD_FAILURE() << method << " was not asked";
    return asked.front();
  }

  uint16_t port = 0;
  std::vector<Asked> asked;
  size_t connections = 0;

 private:
  static io::Task<void> listen(Web* self) {
    while (!self->over_) {
      Fd fd(::accept4(self->listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd) {
        ++self->connections;
        io::spawn(serve(self, std::move(fd)));
        continue;
      }
      self->listener_.not_readable();
      (void)co_await self->listener_.readable();
    }
    self->listening_ = false;
  }
  static io::Task<void> serve(Web* self, Fd fd) {
    auto stream = std::make_unique<io::Stream>(test_loop(), std::move(fd));
    self->streams_.push_back(stream.get());
    while (true) {
      Result<size_t> size = net::head_size(stream->ahead);
      if (!size) break;
      Asked asked;
      if (size.value())
        asked.head =
            net::parse_request(std::string_view(stream->ahead).substr(0, size.value())).value();
      if (size.value() == 0 || stream->ahead.size() < size.value() + asked.head.body.length) {
        io::Stream::More more = co_await stream->read();
        if (more != io::Stream::More::yes) break;
        continue;
      }
      asked.body = stream->ahead.substr(size.value(), asked.head.body.length);
      stream->ahead.erase(0, size.value() + asked.head.body.length);
      asked.message = parse_message(asked.body).message;
      self->asked.push_back(asked);
      std::string bytes = self->handler_(asked);
      (void)co_await stream->write(bytes);
      if (contains(bytes, "Connection: close")) break;
    }
    std::erase(self->streams_, stream.get());
  }

  std::function<std::string(const Asked&)> handler_;
  io::Socket listener_;
  std::vector<io::Stream*> streams_;
  bool over_ = false, listening_ = true;
};

class HttpClientTest : public ::testing::Test {
 protected:
  void serve(std::function<std::string(const Asked&)> handler) {
    web_ = std::make_unique<Web>(std::move(handler));
  }
  Result<std::shared_ptr<ServerLink>> open() {
    options_.name = "paddock", options_.version = "1";
    options_.upstream.tell = [this](std::string method, Value params) {
      told_.push_back(cat(method, " ", to_json(params)));
    };
    options_.upstream.complain = [this](std::string line) { complaints_.push_back(line); };
    target_.url = cat("http://127.0.0.1:", web_->port, "/mcp?x=1");
    target_.private_addresses = true;
    return wait_for(connect_http(test_loop(), target_, options_));
  }
  void connect() {
    Result<std::shared_ptr<ServerLink>> link = open();
    ASSERT_TRUE(link) << link.error().message;
    link_ = link.value();
  }
  Answer call(const std::string& method, const std::string& params) {
    return wait_for(link_->call(method, json(params), context_, 30'000));
  }
  void TearDown() override {
    if (link_) link_->close();
    if (web_ && link_ && link_->era == Era::legacy)
      (void)run_until([&] { return web_->count("DELETE") > 0 || !expects_goodbye_; });
    web_.reset();
  }

  HttpTarget target_;
  ClientOptions options_;
  std::unique_ptr<Web> web_;
  std::shared_ptr<ServerLink> link_;
  std::shared_ptr<TestContext> context_ = std::make_shared<TestContext>();
  std::vector<std::string> told_, complaints_;
  bool expects_goodbye_ = false;
};

std::string modern(const Asked& asked) {
  return asked.message && asked.message->method == "server/discover"
             ? answer_with(asked, kDiscovered)
             : "";
}
std::string legacy(const Asked& asked) {
  if (asked.head.method == "GET") return reply("405 Method Not Allowed", "", "");
  if (asked.head.method == "DELETE") return reply("200 OK", "", "");
  const std::string& method = asked.message->method;
  if (method == "server/discover")
    return reply(
        "400 Bad Request", "application/json",
        R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}})");
  if (method == "initialize") return answer_with(asked, kHello, "Mcp-Session-Id: one\r\n");
  if (asked.message->kind != Message::Kind::request) return reply("202 Accepted", "", "");
  return "";
}

TEST_F(HttpClientTest, ModernRequestsSayInHeadersWhatTheySayInTheBody) {
  target_.headers = {{"Authorization", "Bearer abc"}};
  serve([](const Asked& asked) {
    std::string said = modern(asked);
    if (asked.message->method == "tools/list")
      return answer_with(
          asked,
          R"({"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}},
        {"name":"bad","inputSchema":{"type":"object","properties":{"l":{"type":"array","items":{"type":"string","x-mcp-header":"L"}}}}}]})");
    return said.empty() ? answer_with(asked, R"({"resultType":"complete","content":[]})") : said;
  });
  connect();
  EXPECT_EQ(link_->era, Era::modern);
  EXPECT_EQ(call("tools/list", "{}").result.find("tools")->as_array()->size(), 1u);
  EXPECT_TRUE(contains(complaints_.at(0), "'bad' cannot be used"));
  EXPECT_FALSE(call("tools/call", R"({"name":"a","arguments":{"region":"Zürich","n":7,"other":1}})")
                   .problem);
  const Asked& asked = web_->asked.back();
  EXPECT_EQ(asked.head.path, "/mcp?x=1");
  EXPECT_EQ(asked.header("MCP-Protocol-Version"), "2026-07-28");
  EXPECT_EQ(asked.header("Mcp-Method"), "tools/call");
  EXPECT_EQ(asked.header("Mcp-Name"), "a");
  EXPECT_EQ(asked.header("Mcp-Param-Region"), "=?base64?WsO8cmljaA==?=");
  EXPECT_EQ(asked.header("Mcp-Param-N"), "7");
  EXPECT_EQ(asked.header("Authorization"), "Bearer abc");
  EXPECT_EQ(asked.header("Accept"), "application/json, text/event-stream");
  EXPECT_EQ(web_->connections, 1u);
}

TEST_F(HttpClientTest, StreamsCarryProgressAndTheAnswer) {
  serve([](const Asked& asked) {
    std::string said = modern(asked);
    if (!said.empty()) return said;
    std::string token = to_json(*find_path(asked.message->params, {"_meta", "progressToken"}));
    return events(
        {": hello",
         cat("event: message\ndata: "
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\r\ndata: "
             "\"params\":{\"progressToken\":",
             token, ",\"progress\":1}}"),
         R"(data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}})",
         "event: other\ndata: nonsense",
         result_event(asked, R"({"resultType":"complete","content":[]})")});
  });
  connect();
  EXPECT_EQ(to_json(call("tools/call", R"({"name":"x"})").result), R"({"content":[]})");
  EXPECT_EQ(context_->heard, (Texts{"progress 1/0 ", "log info  1"}));
}

TEST_F(HttpClientTest, ALegacySession) {
  expects_goodbye_ = true;
  serve([](const Asked& asked) {
    std::string said = legacy(asked);
    return said.empty() ? answer_with(asked, R"({"tools":[]})") : said;
  });
  connect();
  EXPECT_EQ(link_->era, Era::legacy);
  EXPECT_FALSE(call("tools/list", "{}").problem);
  const Asked& asked = web_->last("tools/list");
  EXPECT_EQ(asked.header("Mcp-Session-Id"), "one");
  EXPECT_EQ(asked.header("MCP-Protocol-Version"), "2025-11-25");
  EXPECT_EQ(asked.header("Mcp-Method"), "");
  EXPECT_EQ(web_->last("initialize").header("Mcp-Session-Id"), "");
  EXPECT_EQ(web_->last("notifications/initialized").header("Mcp-Session-Id"), "one");
}

TEST_F(HttpClientTest, ALostSessionIsOpenedAgainOnce) {
  int sessions = 0;
  serve([&](const Asked& asked) {
    if (asked.message && asked.message->method == "initialize")
      return answer_with(asked, kHello, cat("Mcp-Session-Id: s", ++sessions, "\r\n"));
    if (asked.message && asked.message->method == "tools/list" &&
        asked.header("Mcp-Session-Id") != "s2")
      return reply("404 Not Found", "", "");
    std::string said = legacy(asked);
    return said.empty() ? answer_with(asked, R"({"tools":[]})") : said;
  });
  connect();
  std::optional<Answer> one, two;
  io::spawn(into(link_->call("tools/list", json("{}"), context_, 30'000), one));
  io::spawn(into(link_->call("tools/list", json("{}"), nullptr, 30'000), two));
  ASSERT_TRUE(run_until([&] { return one && two; }));
  EXPECT_FALSE(one->problem);
  EXPECT_FALSE(two->problem);
  EXPECT_EQ(sessions, 2);
}

TEST_F(HttpClientTest, AStreamThatBreaksOffIsResumed) {
  serve([](const Asked& asked) {
    if (asked.head.method == "GET" && !asked.header("Last-Event-ID").empty())
      return events({cat("id: 3\ndata: {\"jsonrpc\":\"2.0\",\"id\":", asked.header("Last-Event-ID"),
                         ",\"result\":{\"content\":[]}}")});
    if (asked.message && asked.message->method == "tools/call")
      return events({"retry: 10", cat("id: ", id_of(asked), "\ndata:")});
    return legacy(asked);
  });
  connect();
  EXPECT_FALSE(call("tools/call", R"({"name":"x"})").problem);
}

TEST_F(HttpClientTest, InterimAnswersAreBounded) {
  std::string hint = "HTTP/1.1 103 Early Hints\r\n\r\n";
  serve([&](const Asked& asked) {
    std::string bytes;
    if (!asked.message || asked.message->method == "server/discover") return hint + modern(asked);
    for (int i = 0; i < 100'000; ++i) bytes += hint;
    return bytes;
  });
  connect();
  Answer answer = call("tools/call", R"({"name":"x"})");
  ASSERT_TRUE(answer.problem);
  EXPECT_TRUE(contains(answer.problem->message, "interim"));
}

// Each listing has other tools: what went before is forgotten.
TEST_F(HttpClientTest, OnlySoManyToolsMayWantHeaders) {
  int listed = 0;
  serve([&](const Asked& asked) {
    if (asked.message && asked.message->method == "tools/call")
      return answer_with(asked, R"({"resultType":"complete","content":[]})");
    if (!asked.message || asked.message->method != "tools/list") return modern(asked);
    Value::Array tools;
    Value schema =
        json(R"({"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}})");
    for (int i = 0; i < 1000; ++i)
      tools.push_back(Value::Object{{"name", cat("t", listed, "_", i)}, {"inputSchema", schema}});
    ++listed;
    return answer_with(
        asked, to_json(Value::Object{{"resultType", "complete"}, {"tools", std::move(tools)}}));
  });
  connect();
  auto tools_of = [](const Answer& answer) {
    return answer.result.find("tools") ? answer.result.find("tools")->as_array()->size() : 0;
  };
  EXPECT_EQ(tools_of(call("tools/list", "{}")), 1000u);
  EXPECT_EQ(tools_of(call("tools/list", R"({"cursor":"more"})")), 24u);
  EXPECT_EQ(tools_of(call("tools/list", "{}")), 1000u);
  (void)call("tools/call", R"({"name":"t2_5","arguments":{"a":"x"}})");
  EXPECT_EQ(web_->last("tools/call").header("Mcp-Param-A"), "x");
}

TEST_F(HttpClientTest, TheServersOwnStreamIsHeard) {
  serve([](const Asked& asked) {
    if (asked.head.method == "GET")
      return std::string(
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 1\ndata: "
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n");
    return legacy(asked);
  });
  connect();
  ASSERT_TRUE(run_until([&] { return !told_.empty(); }));
  EXPECT_EQ(told_, (Texts{"notifications/tools/list_changed {}"}));
}

TEST_F(HttpClientTest, CancellationClosesTheStreamOfAModernRequest) {
  serve([](const Asked& asked) { return modern(asked); });
  connect();
  std::optional<Answer> answer;
  io::spawn(into(link_->call("tools/call", json(R"({"name":"x"})"), context_, 60'000), answer));
  ASSERT_TRUE(run_until([&] { return web_->count("tools/call") == 1; }));
  context_->cancel();
  ASSERT_TRUE(run_until([&] { return answer.has_value(); }));
  EXPECT_TRUE(contains(answer->problem->message, "cancelled"));
  EXPECT_EQ(web_->count("notifications/cancelled"), 0u);
}

TEST_F(HttpClientTest, WhatGoesWrongIsTold) {
  struct Case {
    const char* name;
    std::function<std::string(const Asked&)> answer;
    const char* why;
  };
  const Case cases[] = {
      {"401", [](const Asked&) { return reply("401 Unauthorized", "", ""); },
       "401 Unauthorized: it wants to know who asks"},
      {"403", [](const Asked&) { return reply("403 Forbidden", "text/plain", "no"); },
       "403 Forbidden"},
      {"redirect",
       [](const Asked&) {
         return reply("302 Found", "", "", "Location: http://169.254.169.254/\r\n");
       },
       "redirects are not followed"},
      {"error",
       [](const Asked&) {
         return reply("404 Not Found", "application/json",
                      R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"not here"}})");
       },
       "not here"},
      {"html", [](const Asked&) { return reply("200 OK", "text/html", "<p>hello"); },
       "cannot be used"},
      {"empty", [](const Asked&) { return reply("202 Accepted", "", ""); }, "cannot be used"},
      {"other id",
       [](const Asked&) {
         return reply("200 OK", "application/json", R"({"jsonrpc":"2.0","id":77,"result":{}})");
       },
       "to something else"},
      {"duplicates",
       [](const Asked& asked) {
         return reply(
             "200 OK", "application/json",
             cat(R"({"jsonrpc":"2.0","id":)", id_of(asked), R"(,"result":{"a":1,"a":2}})"));
       },
       "cannot be used"},
      {"huge",
       [](const Asked&) { return reply("200 OK", "application/json", std::string(5 << 20, ' ')); },
       "more than 4M"},
      {"huge event",
       [](const Asked&) { return events({cat("data: ", std::string(5 << 20, 'x'))}); },
       "more than 4M"},
      {"no answer",
       [](const Asked&) {
         return events({"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}"});
       },
       "ended before it had answered"},
      {"no http", [](const Asked&) { return std::string("hello\r\n\r\nConnection: close"); },
       "not HTTP"},
      {"short",
       [](const Asked&) {
         return std::string(
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
             "10\r\nConnection: close\r\n\r\n{}");
       },
       "broke off"},
      {"smuggled",
       [](const Asked&) {
         return std::string(
             "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\nConnection: "
             "close\r\n\r\n{}");
       },
       "not HTTP"},
  };
  const Case* now = nullptr;
  serve([&](const Asked& asked) {
    std::string said = modern(asked);
    return said.empty() ? now->answer(asked) : said;
  });
  connect();
  for (const Case& each : cases) {
    now = &each;
    Answer answer = call("tools/call", R"({"name":"x"})");
    ASSERT_TRUE(answer.problem) << each.name;
    EXPECT_TRUE(contains(answer.problem->message, each.why)) << each.name;
  }
}

TEST_F(HttpClientTest, OnlyPublicAddressesUnlessAllowed) {
  struct Case {
    const char *url, *why;
    bool is_private;
  };
  for (const Case& each : {Case{"http://mcp.example/", "read and changed", false},
                           {"https://127.0.0.1/", "loopback", false},
                           {"https://[::1]/", "loopback", false},
                           {"https://169.254.169.254/", "not public", false},
                           {"https://10.0.0.1/", "private", false},
                           {"https://[::ffff:10.0.0.1]/", "not public", false},
                           {"https://[64:ff9b::a00:1]/", "not public", false},
                           {"https://localhost/", "loopback", false},
                           {"ftp://mcp.example/", "not an http:// or https:// URL", true},
                           {"https://a@mcp.example/", "user information", true},
                           {"https://mcp.example/#x", "not an http:// or https:// URL", true},
                           {"https://mcp.example\\@evil/", "backslash", true}}) {
    HttpTarget target{.url = each.url, .headers = {}, .private_addresses = each.is_private};
    Result<std::shared_ptr<ServerLink>> link = wait_for(connect_http(test_loop(), target, {}));
    ASSERT_FALSE(link) << each.url;
    EXPECT_TRUE(contains(link.error().message, each.why)) << each.url;
  }
  HttpTarget odd{.url = "https://mcp.example/", .headers = {{"mcp-session-id", "x"}}};
  EXPECT_FALSE(wait_for(connect_http(test_loop(), odd, {})));
}

TEST(SseReaderTest, ReadsWhateverTheLineEndsAndTheCuts) {
  std::string text =
      "\xef\xbb\xbf: comment\r\nid: 7\rdata: one\ndata:two\r\n\r\nevent: x\ndata\n\nretry: 50\nid: "
      "bad\x01\n\ndata: {}\n\n";
  for (size_t piece = 1; piece < text.size(); ++piece) {
    SseReader reader(1000);
    Texts seen;
    for (size_t at = 0; at < text.size(); at += piece) {
      reader.feed(text.substr(at, piece));
      while (true) {
        Result<std::optional<SseEvent>> event = reader.next();
        ASSERT_TRUE(event);
        if (!event.value()) break;
        seen.push_back(cat(event.value()->type, "=", event.value()->data));
      }
    }
    EXPECT_EQ(seen, (Texts{"message=one\ntwo", "x=", "message={}"})) << piece;
    EXPECT_EQ(reader.last_id, "7");
    EXPECT_EQ(reader.retry_ms, 50);
  }
}

TEST(SseReaderTest, IsBounded) {
  SseReader line(100), lines(100);
  line.feed(cat("data: ", std::string(200, 'x')));
  EXPECT_FALSE(line.next());
  for (int i = 0; i < 20; ++i) lines.feed("data: 0123456789\n");
  EXPECT_FALSE(lines.next());
}

// A long line in many pieces is searched once: this would take minutes otherwise.
TEST(SseReaderTest, ReadsALongLineInManyPieces) {
  SseReader reader(4 << 20);
  reader.feed("data: ");
  std::string piece(20, 'x');
  for (int i = 0; i < 200'000; ++i) {
    reader.feed(piece);
    Result<std::optional<SseEvent>> none = reader.next();
    ASSERT_TRUE(none && !none.value());
  }
  reader.feed("\n\ndata: y\n\n");
  EXPECT_EQ(reader.next().value()->data.size(), 4'000'000u);
  EXPECT_EQ(reader.next().value()->data, "y");
}

TEST(ParamHeaders, MarksMustStandWhereTheyMay) {
  auto reads = [](const char* schema) { return static_cast<bool>(read_mirrored(json(schema))); };
  EXPECT_TRUE(reads(
      R"({"properties":{"a":{"type":"string","x-mcp-header":"A"},"x-mcp-header":{"type":"string"}}})"));
  EXPECT_TRUE(reads(
      R"({"properties":{"o":{"type":"object","properties":{"a":{"type":"boolean","x-mcp-header":"A"}}}}})"));
  EXPECT_TRUE(reads(R"({"default":{"x-mcp-header":"A"}})"));
  for (
      const char* bad :
      {R"({"properties":{"a":{"type":"number","x-mcp-header":"A"}}})",
       R"({"properties":{"a":{"type":"string","x-mcp-header":""}}})",
       R"({"properties":{"a":{"type":"string","x-mcp-header":"A B"}}})",
       R"({"properties":{"a":{"type":"string","x-mcp-header":1}}})",
       R"({"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}})",
       R"({"x-mcp-header":"A"})",
       R"({"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}})",
       R"({"$defs":{"d":{"type":"string","x-mcp-header":"A"}}})",
       R"({"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]})"})
    EXPECT_FALSE(reads(bad)) << bad;
}

TEST(ParamHeaders, ValuesThatAHeaderCannotHoldAreEncoded) {
  EXPECT_EQ(encode_header_value("us-west1"), "us-west1");
  EXPECT_EQ(encode_header_value(" padded "), "=?base64?IHBhZGRlZCA=?=");
  EXPECT_EQ(encode_header_value("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
  EXPECT_EQ(encode_header_value("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
  for (const char* text : {"", "Hello, 世界", "a\tb", "=?base64?", "x"})
    EXPECT_EQ(decode_header_value(encode_header_value(text)), text);
}

}  // namespace

}  // namespace paddock::mcp
