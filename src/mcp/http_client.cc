// An MCP server over Streamable HTTP: each message a POST, answered at once or by a stream of
// events.
#include <algorithm>

#include "base/text.h"
#include "base/value_edit.h"
#include "io/http_client.h"
#include "mcp/http_headers.h"
#include "mcp/link.h"
#include "mcp/sse.h"

namespace paddock::mcp {

namespace {

using io::HttpExchange;
using io::Milliseconds;
using io::Stream;
using io::Task;
using ExchangePtr = std::shared_ptr<HttpExchange>;

constexpr Milliseconds kNotePatience = 10'000, kGoodbye = 2'000, kDrain = 1'000;
constexpr Milliseconds kFirstRetry = 1'000, kLongestRetry = 60'000;
constexpr int kMostResumptions = 5;
constexpr size_t kMostMirroredTools = 1024, kLongestName = 128;

// In bytes of the body of an error.
constexpr size_t kLongestComplaint = 64 << 10;

// In lower case, without parameters.
std::string content_type(const HttpExchange& exchange) {
  const net::Header* header = net::find_header(exchange.head.headers, "Content-Type");
  std::string type = header ? header->value.substr(0, header->value.find(';')) : "";
  while (!type.empty() && type.back() == ' ') type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return type;
}

// Any status of the class 2xx.
bool is_good(const HttpExchange& exchange) {
  return exchange.head.status >= 200 && exchange.head.status < 300;
}
bool has_events(const HttpExchange& exchange) {
  return is_good(exchange) && content_type(exchange) == "text/event-stream";
}

// For people, and for the error that the caller gets.
std::string status_text(const HttpExchange& exchange) {
  int status = exchange.head.status;
  std::string text =
      cat("the server answered ", status, " ", printable(exchange.head.reason.substr(0, 100)));
  if (status == 401) text += ": it wants to know who asks";
  if (status == 403) text += ": it does not want to be asked by this one";
  const net::Header* location = net::find_header(exchange.head.headers, "Location");
  if (status >= 300 && status < 400)
    text +=
        cat(" (redirects are not followed",
            location ? cat("; it points to '", printable(location->value.substr(0, 200)), "'") : "",
            ")");
  return text;
}

// The status is for the code that finds out the era; -1 says that there was no answer.
Answer failed(std::string why, int status) {
  Value data;
  data.set("status", status);
  return Answer::failed(kInternalError, std::move(why), std::move(data));
}

// What is ours to say.
bool is_reserved(const std::string& name) {
  for (const char* own :
       {"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Accept",
        "Expect", "Upgrade", "TE", "Trailer", "Last-Event-ID"})
    if (same_ignoring_case(name, own)) return true;
  return name.size() >= 4 && same_ignoring_case(name.substr(0, 4), "mcp-");
}

// Carries the messages of a link. Every coroutine holds the link, because requests may outlive its
// owner.
class HttpLink : public Link {
 public:
  HttpLink(io::Loop& loop, std::unique_ptr<io::HttpClient> client, HttpTarget target,
           ClientOptions options)
      : Link(loop, std::move(options)), client_(std::move(client)), target_(std::move(target)) {}

 protected:
  // The first page of a new list replaces what is known about headers.
  void send_request(const PendingPtr& pending, Value params) override {
    if (pending->method == "tools/list" && text_in(params, "cursor").empty())
      first_page_ = pending->id;
    io::spawn(carry(self(), pending, std::move(params)));
  }
  void send(const Message& message) override { io::spawn(note(self(), message)); }
  Task<void> send_and_wait(Message message) override { return note(self(), std::move(message)); }

  // Modern: to close the stream is to cancel. Legacy servers want to be told.
  void forget(const PendingPtr& pending, const std::string& why) override {
    pending->cancelled = true;
    if (era == Era::legacy && pending->method != "initialize" &&
        pending->method != "server/discover") {
      Value params;
      params.set("requestId", pending->id);
      params.set("reason", why);
      send(notification("notifications/cancelled", std::move(params)));
    }
    auto found = exchanges_.find(pending->id);
    if (found != exchanges_.end()) found->second->cut();
  }

