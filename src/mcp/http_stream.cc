#include "mcp/http_stream.h"

#include "base/text.h"

namespace paddock::mcp {

namespace {

// In bytes. With more than this unsent, notifications are left out.
constexpr size_t kMuch = 1 << 20;

// Milliseconds after which a client whose stream was cut should come back.
constexpr int kRetry = 1000;

}  // namespace

// Most errors of JSON-RPC are answered with 200.
int http_status(const Message& answer) {
  if (!answer.problem) return 200;
  int code = answer.problem->code;
  if (code == kMethodNotFound) return 404;
  return code == kHeaderMismatch || code == kMissingCapability || code == kUnsupportedVersion ||
                 code == kParseError
             ? 400
             : 200;
}

// What was kept for resumption no longer counts against the session.
HttpStream::~HttpStream() {
  if (options_.budget) options_.budget->remove(bytes_);
}

// Keeps the count of bytes here and in the budget the same.
void HttpStream::let_go_of_first() {
  bytes_ -= events_.front().size();
  if (options_.budget) options_.budget->remove(events_.front().size());
  events_.pop_front();
  ++first_;
}

// Only what was sent already is given up.
bool HttpStream::make_room(size_t bytes) {
  if (!options_.budget) return bytes_ <= kMuch;
  while (!options_.budget->has_room(bytes) && first_ < taken_) let_go_of_first();
  return options_.budget->has_room(bytes);
}

// An answer is always kept; notifications only while there is room.
void HttpStream::add(std::string text, bool is_needed) {
  if (over_) return;
  // What was sent is kept as long as there is room for it; what was not sent, unless it is a flood.
  bool has_room = make_room(text.size());
  if (!has_room && !is_needed) return;
  bytes_ += text.size();
  if (options_.budget) options_.budget->add(text.size());
  events_.push_back(std::move(text));
  bell.ring();
}

// The acknowledgement of a subscription is needed, since the client waits for it.
void HttpStream::tell(const Message& message) {
  bool may_be_left_out = message.kind == Message::Kind::notification &&
                         message.method != "notifications/subscriptions/acknowledged";
  if (may_be_left_out && options_.most_unread > 0 && !is_read_ &&
      events_.size() >= options_.most_unread)
    return;
  streaming_ = true;
  add(to_text(message), !may_be_left_out);
}

// An answer that nobody reads and that there is no room for becomes a short error.
void HttpStream::finish(const Message& answer) {
  status_ = http_status(answer);
  std::string text = to_text(answer);
  // For a client that may come back for it, but not at any price.
  if (options_.budget && !is_read_ && !make_room(text.size()))
    text = to_text(refusal(
        answer.id, {kInternalError,
                    "the answer was not kept: nobody read it, and as much is kept as may be",
                    {}}));
  add(std::move(text), true);
  over_ = answered_ = true;
  bell.ring();
}

// Readers find that nothing more will come.
void HttpStream::drop() {
  over_ = true;
  bell.ring();
}

// The returned number tells this reader from later ones.
uint64_t HttpStream::begin_reading(uint64_t from) {
  bell.ring();
  is_read_ = true;
  taken_ = from;
  return ++reader_;
}

// A reader that was replaced by another one changes nothing.
void HttpStream::end_reading(uint64_t reader) {
  if (reader != reader_) return;
  is_read_ = false;
  shed();
}

// Gives up events of a finished stream, oldest first, only while the budget is exceeded.
void HttpStream::shed() {
  while (over_ && !is_read_ && options_.budget && !options_.budget->has_room(0) && !events_.empty())
    let_go_of_first();
}

// Without an answer yet, whoever made the stream decides whether the call goes on.
void HttpStream::client_gone(uint64_t reader) {
  if (reader != reader_) return;
  is_read_ = false;
  if (!over_ && options_.gone) options_.gone(streaming_);
  shed();
  bell.ring();
}

void HttpStream::taken(uint64_t reader, uint64_t number) {
  if (reader != reader_) return;  // it was written by who read it before
  taken_ = number;
  while (!options_.budget && first_ < taken_) let_go_of_first();
}

// The first event tells a client the id to resume after, before there is anything to say.
std::string HttpStream::greeting() const {
  return options_.primes ? cat("id: ", options_.name, "_0\nretry: ", kRetry, "\ndata: \n\n")
                         : ":\n\n";
}

// Without a name the stream cannot be resumed, and its events have no ids.
std::string HttpStream::as_event(uint64_t number) const {
  std::string id = options_.name.empty() ? "" : cat("id: ", options_.name, "_", number, "\n");
  return cat("event: message\n", id, "data: ", event(number), "\n\n");
}

}  // namespace paddock::mcp
