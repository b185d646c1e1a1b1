#include "launch/lifetime.h"

#include <algorithm>

#include "base/text.h"

namespace paddock::launch {

void Lifetime::set(const LifetimeOrder& order, uint64_t now) {
  order_ = order;
  deadline_ = order.left_ms == 0 ? 0 : now + order.left_ms * 1000;
  deferred_ = 0;
}

void Lifetime::add_rule(const RuleOrder& order) {
  if (order.first) {
    rules_.clear();
    limits_ = {};
  }
  every_ms_ = std::max(order.every_ms, monitor::kLeastEveryMs);
  if (std::optional<LimitKind> kind = info(order.rule.metric).limit; kind && order.limit)
    limits_[*kind] = order.limit;
  rules_.push_back(order.rule);
}

void Lifetime::server_came() {
  has_server_ = true;
  gone_since_ = next_sample_ = 0;
  judge_.reset();
}

void Lifetime::server_gone(uint64_t now) {
  has_server_ = false;
  gone_since_ = now;
  begin_rules(now);
}

// The measurement starts over, since rates over a time without samples would mean nothing.
void Lifetime::begin_rules(uint64_t now) {
  judge_.reset();
  next_sample_ = 0;
  if (rules_.empty() || has_server_ || paused_) return;
  judge_ = std::make_unique<monitor::Judge>(rules_, limits_, every_ms_);
  meter_ = {};
  next_sample_ = now;
}

void Lifetime::paused(bool is_paused) {
  paused_ = is_paused;
  if (!is_paused && has_server_) return;
  begin_rules(gone_since_);
}

Lifetime::Action Lifetime::on_timeout() const {
  if (!order_.pause) return Action::kill;
  return order_.keep_memory ? Action::pause : Action::pause_files;
}

uint64_t Lifetime::ends_at() const {
  if (deadline_ == 0) return 0;
  return std::max(deadline_ + (has_server_ ? kHungServer : 0), deferred_);
}

// Only requests keep a sandbox from being idle, and without a server there are none.
uint64_t Lifetime::idle_at() const {
  if (order_.idle_ms == 0 || has_server_ || paused_) return 0;
  return std::max(gone_since_ + order_.idle_ms * 1000, deferred_);
}

uint64_t Lifetime::next(uint64_t) const {
  uint64_t soonest = 0;
  for (uint64_t at : {ends_at(), idle_at(), next_sample_})
    if (at != 0 && (soonest == 0 || at < soonest)) soonest = at;
  return soonest;
}

std::optional<Lifetime::Due> Lifetime::due(uint64_t now) const {
  if (uint64_t at = ends_at(); at != 0 && now >= at) return Due{"timeout", on_timeout(), {}};
  if (uint64_t at = idle_at(); at != 0 && now >= at) return Due{"idle timeout", on_timeout(), {}};
  return std::nullopt;
}

std::optional<Lifetime::Due> Lifetime::judge(const LivingUsage& usage, uint64_t now) {
  if (!judge_) return std::nullopt;
  next_sample_ = now + every_ms_ * 1000;
  monitor::Reading reading;
  reading.cpu_us = usage.cpu_us;
  reading.memory = usage.memory;
  reading.memory_file = usage.memory_cache;
  reading.memory_peak = usage.memory_peak;
  reading.pids = usage.pids;
  reading.disk = usage.disk;
  reading.oom_kills = usage.oom_kills;
  reading.deep = true;
  UsageSample sample =
      meter_.measure(reading, static_cast<int64_t>(now), static_cast<int64_t>(now / 1000));
  std::optional<Due> found;
  for (const monitor::Finding& finding : judge_->judge(sample)) {
    bool kills = finding.rule->action == MonitorAction::kill;
    if (found && !kills) continue;  // of several that hold, one that kills wins
    found = Due{monitor::because(finding), kills ? Action::kill : Action::pause,
                monitor::to_hit(finding)};
  }
  return found;
}

}  // namespace paddock::launch