  // A legacy session is ended with a DELETE.
  void shut() override {
    for (const auto& [id, exchange] : std::map(exchanges_)) exchange->cut();
    if (apart_) apart_->cut();
    if (!session_.empty()) io::spawn(goodbye(self()));
  }

  // A legacy server may send messages that belong to no request, on a stream of their own.
  void greeted() override {
    if (era == Era::legacy && !is_following_) io::spawn(follow(self()));
  }

  // A tool that cannot be called over HTTP is not offered; of the others is kept what goes into
  // headers.
  void answered(const PendingRequest& pending, Answer& answer) override {
    if (era != Era::modern || pending.method != "tools/list" || !answer.result.as_object()) return;
    if (pending.id == first_page_) mirrored_.clear();
    for (auto& [key, tools] : *answer.result.as_object()) {
      if (key != "tools" || !tools.as_array()) continue;
      std::erase_if(*tools.as_array(), [this](const Value& tool) {
        std::string name = text_in(tool, "name");
        const Value* schema = tool.as_object() ? tool.find("inputSchema") : nullptr;
        Result<std::vector<MirroredParam>> mirrored = read_mirrored(schema ? *schema : Value());
        bool is_too_much = mirrored && !mirrored.value().empty() &&
                           (name.size() > kLongestName || mirrored_.size() >= kMostMirroredTools);
        if (is_too_much)
          mirrored = Error{
              paddock::Code::exhausted,
              cat("its name is too long, or more than ", kMostMirroredTools, " tools want headers"),
              ""};
        if (!mirrored) {
          complain(cat("the tool '", name.substr(0, kLongestName),
                       "' cannot be used: ", mirrored.error().message));
          return true;
        }
        if (mirrored.value().empty())
          mirrored_.erase(name);
        else
          mirrored_[name] = std::move(mirrored).value();
        return false;
      });
    }
  }

 private:
  std::shared_ptr<HttpLink> self() {
    return std::static_pointer_cast<HttpLink>(shared_from_this());
  }

  // With the headers of the policy, and those that every request of this session has.
  io::HttpRequest request_of(std::string method, std::string body) const {
    io::HttpRequest request{std::move(method), {}, std::move(body)};
    for (const auto& [name, value] : target_.headers) request.headers.push_back({name, value});
    bool is_post = request.method == "POST";
    if (request.method != "DELETE")
      request.headers.push_back(
          {"Accept", is_post ? "application/json, text/event-stream" : "text/event-stream"});
    if (is_post) request.headers.push_back({"Content-Type", "application/json"});
    if (!version.empty()) request.headers.push_back({"MCP-Protocol-Version", version});
    if (!session_.empty()) request.headers.push_back({"Mcp-Session-Id", session_});
    return request;
  }

  // The greeting belongs to no session yet. Modern requests repeat parameters in headers.
  io::HttpRequest request_of(const PendingRequest& pending, const Value& params) const {
    io::HttpRequest made = request_of("POST", to_text(request(pending.id, pending.method, params)));
    if (pending.method == "initialize")
      std::erase_if(made.headers, [](const net::Header& header) {
        return header.name == "MCP-Protocol-Version" || header.name == "Mcp-Session-Id";
      });
    bool is_probe = pending.method == "server/discover";
    if (is_probe && version.empty()) made.headers.push_back({"MCP-Protocol-Version", kModern});
    if (era != Era::modern && !is_probe) return made;
    auto known =
        pending.method == "tools/call" ? mirrored_.find(text_in(params, "name")) : mirrored_.end();
    for (net::Header& header :
         request_headers(pending.method, params,
                         known == mirrored_.end() ? std::vector<MirroredParam>() : known->second))
      made.headers.push_back(std::move(header));
    return made;
  }

