#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "launch/living.h"
#include "manager/instance_life.h"
#include "store/durable.h"

namespace paddock::manager {

namespace {

constexpr char kFile[] = "instance.json", kFormat[] = "paddock-instance";

std::vector<std::string> texts(const Value& value, const char* name) {
  std::vector<std::string> found;
  const Value* list = value.find(name);
  if (list && list->as_array())
    for (const Value& item : *list->as_array())
      if (item.as_string()) found.push_back(*item.as_string());
  return found;
}

bool flag(const Value& value, const char* name) {
  const Value* found = value.find(name);
  return found && found->as_bool() && *found->as_bool();
}

}  // namespace

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
  facts.notes = texts(record, "notes");
  facts.cgroups = texts(record, "cgroups");
  if (const Value* by = record.find("freezes_by"); by && by->as_string()) facts.freezes_by = *by->as_string();
  facts.freezer = flag(record, "freezer");
  facts.network = flag(record, "network");
  const Value* limits = record.find("limits");
  for (const LimitInfo& limit : kLimits)
    if (const Value* value = limits ? limits->find(limit.name) : nullptr; value && value->as_int()) facts.limits[limit.kind] = static_cast<uint64_t>(*value->as_int());
  return facts;
}

void InstanceFacts::remove(const std::string& directory) {
  Fd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return;
  (void)::unlinkat(folder.get(), kFile, 0);
  (void)::unlinkat(folder.get(), launch::kKeeperSocket, 0);
}

}  // namespace paddock::manager
