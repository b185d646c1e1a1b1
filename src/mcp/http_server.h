// Streamable HTTP, as far as it is about MCP: requests in, replies or streams out. The sockets are
// in api/mcp.cc.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "mcp/http_headers.h"
#include "mcp/http_stream.h"
#include "mcp/server.h"

namespace paddock::mcp {

struct HttpRequest {
  // POST, GET or DELETE.
  std::string method;
  HttpHeaders headers;
  std::string body;
  std::shared_ptr<const Principal> principal;
};

struct HttpReply {
  int status = 200;
  HttpHeaders headers;
  // JSON, or empty.
  std::string body;
  // Used instead of the body.
  std::shared_ptr<HttpStream> stream;
  // The first event of the stream to send.
  uint64_t from = 1;
  // Answered with events in any case, never as plain JSON, and without the event that primes a
  // stream.
  bool is_resumed = false;
};

class HttpServer {
 public:
  static constexpr size_t kMostSessions = 4096, kMostSessionsOfOne = 64, kMostEndedStreams = 16;
  static constexpr io::Milliseconds kIdleTime = 30 * 60'000;

  explicit HttpServer(Server& server);
  ~HttpServer();

  io::Task<HttpReply> handle(HttpRequest request);
  // Ends all sessions and streams.
  void close();
  size_t sessions() const { return sessions_.size(); }

 private:
  struct Session {
    std::string id;
    std::shared_ptr<Connection> connection;
    std::shared_ptr<Budget> budget = std::make_shared<Budget>();
    // For messages that belong to no request.
    std::shared_ptr<HttpStream> apart;
    // By name, oldest first.
    std::deque<std::pair<std::string, std::shared_ptr<HttpStream>>> streams;
    uint64_t named = 0;
    io::Milliseconds used = 0;
    // The number of its last use: many may be within one millisecond.
    uint64_t turn = 0;
  };

  // By the method of the request, and the era of its message.
  io::Task<HttpReply> post(HttpRequest request);
  io::Task<HttpReply> post_modern(HttpRequest request, Message message);
  HttpReply post_legacy(const HttpRequest& request, Message message);
  HttpReply open_session(const HttpRequest& request, Message message);
  HttpReply get(const HttpRequest& request);
  HttpReply remove(const HttpRequest& request);
  // Null: there is none for this request, and `why` says so.
  std::shared_ptr<Session> find(const HttpRequest& request, HttpReply& why);
  // False: there are too many sessions, and all of the principal's are in use.
  bool make_room(const std::string& principal);
  void end(std::shared_ptr<Session> session);
  // What all sessions of a principal keep.
  std::shared_ptr<size_t> kept_of(const std::string& principal);
  // False: the list of tools could not be read, so no call can be checked.
  io::Task<bool> knows_tools(std::shared_ptr<const Principal> principal);
  io::Task<bool> learn_tools(std::shared_ptr<const Principal> principal);
  static io::Task<void> sweep(std::weak_ptr<HttpServer*> server, io::Loop& loop);

  Server& server_;
  std::map<std::string, std::shared_ptr<Session>> sessions_;
  // By tool.
  std::map<std::string, std::vector<MirroredParam>> mirrored_;
  // By principal.
  std::map<std::string, std::weak_ptr<size_t>> kept_;
  bool knows_tools_ = false;
  // Set while somebody reads the list of tools.
  std::shared_ptr<io::Event> learning_;
  uint64_t tools_changed_ = 0, turn_ = 0;
  std::shared_ptr<HttpServer*> alive_;
};

}  // namespace paddock::mcp
