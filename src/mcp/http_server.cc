#include "mcp/http_server.h"

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "base/value_edit.h"
#include "mcp/convert.h"

namespace paddock::mcp {

namespace {

using io::Milliseconds;
using io::Task;

constexpr const char* kSessionHeader = "Mcp-Session-Id";
constexpr Milliseconds kSweepTime = 30'000;
// A call that takes longer gets a stream, which can be resumed.
constexpr Milliseconds kLegacyPatience = 1'000;
// Messages for a session that has no stream for them.
constexpr size_t kMostUnread = 256;

// The most pages of tools/list that are read.
constexpr int kMostPages = 100;

// An error of JSON-RPC in the body of an HTTP error, as the specification asks for.
HttpReply refuse(int status, const Value& id, Problem problem) {
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}},
          .body = to_text(refusal(id, std::move(problem)))};
}

HttpReply invalid(int status, const std::string& why, const Value& id = {}) {
  return refuse(status, id, {kInvalidRequest, cat("Invalid request: ", why), {}});
}

// Names the methods that are allowed, as RFC 9110 demands with 405.
HttpReply refuse_method() {
  HttpReply reply = invalid(405, "only POST, unless a session was opened by initialize");
  reply.headers.push_back({"Allow", "POST"});
  return reply;
}

bool is_legacy_version(const std::string& version) {
  return std::any_of(std::begin(kLegacy), std::end(kLegacy),
                     [&version](const char* known) { return version == known; });
}

}  // namespace

// Which parameters belong into headers is read again when the tools have changed.
HttpServer::HttpServer(Server& server)
    : server_(server), alive_(std::make_shared<HttpServer*>(this)) {
  server_.on_change() = [this](const Change& change) {
    if (change.kind != Change::Kind::tools) return;
    knows_tools_ = false;
    ++tools_changed_;
  };
  io::spawn(sweep(alive_, server_.loop()));
}

HttpServer::~HttpServer() {
  server_.on_change() = nullptr;
  close();
}

// The sessions first, so that no stream is written to while the server closes.
void HttpServer::close() {
  while (!sessions_.empty()) end(sessions_.begin()->second);
  server_.close();
}

// GET and DELETE are for legacy sessions only.
Task<HttpReply> HttpServer::handle(HttpRequest request) {
  if (request.method == "POST") {
    HttpReply reply = co_await post(std::move(request));
    co_return reply;
  }
  bool has_session = one_header(request.headers, kSessionHeader).has_value();
  if (!has_session || (request.method != "GET" && request.method != "DELETE"))
    co_return refuse_method();
  co_return request.method == "GET" ? get(request) : remove(request);
}

// The era is known by _meta, or by the version that a header names.
Task<HttpReply> HttpServer::post(HttpRequest request) {
  if (!has_json_body(request.headers))
    co_return refuse(
        415, {}, {kInvalidRequest, "Invalid request: Content-Type is not application/json", {}});
  if (!accepts(request.headers, "application/json") ||
      !accepts(request.headers, "text/event-stream"))
    co_return invalid(406, "Accept must name application/json and text/event-stream");
  Parsed parsed = parse_message(request.body);
  if (!parsed.message) co_return refuse(400, parsed.id, parsed.problem);
  request.body.clear();
  Message message = *std::move(parsed.message);
  std::optional<std::string> version = one_header(request.headers, "MCP-Protocol-Version");
  bool is_modern = modern_version(message.params) || (version && !is_legacy_version(*version));
  if (!is_modern) co_return post_legacy(request, std::move(message));
  HttpReply reply = co_await post_modern(std::move(request), std::move(message));
  co_return reply;
}

// ---- 2026-07-28: each request stands alone

