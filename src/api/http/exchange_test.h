// An exchange whose client is the test.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "api/http/exchange.h"
#include "base/text.h"

namespace paddock::api {

class ExchangeTest : public ::testing::Test {
 protected:
  ExchangeTest() {
    static io::Loop* const loop = io::Loop::create().value();
    loop_ = loop;
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    stream_ = std::make_unique<io::Stream>(*loop_, Fd(ends[0]));
    client_ = Fd(ends[1]);
  }

  // A request as it comes: "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", the body after it.
  Exchange& receive(const std::string& request) {
    size_t end = request.find("\r\n\r\n") + 4;
    Result<net::RequestHead> head = net::parse_request(request.substr(0, end));
    EXPECT_TRUE(head) << head.error().message;
    stream_->ahead = request.substr(end);
    exchange_ =
        std::make_unique<Exchange>(*stream_, std::move(head).value(), Peer{.address = "192.0.2.1"});
    return *exchange_;
  }
  Exchange& get(const std::string& target, const std::string& headers = "") {
    return receive(cat("GET ", target, " HTTP/1.1\r\nHost: a\r\n", headers, "\r\n"));
  }
  Exchange& post(const std::string& body, const std::string& headers = "") {
    return receive(cat("POST /x HTTP/1.1\r\nHost: a\r\n", headers, "Content-Length: ", body.size(),
                       "\r\n\r\n", body));
  }

  // Lets the task run to its end.
  template <class T>
  T wait(io::Task<T> task) {
    std::optional<T> result;
    io::spawn(keep(std::move(task), result, *loop_));
    if (!result) loop_->run();
    return std::move(*result);
  }

  // What the client has been sent, without the header "Date".
  std::string sent() {
    std::string bytes(1 << 20, '\0');
    ssize_t size = ::recv(client_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(size > 0 ? static_cast<size_t>(size) : 0);
    size_t date = bytes.find("Date: ");
    if (date != std::string::npos) bytes.erase(date, bytes.find("\r\n", date) + 2 - date);
    return bytes;
  }

  io::Loop* loop_ = nullptr;
  std::unique_ptr<io::Stream> stream_;
  Fd client_;
  std::unique_ptr<Exchange> exchange_;

 private:
  template <class T>
  static io::Task<void> keep(io::Task<T> task, std::optional<T>& result, io::Loop& loop) {
    result.emplace(co_await task);
    loop.stop();
  }
};

}  // namespace paddock::api
