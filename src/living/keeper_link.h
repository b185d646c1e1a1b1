// The server's side of a living sandbox's keeper: questions and answers, in turn, and the news of
// its end.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "io/bell.h"
#include "io/loop.h"
#include "launch/channel.h"

namespace paddock::living {

class KeeperLink : public std::enable_shared_from_this<KeeperLink> {
 public:
  static std::shared_ptr<KeeperLink> create(io::Loop& loop, Fd socket);

  // The socket in a sandbox's directory. Code::not_found: no keeper listens there.
  static Result<Fd> connect(const std::string& directory);

  // Sends the record and waits for the answer to it; `failed` becomes the error.
  io::Task<Result<launch::Received>> ask(launch::Record question, io::Milliseconds patience);
  // Only waits: for what the keeper says first, once it has its plan.
  io::Task<Result<launch::Received>> hear(io::Milliseconds patience);
  void tell(const launch::Record& record);

  bool is_over() const { return over_; }
  const std::optional<launch::Record>& last_words() const { return last_; }  // once it is over
  // By another server: it lives on.
  bool is_replaced() const { return last_ && last_->kind == launch::Record::Kind::replaced; }
  io::Task<bool> wait_for_end(io::Milliseconds deadline);  // true when it is over
  // The keeper goes on without us.
  void let_go();

 private:
  struct Answer {
    explicit Answer(io::Loop& loop) : bell(loop) {}
    io::Bell bell;
    std::optional<Result<launch::Received>> received;
  };
  KeeperLink(io::Loop& loop, Fd socket)
      : loop_(loop), socket_(loop, std::move(socket)), over_bell_(loop) {}
  static io::Task<void> listen(std::shared_ptr<KeeperLink> link);
  void take(launch::Received received);
  void end();
  io::Task<Result<launch::Received>> await(std::shared_ptr<Answer> answer,
                                           io::Milliseconds patience);

  io::Loop& loop_;
  io::Socket socket_;
  launch::RecordReader reader_;
  std::deque<std::shared_ptr<Answer>> awaited_;
  std::optional<launch::Record> last_;
  io::Bell over_bell_;
  bool over_ = false, let_go_ = false;
};

}  // namespace paddock::living
