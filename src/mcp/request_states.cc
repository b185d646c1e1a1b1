#include "mcp/request_states.h"

#include <algorithm>
#include <cstdlib>

#include "base/base64.h"
#include "base/digest.h"
#include "base/text.h"
#include "base/value_edit.h"
#include "mcp/call.h"

namespace paddock::mcp {

namespace {

// For the client: only a new request can help.
Error refused(const char* why) {
  return {paddock::Code::invalid, cat("requestState is refused: ", why),
          "send the request anew, without inputResponses and requestState"};
}

}  // namespace

// Every process has a key of its own, so that states do not outlive it.
Result<RequestStates> RequestStates::create(io::Loop& loop) {
  std::string key = TRY(random_bytes(32));
  return RequestStates(loop, std::move(key));
}

// A state is good only for the same request with the same parameters.
RequestStates::Bound RequestStates::bind(const std::string& principal, const std::string& method,
                                         const Value& params) {
  Value rest = params;
  for (const char* key : {"_meta", "inputResponses", "requestState"}) remove_member(rest, key);
  std::string text = to_json(sorted_members(rest));
  return {principal, method, to_hex(sha256_bytes(text)), text.size()};
}

// The parts are joined as JSON, so that no two different lists give the same bytes.
std::string RequestStates::mac(const std::string& content, const Bound& bound) const {
  return hmac_sha256(key_,
                     to_json(text_list({content, bound.principal, bound.method, bound.digest})));
}

// KIND, the time when it ends, and what it holds; sealed together with what it is bound to.
std::string RequestStates::make(char kind, const Bound& bound, const std::string& content) const {
  std::string inner = cat(kind, loop_->now() + kLife, ":", content);
  return cat(base64(inner), ".", base64(mac(inner, bound)));
}

// A service that has no state is told apart from one whose state is empty.
std::string RequestStates::seal(const Bound& bound, const std::optional<std::string>& state) const {
  return make(state ? 's' : 'n', bound, state.value_or(""));
}

// Bounded in number and in bytes, for one principal and for all.
Result<std::string> RequestStates::park(const Bound& bound, std::shared_ptr<Call> call) {
  Share share = shares_.count(bound.principal) ? shares_[bound.principal] : Share();
  if (share.count >= kMostParkedOfOne || share.bytes + bound.bytes > kMostBytesOfOne ||
      parked_.size() >= kMostParked || bytes_ + bound.bytes > kMostBytes)
    return Error{paddock::Code::exhausted,
                 "wait for the client's answer: too many calls wait for answers already",
                 "answer them, or let them expire"};
  std::string name = to_hex(TRY(random_bytes(16)));
  parked_[name] = {std::move(call), bound.principal, bound.bytes, loop_->now() + kLife};
  shares_[bound.principal] = {share.count + 1, share.bytes + bound.bytes};
  bytes_ += bound.bytes;
  return make('p', bound, name);
}

// Keeps the totals right; every way out of the table leads through here.
std::shared_ptr<Call> RequestStates::take_out(std::map<std::string, Parked>::iterator at) {
  Parked parked = std::move(at->second);
  parked_.erase(at);
  bytes_ -= parked.bytes;
  Share& share = shares_[parked.principal];
  share.bytes -= parked.bytes;
  if (--share.count == 0) shares_.erase(parked.principal);
  return parked.call;
}

// The seal is checked before anything in the token is believed. A parked call is taken out, so that
// a token works once.
Result<RequestStates::Opened> RequestStates::open(const Bound& bound, const std::string& token) {
  size_t dot = token.find('.');
  if (dot == std::string::npos) return refused("it is none of this server's");
  Result<std::string> inner = from_base64(std::string_view(token).substr(0, dot)),
                      sealed = from_base64(std::string_view(token).substr(dot + 1));
  if (!inner || !sealed || !same_secret(sealed.value(), mac(inner.value(), bound)))
    return refused("it is not what this server gave out for this very request");
  const std::string& text = inner.value();
  size_t colon = text.find(':');
  if (colon == std::string::npos || std::strtoll(text.c_str() + 1, nullptr, 10) < loop_->now())
    return refused("its time is over");
  std::string content = text.substr(colon + 1);
  if (text.front() == 's') return Opened{std::move(content), nullptr};
  if (text.front() == 'n') return Opened{};
  auto found = parked_.find(content);
  if (found == parked_.end()) return refused("it was used already");
  return Opened{{}, take_out(found)};
}

// Calls that wait for a client are cancelled, so that their tools end.
void RequestStates::close() {
  while (!parked_.empty()) take_out(parked_.begin())->cancel("the server ends");
}

// Calls whose client never came back are cancelled.
void RequestStates::sweep() {
  std::vector<std::shared_ptr<Call>> late;
  for (auto at = parked_.begin(); at != parked_.end();) {
    auto next = std::next(at);
    if (at->second.until <= loop_->now()) late.push_back(take_out(at));
    at = next;
  }
  for (const std::shared_ptr<Call>& call : late)
    call->cancel("the client did not come back in time");
}

}  // namespace paddock::mcp
