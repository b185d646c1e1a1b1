#include "api/http/request_stats.h"

#include <time.h>

#include <algorithm>

#include "api/http/call.h"

namespace paddock::api {

namespace {

// A clock that does not go backwards.
int64_t now_ns() {
  timespec time;
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// A name from a fixed set, so that clients cannot create labels.
const char* method_of(const std::string& method) {
  for (const char* known : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
    if (method == known) return known;
  return "other";
}

// "2xx" of 204. Labels of single statuses would be too many series.
const char* status_class(int status) {
  static const char* kClasses[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
  return status >= 100 && status < 600 ? kClasses[status / 100] : kClasses[0];
}

}  // namespace

const std::vector<double>& RequestStats::bounds() {
  static const std::vector<double> bounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                             0.25,   0.5,   1,      2.5,   5,    10,    60};
  return bounds;
}

void RequestStats::add(const Call& call, double seconds) {
  std::string route = !call.route.empty()    ? call.route
                      : call.sandbox.empty() ? "none"
                                             : "data plane";
  Sum& sum = sums_[{std::move(route), method_of(call.exchange.head().method),
                    status_class(call.exchange.status())}];
  sum.counts.resize(bounds().size() + 1);
  ++sum.counts[static_cast<size_t>(std::lower_bound(bounds().begin(), bounds().end(), seconds) -
                                   bounds().begin())];
  sum.seconds += seconds;
}

RequestTimer::RequestTimer(RequestStats& stats, const Call& call)
    : stats_(stats), call_(call), begin_ns_(now_ns()) {}

RequestTimer::~RequestTimer() {
  stats_.add(call_, static_cast<double>(now_ns() - begin_ns_) / 1e9);
}

}  // namespace paddock::api
