// One POST of JSON to a collector or another endpoint, on a connection of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/http_client.h"
#include "telemetry/endpoint.h"

namespace paddock::telemetry {

class Poster {
 public:
  static Result<std::unique_ptr<Poster>> create(io::Loop& loop, const Endpoint& endpoint);

  struct Posted {
    // 0: there was no answer.
    int status = 0;
    // Why it failed.
    std::string why;
    // As the collector asked.
    io::Milliseconds retry_after = 0;
    // The body, where it was asked for.
    std::string answer;
  };
  // An answer's body is read when it may have `most_answer` bytes; a longer or broken one is a
  // failure. One post at a time.
  io::Task<Posted> post(std::string body, io::Milliseconds patience, size_t most_answer = 0);
  // Whoever waits for post() is told at once that there was no answer.
  void stop();

 private:
  Poster(io::Loop& loop, std::vector<net::Header> headers)
      : loop_(loop), headers_(std::move(headers)) {}
  io::Task<Posted> exchange(io::HttpRequest request, size_t most_answer, io::Milliseconds deadline);

  io::Loop& loop_;
  std::vector<net::Header> headers_;
  std::unique_ptr<io::HttpClient> client_;
  std::shared_ptr<io::HttpExchange> under_way_;
  bool stopped_ = false;
};

}  // namespace paddock::telemetry
