// Progress of a long call: reported a few times a second at most, and only to clients that want it.
#pragma once

#include <memory>
#include <string>

#include "base/text.h"
#include "mcp/service.h"

namespace paddock::tools::builtin {

class ProgressReporter {
 public:
  ProgressReporter(io::Loop& loop, std::shared_ptr<mcp::Context> context)
      : loop_(loop), context_(std::move(context)), began_(loop.now()), next_(began_ + kEvery) {}

  // When to wake up to report progress, but not after `deadline`.
  io::Milliseconds until(io::Milliseconds deadline) const {
    return context_->wants_progress() ? std::min(next_, deadline) : deadline;
  }
  // Does nothing until it is time again, so it may be called for every piece of output.
  void tell(uint64_t lines, uint64_t bytes) {
    if (!context_->wants_progress() || loop_.now() < next_) return;
    next_ = loop_.now() + kEvery;
    // Which always grows, as progress must.
    double seconds = static_cast<double>(loop_.now() - began_) / 1000;
    context_->progress(seconds, std::nullopt,
                       cat("running for ", static_cast<int64_t>(seconds), " s; ", lines,
                           lines == 1 ? " line, " : " lines, ", bytes, " bytes so far"));
  }
  // The time since the call began.
  io::Milliseconds elapsed() const { return loop_.now() - began_; }

 private:
  static constexpr io::Milliseconds kEvery = 400;
  io::Loop& loop_;
  std::shared_ptr<mcp::Context> context_;
  io::Milliseconds began_, next_;
};

// Does something when the call is cancelled, for as long as this object lives.
class OnCancel {
 public:
  OnCancel(std::shared_ptr<mcp::Context> context, std::function<void()> then)
      : context_(std::move(context)) {
    context_->on_cancel(std::move(then));
  }
  OnCancel(OnCancel&&) = delete;
  ~OnCancel() {
    if (!context_->is_cancelled()) context_->on_cancel([] {});
  }

 private:
  std::shared_ptr<mcp::Context> context_;
};

}  // namespace paddock::tools::builtin