// The connection lives as long as this one request.
Task<HttpReply> HttpServer::post_modern(HttpRequest request, Message message) {
  if (message.kind == Message::Kind::response)
    co_return refuse(
        400, message.id,
        {kInvalidRequest,
         "Invalid request: answers come with a retry of the request, as inputResponses",
         {}});
  if (message.kind == Message::Kind::notification) co_return HttpReply{.status = 202};
  std::optional<Problem> problem = check_standard_headers(request.headers, message);
  Client client;
  if (!problem) problem = read_modern_client(message.params, client);
  if (problem) co_return refuse(400, message.id, *problem);
  if (message.method == "tools/call") {
    bool are_known = co_await knows_tools(request.principal);
    if (!are_known)
      co_return refuse(
          500, message.id,
          {kInternalError,
           "which parameters must be in headers could not be found out: tools/list failed",
           {}});
    auto mirrored = mirrored_.find(text_in(message.params, "name"));
    const Value* arguments = message.params.find("arguments");
    Value none;
    if (mirrored != mirrored_.end())
      problem = check_mirrored(request.headers, mirrored->second, arguments ? *arguments : none);
    if (problem) co_return refuse(400, message.id, *problem);
  }
  std::shared_ptr<Connection> connection = server_.connect(request.principal, nullptr);
  HttpStream::Options options;
  options.gone = [connection](bool) { connection->close(); };
  HttpReply reply;
  reply.stream = std::make_shared<HttpStream>(server_.loop(), std::move(options));
  connection->receive(std::move(message), reply.stream);
  co_return reply;
}

// Requests that come together wait for one reading of the list.
Task<bool> HttpServer::knows_tools(std::shared_ptr<const Principal> principal) {
  while (!knows_tools_ && learning_) {
    std::shared_ptr<io::Event> learnt = learning_;
    co_await *learnt;
  }
  if (knows_tools_) co_return true;
  auto learnt = std::make_shared<io::Event>(server_.loop());
  learning_ = learnt;
  bool is_good = co_await learn_tools(principal);
  learning_ = nullptr;
  learnt->happen();
  co_return is_good;
}

// Which parameters of which tools must also be in headers. Asked for again when tools change.
// False: it could not be told.
Task<bool> HttpServer::learn_tools(std::shared_ptr<const Principal> principal) {
  uint64_t changed = tools_changed_;
  std::map<std::string, std::vector<MirroredParam>> found;
  Value params = Value(Value::Object{});
  for (int page = 0; page < kMostPages; ++page) {
    auto context = std::make_shared<DirectContext>("tools/list", params, principal);
    Answer answer = co_await server_.service().call(context);
    const Value* tools = answer.result.as_object() ? answer.result.find("tools") : nullptr;
    if (answer.problem || !tools || !tools->as_array()) co_return false;
    for (const Value& tool : *tools->as_array()) {
      const Value* schema = tool.as_object() ? tool.find("inputSchema") : nullptr;
      std::vector<MirroredParam> mirrored =
          schema ? mirrored_params(*schema) : std::vector<MirroredParam>();
      if (!mirrored.empty()) found[text_in(tool, "name")] = std::move(mirrored);
    }
    const Value* next = answer.result.find("nextCursor");
    if (!next || !next->as_string()) break;
    set_member(params, "cursor", *next);
  }
  mirrored_ = std::move(found);
  knows_tools_ = changed == tools_changed_;
  co_return true;
}

// ---- before: sessions

// A session belongs to the principal that opened it.
std::shared_ptr<HttpServer::Session> HttpServer::find(const HttpRequest& request, HttpReply& why) {
  bool twice = false;
  std::optional<std::string> id = one_header(request.headers, kSessionHeader, &twice);
  if (!id || twice) {
    why = invalid(400,
                  "Mcp-Session-Id is missing: open a session by initialize, or say in _meta which "
                  "revision this is");
    return nullptr;
  }
  auto found = sessions_.find(*id);
  // Another's session is one that does not exist.
  if (found == sessions_.end() ||
      found->second->connection->principal()->id != request.principal->id) {
    why = refuse(404, {},
                 {kInvalidRequest,
                  "Session not found: it has ended, or was never opened (initialize anew)",
                  {}});
    return nullptr;
  }
  std::shared_ptr<Session> session = found->second;
  std::optional<std::string> version = one_header(request.headers, "MCP-Protocol-Version", &twice);
  if (twice || (version && *version != session->connection->client().version)) {
    why = refuse(400, {},
                 {kInvalidRequest,
                  cat("Invalid request: MCP-Protocol-Version is not ",
                      session->connection->client().version, ", which was agreed on"),
                  {}});
    return nullptr;
  }
  session->used = server_.loop().now();
  session->turn = ++turn_;
  return session;
}

