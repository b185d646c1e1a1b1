#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "launch/living.h"
#include "living/life.h"
#include "store/durable.h"

namespace paddock::living {

namespace {

constexpr char kFile[] = "instance.json", kFormat[] = "paddock-instance";

}  // namespace

std::optional<LimitHit> limit_from(const Value& value) {
  std::string name = text_in(value, "limit");
  for (const LimitInfo& limit : kLimits) {
    if (name != limit.name) continue;
    LimitHit hit{
        .limit = limit.kind, .value = count_in(value, "value"), .peak = count_in(value, "peak")};
    hit.rule = text_in(value, "rule");
    hit.text = text_in(value, "text");
    hit.exact_value = static_cast<double>(hit.value);
    hit.exact_peak = static_cast<double>(hit.peak);
    return hit;
  }
  return std::nullopt;
}

Result<void> InstanceFacts::save(const std::string& directory) const {
  Value record, held{Value::Object{}};
  record.set("format", kFormat);
  record.set("version", 1);
  record.set("enforced", enforced);
  record.set("notes", text_list(notes));
  record.set("cgroups", text_list(cgroups));
  record.set("freezes_by", freezes_by);
  record.set("freezer", freezer);
  record.set("network", network);
  for (const auto& [kind, value] : limits) held.set(info(kind).name, value);
  record.set("limits", std::move(held));
  Fd folder = TRY(open_file(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return store::write_record(folder.get(), kFile, record, store::Durability::atomic);
}

Result<InstanceFacts> InstanceFacts::load(const std::string& directory) {
  Fd folder = TRY(open_file(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  Value record = TRY(store::read_record(folder.get(), kFile, kFormat));
  InstanceFacts facts;
  if (const Value* enforced = record.find("enforced")) facts.enforced = *enforced;
  facts.notes = texts_in(record, "notes");
  facts.cgroups = texts_in(record, "cgroups");
  if (const Value* by = record.find("freezes_by"); by && by->as_string())
    facts.freezes_by = *by->as_string();
  facts.freezer = flag_in(record, "freezer");
  facts.network = flag_in(record, "network");
  const Value* limits = record.find("limits");
  for (const LimitInfo& limit : kLimits)
    if (const Value* value = limits ? limits->find(limit.name) : nullptr; value && value->as_int())
      facts.limits[limit.kind] = static_cast<uint64_t>(*value->as_int());
  return facts;
}

std::optional<EndRecord> read_end_record(const std::string& directory) {
  Result<Fd> folder = open_file(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!folder) return std::nullopt;
  Result<Value> record =
      store::read_record(folder.value().get(), launch::kEndFile, launch::kEndFormat);
  if (!record) return std::nullopt;
  const Value& value = record.value();
  EndRecord ending;
  ending.time_ms = static_cast<int64_t>(count_in(value, "time_ms"));
  ending.keep_files = flag_in(value, "keep_files");
  ending.end.why = text_in(value, "because");
  if (const Value* limit = value.find("limit")) ending.end.limit = limit_from(*limit);
  if (ending.end.limit && ending.end.limit->rule.empty())
    ending.end.why = why_of(*ending.end.limit);
  ending.usage.memory_peak = count_in(value, "memory_peak");
  ending.usage.disk = count_in(value, "disk_bytes");
  ending.usage.cpu_us = count_in(value, "cpu_us");
  ending.usage.oom_kills = count_in(value, "oom_kills");
  return ending;
}

void InstanceFacts::remove(const std::string& directory) {
  Fd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return;
  (void)::unlinkat(folder.get(), kFile, 0);
  (void)::unlinkat(folder.get(), launch::kKeeperSocket, 0);
}

}  // namespace paddock::living
