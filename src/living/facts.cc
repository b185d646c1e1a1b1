// The two files in a sandbox's directory that outlive its server: instance.json and end.json.
#include <fcntl.h>
#include <unistd.h>

#include "base/record.h"
#include "base/text.h"
#include "launch/living.h"
#include "living/life.h"
#include "run/result.h"
#include "store/durable.h"

namespace paddock {

// Limits by name: {"memory":268435456,…}. Names of other versions are ignored.
static Value to_field(const std::map<LimitKind, uint64_t>& limits) {
  Value value{Value::Object{}};
  for (const auto& [kind, limit] : limits) value.set(info(kind).name, limit);
  return value;
}
static bool from_field(const Value& value, std::map<LimitKind, uint64_t>& into) {
  for (const LimitInfo& limit : kLimits)
    if (value.find(limit.name)) into[limit.kind] = count_in(value, limit.name);
  return true;
}

}  // namespace paddock

namespace paddock::living {

namespace {

constexpr char kFactsFile[] = "instance.json", kFactsFormat[] = "paddock-instance";

constexpr auto kFactsFields =
    std::make_tuple(field("enforced", &InstanceFacts::enforced, Presence::optional),
                    field("notes", &InstanceFacts::notes, Presence::optional),
                    field("cgroups", &InstanceFacts::cgroups, Presence::optional),
                    field("freezes_by", &InstanceFacts::freezes_by, Presence::optional),
                    field("freezer", &InstanceFacts::freezer, Presence::optional),
                    field("network", &InstanceFacts::network, Presence::optional),
                    field("limits", &InstanceFacts::limits, Presence::optional));

// What a keeper leaves at its end (launch/living.cc writes it).
constexpr auto kEndFields =
    std::make_tuple(field("time_ms", &EndRecord::time_ms, Presence::optional),
                    field("keep_files", &EndRecord::keep_files, Presence::optional),
                    field("because", &EndRecord::because, Presence::optional),
                    field("limit", &EndRecord::limit, Presence::optional));
constexpr auto kEndUsageFields =
    std::make_tuple(field("memory_peak", &launch::LivingUsage::memory_peak, Presence::optional),
                    field("disk_bytes", &launch::LivingUsage::disk, Presence::optional),
                    field("cpu_us", &launch::LivingUsage::cpu_us, Presence::optional),
                    field("oom_kills", &launch::LivingUsage::oom_kills, Presence::optional));

}  // namespace

Result<void> InstanceFacts::save(const std::string& directory) const {
  Value record = Value::Object{{"format", kFactsFormat}, {"version", 1}};
  write_fields(kFactsFields, *this, record);
  Fd folder = TRY(open_file(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return store::write_record(folder.get(), kFactsFile, record, store::Durability::atomic);
}

Result<InstanceFacts> InstanceFacts::load(const std::string& directory) {
  Fd folder = TRY(open_file(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  Value record = TRY(store::read_record(folder.get(), kFactsFile, kFactsFormat));
  InstanceFacts facts;
  TRY(read_record(kFactsFields, record, facts, kFactsFile));
  return facts;
}

std::optional<EndRecord> read_end_record(const std::string& directory) {
  Result<Fd> folder = open_file(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!folder) return std::nullopt;
  Result<Value> record =
      store::read_record(folder.value().get(), launch::kEndFile, launch::kEndFormat);
  if (!record) return std::nullopt;
  EndRecord ending;
  // A number that was never measured does not fit. The rest counts all the same.
  (void)read_record(kEndFields, record.value(), ending, launch::kEndFile);
  (void)read_record(kEndUsageFields, record.value(), ending.usage, launch::kEndFile);
  ending.end = {.limit = ending.limit, .why = ending.because};
  if (ending.limit && ending.limit->rule.empty()) ending.end.why = why_of(*ending.limit);
  return ending;
}

void InstanceFacts::remove(const std::string& directory) {
  Fd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return;
  (void)::unlinkat(folder.get(), kFactsFile, 0);
  (void)::unlinkat(folder.get(), launch::kKeeperSocket, 0);
}

}  // namespace paddock::living
