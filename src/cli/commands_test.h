// Commands as people call them, in this process, and a server that answers as the test says.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "cli/cli.h"

namespace paddock::cli {

struct Ran {
  int status;
  std::string out, err;
};

template <class Main>
Ran ran(Main main, std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int status = main(static_cast<int>(words.size()), argv.data());
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

struct Asked {
  std::string method, target, body;
};

inline std::string http(int status, const std::string& body) {
  return cat("HTTP/1.1 ", status,
             " x\r\nContent-Type: application/json\r\nContent-Length: ", body.size(),
             "\r\nConnection: close\r\n\r\n", body);
}

inline std::string http_error(int status, const std::string& code, const std::string& message) {
  return http(status, cat(R"({"error":{"code":")", code, R"(","message":")", message,
                          R"(","hint":"a hint"}})"));
}

// A directory of state of the test's own, and a server on the socket in it.
class CommandTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/paddock_cli_test.XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    folder_ = path;
    for (const char* name : {"PADDOCK_URL", "PADDOCK_API_KEY", "PADDOCK_SOCKET"})
      (void)::unsetenv(name);
    ASSERT_EQ(::setenv("PADDOCK_STATE", at("state").c_str(), 1), 0);
  }
  void TearDown() override {
    if (listener_) (void)::shutdown(listener_.get(), SHUT_RDWR);
    if (server_.joinable()) server_.join();
    (void)::unsetenv("PADDOCK_STATE");
    (void)::unsetenv("PADDOCK_SOCKET");
    std::filesystem::remove_all(folder_);
  }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) {
    Result<Fd> file = open_file(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ASSERT_TRUE(file && write_all(file.value().get(), text));
  }
  std::string read(const std::string& name) const {
    Result<std::string> text = read_file(at(name));
    return text ? text.value() : "(" + text.error().message + ")";
  }

  // From now on each request is answered with what `answer` returns, byte for byte.
  void serve(std::function<std::string(const Asked&)> answer) {
    listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX};
    std::strncpy(address.sun_path, at("socket").c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener_.get(), 8), 0);
    ASSERT_EQ(::setenv("PADDOCK_SOCKET", at("socket").c_str(), 1), 0);
    server_ = std::thread([this, answer = std::move(answer)] {
      while (true) {
        Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!connection) return;
        Asked request = receive(connection.get());
        asked_.push_back(request);
        std::string response = answer(request);
        (void)!::send(connection.get(), response.data(), response.size(), MSG_NOSIGNAL);
      }
    });
  }
  void serve(const std::string& response) {
    serve([response](const Asked&) { return response; });
  }
  // What the server was asked; read it after the command.
  const std::vector<Asked>& asked() const { return asked_; }

 private:
  static Asked receive(int socket) {
    std::string bytes;
    char buffer[65536];
    size_t head = std::string::npos;
    auto whole = [&] {
      head = bytes.find("\r\n\r\n");
      if (head == std::string::npos) return false;
      if (bytes.find("chunked") < head) return ends_with(bytes, "0\r\n\r\n");
      size_t length = bytes.find("Content-Length: ");
      return length > head ||
             bytes.size() >= head + 4 + std::strtoul(bytes.c_str() + length + 16, nullptr, 10);
    };
    while (!whole()) {
      ssize_t size = ::recv(socket, buffer, sizeof buffer, 0);
      if (size <= 0) break;
      bytes.append(buffer, static_cast<size_t>(size));
    }
    std::vector<std::string> words = words_in(bytes.substr(0, bytes.find('\r')));
    if (words.size() < 2 || head == std::string::npos) return {};
    return {words[0], words[1], bytes.substr(head + 4)};
  }

  std::string folder_;
  Fd listener_;
  std::thread server_;
  std::vector<Asked> asked_;
};

}  // namespace paddock::cli
