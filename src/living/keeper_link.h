// The server's side of a living sandbox's keeper: questions and their answers in turn, and the news
// of its end.
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

  // Connects to the socket in a sandbox's directory. Code::not_found means that no keeper listens
  // there.
  static Result<Fd> connect(const std::string& directory);
  // The keeper at the other end of such a socket, as the kernel knows it; -1 if it is not told.
  static pid_t keeper_behind(const Fd& socket);

  // Sends the record and waits for its answer, `patience` milliseconds at most. A `failed` record
  // becomes the error.
  io::Task<Result<launch::Received>> ask(launch::Record question, io::Milliseconds patience);
  // Only waits, for the first record that the keeper sends once it has its plan.
  io::Task<Result<launch::Received>> hear(io::Milliseconds patience);
  void tell(const launch::Record& record);

  bool is_over() const { return over_; }
  const std::optional<launch::Record>& last_words() const { return last_; }  // once it is over
  // Another server has taken over; the sandbox lives on.
  bool is_replaced() const { return last_ && last_->kind == launch::Record::Kind::replaced; }
  io::Task<bool> wait_for_end(io::Milliseconds deadline);  // true when it is over
  // Closes the connection. The keeper goes on without us.
  void let_go();

 private:
  // One question. After a timeout it stays in the queue, so that a late answer is not taken for the
  // next one.
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
