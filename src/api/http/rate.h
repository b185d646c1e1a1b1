// How often each key may ask: a bucket of tokens that fills steadily.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

namespace paddock::api {

class RateLimits {
 public:
  // Takes a token at `now_ms` from the bucket `name`, which fills with `per_second` and holds twice
  // that. 0 when there was one; else the seconds until there is.
  int64_t take(const std::string& name, uint64_t per_second, int64_t now_ms) {
    if (per_second == 0) return 0;
    double rate = static_cast<double>(per_second), most = 2 * rate;
    Bucket& bucket = used(name, Bucket{most, now_ms, {}});
    bucket.tokens = std::min(
        most, bucket.tokens + rate * static_cast<double>(now_ms - bucket.filled_ms) / 1000);
    bucket.filled_ms = now_ms;
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return 0;
    }
    return std::max<int64_t>(1, static_cast<int64_t>((1 - bucket.tokens) / rate + 0.999));
  }

  // Whether take() would have one.
  bool has(const std::string& name, uint64_t per_second, int64_t now_ms) const {
    auto found = buckets_.find(name);
    if (found == buckets_.end() || per_second == 0) return true;
    return found->second.tokens + static_cast<double>(per_second) *
                                      static_cast<double>(now_ms - found->second.filled_ms) /
                                      1000 >=
           1;
  }

  static constexpr size_t kMost = 10'000;
  size_t size() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens;
    int64_t filled_ms;
    std::list<std::string>::iterator place;
  };

  // The bucket that was not used for the longest time goes: it is the fullest there is, or nearly.
  Bucket& used(const std::string& name, const Bucket& fresh) {
    auto [found, is_new] = buckets_.try_emplace(name, fresh);
    if (!is_new) {
      order_.splice(order_.end(), order_, found->second.place);
      return found->second;
    }
    Bucket& bucket = found->second;
    bucket.place = order_.insert(order_.end(), name);
    if (buckets_.size() <= kMost) return bucket;
    buckets_.erase(order_.front());
    order_.pop_front();
    return bucket;
  }

  std::unordered_map<std::string, Bucket> buckets_;
  std::list<std::string> order_;  // by last use, the latest at the end
};

}  // namespace paddock::api