  // One request and its answer.
  static Task<void> carry(std::shared_ptr<HttpLink> self, PendingPtr pending, Value params) {
    for (int tries = 0; tries < 2; ++tries) {
      auto exchange = std::make_shared<HttpExchange>();
      self->exchanges_[pending->id] = exchange;
      std::string session = self->session_;
      io::HttpRequest request = self->request_of(*pending, params);
      Milliseconds forever = io::Wait::kForever;  // who waits for it gives up in time, and cuts
      Result<void> sent = co_await self->client_->send(std::move(request), exchange, forever);
      if (!sent && !pending->cancelled) self->settle(pending, failed(sent.error().message, -1));
      if (!sent || pending->cancelled || pending->answer) break;
      bool has_no_session = exchange->head.status == 404 && !session.empty() &&
                            self->era == Era::legacy && pending->method != "initialize";
      if (has_no_session && tries == 0) {
        exchange->cut();
        bool is_open = co_await reopen(self, session);
        if (pending->cancelled || pending->answer) break;
        if (is_open) continue;
      }
      if (pending->method == "initialize") self->take_session(*exchange);
      co_await hear(self, pending, exchange);
      break;
    }
    self->exchanges_.erase(pending->id);
  }

  // Only an id that can stand in a header is taken.
  void take_session(const HttpExchange& exchange) {
    const net::Header* header = net::find_header(exchange.head.headers, "Mcp-Session-Id");
    bool is_sound = header && is_good(exchange) && header->value.size() <= 1024 &&
                    std::all_of(header->value.begin(), header->value.end(),
                                [](char c) { return c > ' ' && c <= '~'; });
    if (is_sound) session_ = header->value;
  }

  // The server has forgotten our session: another one, once for all who need it.
  static Task<bool> reopen(std::shared_ptr<HttpLink> self, std::string lost) {
    while (self->reopening_) {
      std::shared_ptr<io::Event> opened = self->reopening_;
      co_await *opened;
    }
    if (self->session_ != lost) co_return !self->session_.empty();
    auto opened = std::make_shared<io::Event>(self->loop_);
    self->reopening_ = opened;
    self->session_.clear();
    std::string method = "initialize";
    Value hello = self->hello();
    std::shared_ptr<Context> nobody;
    Answer said = co_await self->call(method, hello, nobody, self->options_.start_timeout);
    bool is_open = !said.problem && self->take_initialization(said.result);
    if (is_open) {
      Message initialized = notification("notifications/initialized", {});
      co_await note(self, std::move(initialized));
      self->greeted();
    }
    self->reopening_ = nullptr;
    opened->happen();
    co_return is_open;
  }

  // The answer is one JSON message, or a stream of events that ends with it.
  static Task<void> hear(std::shared_ptr<HttpLink> self, PendingPtr pending, ExchangePtr exchange) {
    if (has_events(*exchange)) {
      co_await hear_events(self, pending, exchange);
      co_return;
    }
    std::string body;
    Stream::More more = Stream::More::yes;
    size_t most = is_good(*exchange) ? self->options_.largest_message : kLongestComplaint;
    Milliseconds forever = io::Wait::kForever;
    while (more == Stream::More::yes && body.size() <= most)
      more = co_await exchange->read(body, forever);
    if (pending->answer || pending->cancelled) co_return;
    bool is_whole = more == Stream::More::end && body.size() <= most;
    if (!is_whole) exchange->cut();
    Parsed parsed;
    if (is_whole && !body.empty()) parsed = parse_message(body);
    if (is_good(*exchange)) {
      if (!is_whole)
        self->broke(pending, more == Stream::More::yes
                                 ? cat("a message of more than ", human_size(most))
                                 : "it broke off");
      else if (!parsed.message)
        self->broke(pending, body.empty() ? "there is none" : parsed.problem.message);
      else
        self->take(std::move(*parsed.message), pending);
      if (!pending->answer) self->broke(pending, "it is to something else");
      co_return;
    }
    int status = exchange->head.status;
    bool is_told = parsed.message && parsed.message->problem && status != 401 && status != 403;
    if (is_told)
      self->settle(pending, Answer{.problem = std::move(parsed.message->problem)});
    else
      self->settle(pending, failed(status_text(*exchange), status));
  }

