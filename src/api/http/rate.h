// How often each key may ask: a bucket of tokens for each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include "base/token_bucket.h"

namespace paddock::api {

class RateLimits {
 public:
  // Takes a token at `now_ms` from the bucket `name`, which fills with `per_second` and holds twice
  // that. 0 when there was one; else the seconds until there is.
  int64_t take(const std::string& name, uint64_t per_second, int64_t now_ms) {
    if (per_second == 0) return 0;
    double rate = static_cast<double>(per_second);
    TokenBucket& bucket = used(name, TokenBucket(rate, 2 * rate));
    if (bucket.take(now_ms)) return 0;
    return std::max<int64_t>(1, static_cast<int64_t>((1 - bucket.tokens(now_ms)) / rate + 0.999));
  }

  // Whether take() would have one.
  bool has(const std::string& name, int64_t now_ms) const {
    auto found = buckets_.find(name);
    return found == buckets_.end() || found->second.bucket.tokens(now_ms) >= 1;
  }

  static constexpr size_t kMost = 10'000;
  size_t size() const { return buckets_.size(); }

 private:
  struct Entry {
    TokenBucket bucket;
    std::list<std::string>::iterator place;
  };

  // The bucket that was not used for the longest time goes: it is the fullest there is, or nearly.
  TokenBucket& used(const std::string& name, const TokenBucket& fresh) {
    auto [found, is_new] = buckets_.try_emplace(name, Entry{fresh, {}});
    Entry& entry = found->second;
    if (!is_new) {
      order_.splice(order_.end(), order_, entry.place);
      return entry.bucket;
    }
    entry.place = order_.insert(order_.end(), name);
    if (buckets_.size() <= kMost) return entry.bucket;
    buckets_.erase(order_.front());
    order_.pop_front();
    return entry.bucket;
  }

  std::unordered_map<std::string, Entry> buckets_;
  std::list<std::string> order_;  // by last use, the latest at the end
};

}  // namespace paddock::api
