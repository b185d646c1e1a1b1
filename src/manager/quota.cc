#include "manager/quota.h"

#include <algorithm>

#include "base/text.h"

namespace paddock::manager {

namespace {

constexpr int64_t kMinute = 60'000;

Error used_up(const char* what, const std::string& most, const std::string& used,
              const std::string& asked) {
  return Error{Code::exhausted,
               cat("quota: ", what, ": ", asked, " asked for, ", used, " of ", most, " in use"),
               "kill what is no longer needed, or let the operator raise the tenant's quota"};
}

uint64_t rise(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

}  // namespace

// Written so that no sum can overflow. 0 is no limit, and what asks for nothing is never refused.
Result<void> Ledger::check(const std::string& tenant, const Quota& quota,
                           const Amount& more) const {
  Amount used = this->used(tenant);
  auto exceeds = [](uint64_t most, uint64_t has, uint64_t asked) {
    return most != 0 && asked != 0 && (asked > most || has > most - asked);
  };
  if (exceeds(quota.sandboxes, used.sandboxes, more.sandboxes))
    return used_up("sandboxes", to_text(quota.sandboxes), to_text(used.sandboxes),
                   to_text(more.sandboxes));
  if (exceeds(quota.memory_bytes, used.memory_bytes, more.memory_bytes))
    return used_up("memory", human_size(quota.memory_bytes), human_size(used.memory_bytes),
                   human_size(more.memory_bytes));
  if (exceeds(quota.cpu_millicores, used.cpu_millicores, more.cpu_millicores))
    return used_up("cpu (thousandths of a core)", to_text(quota.cpu_millicores),
                   to_text(used.cpu_millicores), to_text(more.cpu_millicores));
  if (exceeds(quota.disk_bytes, used.disk_bytes, more.disk_bytes))
    return used_up("disk", human_size(quota.disk_bytes), human_size(used.disk_bytes),
                   human_size(more.disk_bytes));
  if (exceeds(most_sandboxes_, all_.sandboxes, more.sandboxes))
    return Error{Code::exhausted,
                 cat("this server has room for ", most_sandboxes_, " sandboxes, and all are taken"),
                 "kill what is no longer needed"};
  return {};
}

// Unsigned differences wrap and cancel out. A tenant that uses nothing takes no memory here.
void Ledger::add(const std::string& tenant, const Amount& before, const Amount& after) {
  for (Amount* sum : {&used_[tenant], &all_}) {
    sum->sandboxes += after.sandboxes - before.sandboxes;
    sum->memory_bytes += after.memory_bytes - before.memory_bytes;
    sum->cpu_millicores += after.cpu_millicores - before.cpu_millicores;
    sum->disk_bytes += after.disk_bytes - before.disk_bytes;
  }
  const Amount& left = used_[tenant];
  if (left.sandboxes + left.memory_bytes + left.cpu_millicores + left.disk_bytes == 0)
    used_.erase(tenant);
}

Result<std::unique_ptr<Ledger::Charge>> Ledger::charge(const std::string& tenant,
                                                       const Quota& quota, const Amount& amount) {
  TRY(check(tenant, quota, amount));
  return charge_unchecked(tenant, amount);
}

// For what exists already when the server starts: refusing it would not make it go away.
std::unique_ptr<Ledger::Charge> Ledger::charge_unchecked(const std::string& tenant,
                                                         const Amount& amount) {
  std::unique_ptr<Charge> charge(new Charge(*this, tenant));
  charge->change(amount);
  return charge;
}

// Only what rises is checked, so that shrinking one thing while growing another is possible.
Result<void> Ledger::grow(Charge& charge, const Quota& quota, const Amount& amount) {
  const Amount& has = charge.amount_;
  Amount more{rise(has.sandboxes, amount.sandboxes), rise(has.memory_bytes, amount.memory_bytes),
              rise(has.cpu_millicores, amount.cpu_millicores),
              rise(has.disk_bytes, amount.disk_bytes)};
  TRY(check(charge.tenant_, quota, more));
  charge.change(amount);
  return {};
}

void Ledger::Charge::change(const Amount& amount) {
  ledger_.add(tenant_, amount_, amount);
  amount_ = amount;
}

// Refused starts do not count.
Result<void> Ledger::count_start(const std::string& tenant, const Quota& quota, int64_t now_ms) {
  if (quota.starts_per_minute == 0) return {};
  std::deque<int64_t>& starts = starts_[tenant];
  while (!starts.empty() && starts.front() <= now_ms - kMinute) starts.pop_front();
  if (starts.size() >= quota.starts_per_minute) {
    int64_t wait = (starts.front() + kMinute - now_ms + 999) / 1000;
    return Error{Code::exhausted,
                 cat("quota: ", quota.starts_per_minute, " starts per minute, and all are used"),
                 cat("try again in ", wait, " s")};
  }
  starts.push_back(now_ms);
  return {};
}

Amount Ledger::used(const std::string& tenant) const {
  auto found = used_.find(tenant);
  return found == used_.end() ? Amount{} : found->second;
}

}  // namespace paddock::manager
