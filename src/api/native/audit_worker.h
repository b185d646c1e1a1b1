// Answers questions about the audit log on a thread of its own, so that a tenant with many
// questions does not hold up the others. Each tenant may have a few questions waiting.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "io/worker.h"

namespace paddock::api {

class AuditWorker {
 public:
  static Result<std::unique_ptr<AuditWorker>> create(io::Loop& loop) {
    auto worker = std::make_unique<AuditWorker>();
    worker->worker_ = TRY(io::Worker::create(loop, 1));
    return worker;
  }

  // `work` stays where it is until it is done.
  io::Task<Result<void>> run(std::string tenant, const std::function<void()>& work) {
    if (waiting_[tenant] >= kMostWaiting)
      co_return Error{Code::exhausted, "read the audit log: too many questions at once",
                      "wait for the answers"};
    ++waiting_[tenant];
    co_await worker_->run(work);
    if (--waiting_[tenant] == 0) waiting_.erase(tenant);
    co_return Result<void>();
  }

 private:
  static constexpr size_t kMostWaiting = 8;
  std::unique_ptr<io::Worker> worker_;
  std::map<std::string, size_t> waiting_;  // by tenant
};

}  // namespace paddock::api
