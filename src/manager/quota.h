// What a tenant may have at once, and what is promised to it already. Pure bookkeeping: no clocks,
// no files.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "paddock/error.h"

namespace paddock::manager {

struct Quota {  // of a tenant; 0: no limit of its own
  uint64_t sandboxes = 0, memory_bytes = 0, cpu_millicores = 0, disk_bytes = 0,
           starts_per_minute = 0;
  uint64_t longest_timeout_ms = 86'400'000;
};

// What something costs. A sandbox costs the limits it may reach, not what it uses: a promise must
// be keepable.
struct Amount {
  uint64_t sandboxes = 0, memory_bytes = 0, cpu_millicores = 0, disk_bytes = 0;
};

class Ledger {
 public:
  // The limit is for all tenants together. 0: none.
  explicit Ledger(uint64_t most_sandboxes) : most_sandboxes_(most_sandboxes) {}

  // Holds an amount for as long as it lives.
  class Charge {
   public:
    ~Charge() { change({}); }
    const Amount& amount() const { return amount_; }
    // To less; growing goes through Ledger::grow().
    void change(const Amount& amount);

   private:
    friend class Ledger;
    Charge(Ledger& ledger, std::string tenant) : ledger_(ledger), tenant_(std::move(tenant)) {}
    Ledger& ledger_;
    std::string tenant_;
    Amount amount_;
  };

  // Code::exhausted names what is used up. Nothing happens between the check and the promise.
  Result<std::unique_ptr<Charge>> charge(const std::string& tenant, const Quota& quota,
                                         const Amount& amount);
  Result<void> grow(Charge& charge, const Quota& quota, const Amount& amount);
  // For what exists already.
  std::unique_ptr<Charge> charge_unchecked(const std::string& tenant, const Amount& amount);
  // One more start within the last minute (`now_ms`: any clock that does not go back).
  Result<void> count_start(const std::string& tenant, const Quota& quota, int64_t now_ms);

  Amount used(const std::string& tenant) const;
  uint64_t sandboxes() const { return all_.sandboxes; }

 private:
  Result<void> check(const std::string& tenant, const Quota& quota, const Amount& more) const;
  void add(const std::string& tenant, const Amount& before, const Amount& after);

  uint64_t most_sandboxes_;
  Amount all_;
  std::map<std::string, Amount> used_;
  std::map<std::string, std::deque<int64_t>> starts_;
};

}  // namespace paddock::manager
