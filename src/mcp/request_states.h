// requestState: what a modern client carries from "input required" to its retry. It is ours alone
// to make: sealed by a key that lives as long as this process, bound to the caller and the request,
// and good for a while. Calls that wait for a retry are kept here.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/value.h"
#include "io/loop.h"
#include "paddock/error.h"

namespace paddock::mcp {

class Call;

class RequestStates {
 public:
  // Milliseconds.
  static constexpr io::Milliseconds kLife = 15 * 60'000;
  static constexpr size_t kMostParked = 1024, kMostParkedOfOne = 64;
  // The size of the parameters of calls that wait.
  static constexpr size_t kMostBytes = 256 << 20, kMostBytesOfOne = 32 << 20;

  static Result<RequestStates> create(io::Loop& loop);

  // The principal and the request that a state is for.
  struct Bound {
    // The digest is that of the params.
    std::string principal, method, digest;
    // The size of the params.
    size_t bytes = 0;
  };
  // The params without _meta, inputResponses and requestState, whatever the order of keys.
  static Bound bind(const std::string& principal, const std::string& method, const Value& params);

  // A service's own state on its way through the client and back; it may have none.
  std::string seal(const Bound& bound, const std::optional<std::string>& state) const;
  // Keeps the call until the state comes back, once. Code::exhausted: too many are kept.
  Result<std::string> park(const Bound& bound, std::shared_ptr<Call> call);

  struct Opened {
    // The service's own state, or unset.
    std::optional<std::string> state;
    // A call that waited, which is not kept any more.
    std::shared_ptr<Call> parked;
  };
  // The error arm: changed, somebody else's, for another request, used already, or too old.
  Result<Opened> open(const Bound& bound, const std::string& token);

  // Ends calls whose time is over.
  void sweep();
  // Ends all of them.
  void close();
  size_t parked() const { return parked_.size(); }

 private:
  struct Parked {
    std::shared_ptr<Call> call;
    std::string principal;
    size_t bytes;
    io::Milliseconds until;
  };
  // How much of the room one principal uses.
  struct Share {
    size_t count = 0, bytes = 0;
  };
  std::shared_ptr<Call> take_out(std::map<std::string, Parked>::iterator at);
  RequestStates(io::Loop& loop, std::string key) : loop_(&loop), key_(std::move(key)) {}
  std::string make(char kind, const Bound& bound, const std::string& content) const;
  std::string mac(const std::string& content, const Bound& bound) const;

  io::Loop* loop_;
  std::string key_;
  // By a random name.
  std::map<std::string, Parked> parked_;
  // By principal.
  std::map<std::string, Share> shares_;
  size_t bytes_ = 0;
};

}  // namespace paddock::mcp
