// How many requests were answered, how, and how long that took; by route, for GET /metrics.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace paddock::api {

struct Call;

class RequestStats {
 public:
  static const std::vector<double>& bounds();  // seconds

  struct Key {
    // A route's path, never what was asked for: that may hold secrets, and is without end.
    std::string route;
    std::string_view method;  // one of a few; "other"
    std::string_view status;  // "2xx"; "none": it was cut, or taken over by a WebSocket
    auto operator<=>(const Key&) const = default;
  };
  struct Sum {
    std::vector<uint64_t> counts;  // by bound; the last is for what took longer
    double seconds = 0;
  };
  void add(const Call& call, double seconds);
  const std::map<Key, Sum>& sums() const { return sums_; }

 private:
  std::map<Key, Sum> sums_;
};

// From a request's head to the last byte of its answer.
class RequestTimer {
 public:
  RequestTimer(RequestStats& stats, const Call& call);
  RequestTimer(const RequestTimer&) = delete;
  ~RequestTimer();

 private:
  RequestStats& stats_;
  const Call& call_;
  int64_t begin_ns_;
};

}  // namespace paddock::api
