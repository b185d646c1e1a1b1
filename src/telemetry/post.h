// One POST of JSON to a collector or another endpoint, on a connection of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/worker.h"
#include "net/tls.h"
#include "telemetry/endpoint.h"

namespace paddock::telemetry {

class Poster {
 public:
  static Result<std::unique_ptr<Poster>> create(io::Loop& loop, const Endpoint& endpoint);

  struct Posted {
    int status = 0;                    // 0: there was no answer
    std::string why;                   // of a failure
    io::Milliseconds retry_after = 0;  // as the collector asked
    std::string answer;                // the body, where it was asked for
  };
  // An answer's body is read when it may have `most_answer` bytes; a longer or broken one is a
  // failure.
  io::Task<Posted> post(std::string body, io::Milliseconds patience, size_t most_answer = 0);
  void stop();  // whoever waits for post() is told at once that there was no answer

 private:
  Poster(io::Loop& loop, Endpoint endpoint) : loop_(loop), endpoint_(std::move(endpoint)) {}
  io::Task<Result<Fd>> connect(io::Milliseconds deadline);

  io::Loop& loop_;
  Endpoint endpoint_;
  int socket_ = -1;  // the one in use
  bool stopped_ = false;
  std::optional<net::TlsClient> tls_;
  // Names are looked up by a thread: the system's way blocks.
  std::unique_ptr<io::Worker> resolver_;
};

}  // namespace paddock::telemetry
