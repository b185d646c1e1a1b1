// Takes the secrets of a sandbox out of what a command writes, on its way back to the client. Each
// stream remembers what a secret may have begun with, so that one which comes in pieces is found.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guest/frame.h"
#include "redact/redact.h"

namespace paddock::manager {

class OutputRedaction {
 public:
  explicit OutputRedaction(std::shared_ptr<const redact::Rules> rules) : rules_(std::move(rules)) {}

  // What may be shown now of guest::kOutput, kErrors or kTerminal; may be nothing.
  std::string feed(uint8_t stream, std::string_view bytes) {
    std::optional<redact::Stream>& memory = streams_[stream % streams_.size()];
    if (!memory) memory.emplace(rules_);
    std::string shown;
    memory->feed(bytes, shown);
    return shown;
  }

  // A terminal shows each letter that is typed, and one that begins some secret must not stay
  // unseen until the next: after so long without a word the first letters of what is held back are
  // shown. The rest of it is found all the same.
  static constexpr int64_t kTypingMs = 30;
  bool holds_typing() const {
    return streams_[guest::kTerminal] && streams_[guest::kTerminal]->holds();
  }
  std::string show_typing() {
    std::string shown;
    if (streams_[guest::kTerminal]) streams_[guest::kTerminal]->idle(shown);
    return shown;
  }

  struct Rest {
    uint8_t stream;
    std::string bytes;
  };
  // What was held back and has turned out to be nothing; when no more comes.
  std::vector<Rest> finish() {
    std::vector<Rest> rests;
    for (uint8_t stream = 0; stream < streams_.size(); ++stream) {
      std::string shown;
      if (streams_[stream]) streams_[stream]->finish(shown);
      if (!shown.empty()) rests.push_back({stream, std::move(shown)});
    }
    return rests;
  }

  // The counts of all streams together.
  redact::Counts counts() const {
    redact::Counts sum;
    for (const std::optional<redact::Stream>& stream : streams_)
      if (stream)
        for (const auto& [kind, count] : stream->counts()) sum[kind] += count;
    return sum;
  }

 private:
  std::shared_ptr<const redact::Rules> rules_;
  std::array<std::optional<redact::Stream>, 4> streams_;
};

// A file on its way out: redacted when that was asked for, else as it is.
class FileRedaction {
 public:
  FileRedaction(std::shared_ptr<const redact::Rules> rules, bool redacts) {
    if (redacts) stream_.emplace(std::move(rules));
  }
  // What may be shown, up to the next call.
  std::string_view feed(std::string_view bytes) {
    if (!stream_) return bytes;
    shown_.clear();
    stream_->feed(bytes, shown_);
    return shown_;
  }
  // Call it once, after the last feed().
  std::string_view finish() {
    shown_.clear();
    if (stream_) stream_->finish(shown_);
    return shown_;
  }
  redact::Counts counts() const { return stream_ ? stream_->counts() : redact::Counts(); }

 private:
  std::optional<redact::Stream> stream_;
  std::string shown_;
};

// "redactions": how many; "redacted": by kind, when there are any.
inline void put_counts(const redact::Counts& counts, Value& into) {
  into.set("redactions", redact::total(counts));
  if (counts.empty()) return;
  Value kinds(Value::Object{});
  for (const auto& [kind, count] : counts) kinds.set(kind, count);
  into.set("redacted", std::move(kinds));
}

}  // namespace paddock::manager