  // True: the request was answered, or nobody waits for it any more. With `pending` null: until the
  // stream ends.
  static Task<bool> hear_stream(std::shared_ptr<HttpLink> self, PendingPtr pending,
                                ExchangePtr exchange, std::shared_ptr<SseReader> reader) {
    Stream::More more = Stream::More::yes;
    Milliseconds forever = io::Wait::kForever;
    auto is_over = [](const HttpLink& link, const PendingPtr& of) {
      return link.is_gone() || (of && (of->answer || of->cancelled));
    };
    while (more == Stream::More::yes) {
      std::string content;
      more = co_await exchange->read(content, forever);
      reader->feed(content);
      while (!is_over(*self, pending)) {
        Result<std::optional<SseEvent>> event = reader->next();
        if (!event) {
          self->broke(pending, event.error().message);
          exchange->cut();
          co_return true;
        }
        if (!event.value()) break;
        if (event.value()->type != "message" || event.value()->data.empty()) continue;
        Parsed parsed = parse_message(event.value()->data);
        if (parsed.message)
          self->take(std::move(*parsed.message), pending);
        else
          self->broke(pending, parsed.problem.message);
      }
      if (is_over(*self, pending)) break;
      co_await self->loop_.yield();  // a stream that never stops does not stop others
    }
    if (!is_over(*self, pending)) co_return false;
    // Its end is near: then the connection can be used again.
    if (more == Stream::More::yes && !self->is_gone()) {
      std::string rest;
      Milliseconds until = self->loop_.now() + kDrain;
      more = co_await exchange->read(rest, until);
    }
    if (more == Stream::More::yes || more == Stream::More::late) exchange->cut();
    co_return true;
  }

  // A legacy stream that broke off is resumed after the last event, a few times.
  static Task<void> hear_events(std::shared_ptr<HttpLink> self, PendingPtr pending,
                                ExchangePtr exchange) {
    auto reader = std::make_shared<SseReader>(self->options_.largest_message);
    bool is_done = co_await hear_stream(self, pending, exchange, reader);
    for (int i = 0;
         i < kMostResumptions && !is_done && self->era == Era::legacy && !reader->last_id.empty();
         ++i) {
      co_await self->loop_.sleep(std::clamp<Milliseconds>(reader->retry_ms.value_or(kFirstRetry),
                                                          kFirstRetry, kLongestRetry));
      if (self->is_gone() || pending->answer || pending->cancelled) co_return;
      auto resumed = std::make_shared<HttpExchange>();
      self->exchanges_[pending->id] = resumed;
      io::HttpRequest request = self->request_of("GET", "");
      request.headers.push_back({"Last-Event-ID", reader->last_id});
      Milliseconds forever = io::Wait::kForever;
      Result<void> sent = co_await self->client_->send(std::move(request), resumed, forever);
      if (!sent) continue;
      if (!has_events(*resumed)) break;
      auto next = std::make_shared<SseReader>(self->options_.largest_message);
      next->last_id = reader->last_id;
      reader = next;
      is_done = co_await hear_stream(self, pending, resumed, reader);
    }
    if (!is_done && !pending->cancelled)
      self->settle(pending, failed("the server's stream ended before it had answered", -1));
  }

  // A notification, or an answer to what a legacy server asked.
  static Task<void> note(std::shared_ptr<HttpLink> self, Message message) {
    auto exchange = std::make_shared<HttpExchange>();
    io::HttpRequest request = self->request_of("POST", to_text(message));
    if (self->era == Era::modern)
      for (net::Header& header : request_headers(message.method, message.params, {}))
        request.headers.push_back(std::move(header));
    Milliseconds deadline = self->loop_.now() + kNotePatience;
    Result<void> sent = co_await self->client_->send(std::move(request), exchange, deadline);
    if (!sent) {
      self->complain(sent.error().message);
      co_return;
    }
    if (!is_good(*exchange))
      self->complain(
          cat(message.method.empty() ? "an answer" : message.method, ": ", status_text(*exchange)));
    std::string body;
    Stream::More more = Stream::More::yes;
    while (more == Stream::More::yes && body.size() < kLongestComplaint)
      more = co_await exchange->read(body, deadline);
    if (more == Stream::More::yes || more == Stream::More::late) exchange->cut();
  }