// The stream of the answer is kept for a while, so that a client can resume it.
HttpReply HttpServer::post_legacy(const HttpRequest& request, Message message) {
  bool has_session = one_header(request.headers, kSessionHeader).has_value();
  if (message.kind == Message::Kind::request && message.method == "initialize" && !has_session)
    return open_session(request, std::move(message));
  HttpReply reply;
  std::shared_ptr<Session> session = find(request, reply);
  if (!session) {
    if (message.kind == Message::Kind::request) {  // who asked can be told which question it was
      Parsed said = parse_message(reply.body);
      if (said.message && said.message->problem)
        reply.body = to_text(refusal(message.id, *said.message->problem));
    }
    return reply;
  }
  if (message.kind != Message::Kind::request) {
    session->connection->receive(std::move(message), nullptr);
    reply.status = 202;
    return reply;
  }
  auto has_ended = [](const auto& named) {
    return named.second->is_over() && !named.second->is_being_read();
  };
  auto ended = static_cast<size_t>(
      std::count_if(session->streams.begin(), session->streams.end(), has_ended));
  for (auto at = session->streams.begin(); at != session->streams.end();) {
    bool goes = has_ended(*at) &&
                (ended > kMostEndedStreams || session->budget->bytes > Budget::kMost / 2 ||
                 !at->second->is_streaming());
    if (goes) --ended;
    at = goes ? session->streams.erase(at) : at + 1;
  }
  std::string name = cat(++session->named);
  HttpStream::Options options{.name = name,
                              .primes = session->connection->client().version >= "2025-11-25",
                              .budget = session->budget,
                              .most_unread = 0,
                              .patience = kLegacyPatience,
                              .gone = nullptr};
  // Who goes before it has an event's id cannot come back for the answer.
  options.gone = [connection = std::weak_ptr<Connection>(session->connection),
                  id = message.id](bool was_streaming) {
    std::shared_ptr<Connection> held = connection.lock();
    if (was_streaming || !held) return;
    held->receive(notification("notifications/cancelled",
                               Value::Object{{"requestId", id}, {"reason", "the client has gone"}}),
                  nullptr);
  };
  reply.stream = std::make_shared<HttpStream>(server_.loop(), std::move(options));
  session->streams.emplace_back(name, reply.stream);
  (void)reply.stream->begin_reading();  // whoever sends the reply is about to
  session->connection->receive(std::move(message), reply.stream);
  return reply;
}

// Where there are too many sessions, the principal's own that was idle for longest ends.
bool HttpServer::make_room(const std::string& principal) {
  size_t of_one = 0;
  std::shared_ptr<Session> oldest;  // of its own that nobody uses now
  for (const auto& [id, session] : sessions_) {
    bool is_own = session->connection->principal()->id == principal;
    of_one += is_own ? 1 : 0;
    bool is_used = session->connection->is_calling() || session->apart->is_being_read();
    if (is_own && !is_used && (!oldest || session->turn < oldest->turn)) oldest = session;
  }
  bool is_full = of_one >= kMostSessionsOfOne || sessions_.size() >= kMostSessions;
  if (is_full && oldest) end(oldest);
  return !is_full || oldest;
}

// What all sessions of a principal keep counts together. The entry ends with the last session.
std::shared_ptr<size_t> HttpServer::kept_of(const std::string& principal) {
  std::shared_ptr<size_t> kept = kept_[principal].lock();
  if (!kept) kept_[principal] = kept = std::make_shared<size_t>(0);
  return kept;
}

// The id is random, because whoever knows it can read the session's streams.
HttpReply HttpServer::open_session(const HttpRequest& request, Message message) {
  Result<std::string> random = random_bytes(32);
  Value id = message.id;
  if (!random) return refuse(500, id, {kInternalError, random.error().message, {}});
  if (!make_room(request.principal->id))
    return refuse(429, id, {kInternalError, "too many sessions: end some by DELETE", {}});
  auto session = std::make_shared<Session>();
  session->id = to_hex(random.value());
  session->used = server_.loop().now();
  session->turn = ++turn_;
  session->budget->of_one = kept_of(request.principal->id);
  HttpStream::Options options{.name = "0",
                              .primes = false,
                              .budget = session->budget,
                              .most_unread = kMostUnread,
                              .patience = 0,
                              .gone = nullptr};
  session->apart = std::make_shared<HttpStream>(server_.loop(), std::move(options));
  session->connection = server_.connect(request.principal, session->apart);
  auto stream = std::make_shared<HttpStream>(server_.loop(), HttpStream::Options());
  session->connection->receive(std::move(message), stream);
  HttpReply reply;
  reply.stream = stream;
  if (!session->connection->is_legacy()) return reply;  // it was refused
  reply.headers.push_back({kSessionHeader, session->id});
  sessions_[session->id] = std::move(session);
  return reply;
}

// Without Last-Event-ID the stream of what belongs to no request, else the rest of the one it
// names.
HttpReply HttpServer::get(const HttpRequest& request) {
  HttpReply reply;
  std::shared_ptr<Session> session = find(request, reply);
  if (!session) return reply;
  if (!accepts(request.headers, "text/event-stream"))
    return invalid(406, "Accept must name text/event-stream");
  std::optional<std::string> last = one_header(request.headers, "Last-Event-ID");
  if (!last) {
    if (session->apart->is_being_read())
      return refuse(409, {},
                    {kInvalidRequest,
                     "Conflict: this session has a stream for messages of the server already",
                     {}});
    session->apart->stream_now();
    reply.stream = session->apart;
    reply.from = std::max<uint64_t>(session->apart->first(), 1);
    return reply;
  }
  size_t bar = last->find('_');
  std::string name = last->substr(0, bar),
              digits = bar == std::string::npos ? "" : last->substr(bar + 1);
  bool is_number = !digits.empty() && digits.size() < 19 &&
                   digits.find_first_not_of("0123456789") == std::string::npos;
  if (name == "0") reply.stream = session->apart;
  for (const auto& [stream_name, stream] : session->streams)
    if (stream_name == name) reply.stream = stream;
  uint64_t after = is_number ? std::stoull(digits) + 1 : 0;
  bool is_kept =
      is_number && reply.stream && after >= reply.stream->first() && after <= reply.stream->end();
  if (!is_kept) return invalid(400, "what follows Last-Event-ID is not kept (any more)");
  reply.from = after;
  reply.is_resumed = true;
  reply.stream->stream_now();
  return reply;
}

// The client ends its session. Its answers are dropped, as it does not want them any more.
HttpReply HttpServer::remove(const HttpRequest& request) {
  HttpReply reply;
  std::shared_ptr<Session> session = find(request, reply);
  if (!session) return reply;
  end(session);
  reply.status = 204;
  return reply;
}

// The connection is closed before the streams, because closing may still write to them.
void HttpServer::end(std::shared_ptr<Session> session) {
  sessions_.erase(session->id);
  session->connection->close();
  session->apart->drop();
  for (auto& [name, stream] : session->streams) stream->drop();
}

// Ends sessions that nobody has used for kIdleTime, and those whose connection has closed.
Task<void> HttpServer::sweep(std::weak_ptr<HttpServer*> server, io::Loop& loop) {
  while (true) {
    co_await loop.sleep(kSweepTime);
    std::shared_ptr<HttpServer*> held = server.lock();
    if (!held) co_return;
    std::vector<std::shared_ptr<Session>> idle;
    for (const auto& [id, session] : (*held)->sessions_) {
      bool is_used = session->connection->is_open() &&
                     (session->connection->is_calling() || session->apart->is_being_read());
      if (!session->connection->is_open())
        idle.push_back(session);
      else if (is_used)
        session->used = loop.now();
      else if (session->used + kIdleTime < loop.now())
        idle.push_back(session);
    }
    for (const std::shared_ptr<Session>& session : idle) (*held)->end(session);
    std::erase_if((*held)->kept_, [](const auto& each) { return each.second.expired(); });
  }
}

}  // namespace paddock::mcp