  // Servers need not support it, so the answer is not looked at.
  static Task<void> goodbye(std::shared_ptr<HttpLink> self) {
    auto exchange = std::make_shared<HttpExchange>();
    io::HttpRequest request = self->request_of("DELETE", "");
    Milliseconds deadline = self->loop_.now() + kGoodbye;
    Result<void> sent = co_await self->client_->send(std::move(request), exchange, deadline);
    (void)sent;  // it may not know how
  }

  // What a legacy server says by itself.
  static Task<void> follow(std::shared_ptr<HttpLink> self) {
    self->is_following_ = true;
    Milliseconds wait = kFirstRetry;
    std::string last_id;
    while (!self->is_gone()) {
      auto exchange = std::make_shared<HttpExchange>();
      self->apart_ = exchange;
      io::HttpRequest request = self->request_of("GET", "");
      if (!last_id.empty()) request.headers.push_back({"Last-Event-ID", last_id});
      Milliseconds begun = self->loop_.now(), forever = io::Wait::kForever;
      Result<void> sent = co_await self->client_->send(std::move(request), exchange, forever);
      if (self->is_gone()) break;
      if (sent && !has_events(*exchange)) break;  // it has no such stream
      auto reader = std::make_shared<SseReader>(self->options_.largest_message);
      reader->last_id = last_id;
      if (sent) {
        PendingPtr none;
        bool is_broken = co_await hear_stream(self, none, exchange, reader);
        if (is_broken) break;
        last_id = reader->last_id;
      }
      // A server that ends its streams at once is gone to ever less often, whatever it says.
      bool was_long = self->loop_.now() - begun > kLongestRetry;
      wait = was_long ? kFirstRetry : std::min(wait * 2, kLongestRetry);
      co_await self->loop_.sleep(
          std::clamp<Milliseconds>(reader->retry_ms.value_or(wait), wait, kLongestRetry));
    }
    self->apart_ = nullptr;
    self->is_following_ = false;
  }

  std::unique_ptr<io::HttpClient> client_;
  HttpTarget target_;
  std::string session_;
  // By the id of the pending request.
  std::map<int64_t, ExchangePtr> exchanges_;
  // The stream of messages that belong to no request.
  ExchangePtr apart_;
  bool is_following_ = false;
  std::shared_ptr<io::Event> reopening_;
  // By tool, where there are any.
  std::map<std::string, std::vector<MirroredParam>> mirrored_;
  // The last pending that asked for the first page of tools.
  int64_t first_page_ = 0;
};

// Headers that Paddock itself sends are not for a policy to set.
Result<std::shared_ptr<HttpLink>> make_link(io::Loop& loop, HttpTarget target,
                                            ClientOptions options) {
  for (const auto& [name, value] : target.headers)
    if (is_reserved(name))
      return Error{paddock::Code::invalid,
                   cat("the header ", printable(name), " is not for a policy to send"), ""};
  Result<net::HttpUrl> url = net::parse_http_url(target.url);
  if (!url) {
    url.error().message = cat("the server's URL ", url.error().message);
    return url.error();
  }
  io::HttpClientOptions http{.url = std::move(url).value(),
                             .private_addresses = target.private_addresses,
                             .trust = target.trust};
  std::unique_ptr<io::HttpClient> client = TRY(io::HttpClient::create(loop, std::move(http)));
  return std::make_shared<HttpLink>(loop, std::move(client), std::move(target), std::move(options));
}

}  // namespace

// A link that cannot be greeted is closed, so that no coroutine of it stays behind.
Task<Result<std::shared_ptr<ServerLink>>> connect_http(io::Loop& loop, HttpTarget target,
                                                       ClientOptions options) {
  CO_TRY(std::shared_ptr<HttpLink> link, make_link(loop, std::move(target), std::move(options)));
  Result<void> greeted = co_await link->greet();
  if (!greeted) {
    link->close();
    co_return std::move(greeted.error());
  }
  co_return std::static_pointer_cast<ServerLink>(link);
}

}  // namespace paddock::mcp
