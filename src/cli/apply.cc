// `paddock apply`: takes the changes of a change set over into its workspace.
#include "store/apply.h"

#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "record/own_log.h"

namespace paddock::cli {

namespace {

constexpr int kSomethingLeft = 1;

void print_report(const store::ApplyReport& report, bool dry_run) {
  Colours colour = colours();
  size_t done = 0, left = 0;
  for (const store::ApplyItem& item : report.items) {
    bool taken = item.applied == store::Applied::done || item.applied == store::Applied::already;
    ++(taken ? done : left);
    const char* tint = taken                                     ? colour.green
                       : item.applied == store::Applied::flagged ? colour.yellow
                                                                 : colour.red;
    std::string word =
        dry_run && item.applied == store::Applied::done ? "would" : to_string(item.applied);
    word.append(9 - std::min<size_t>(word.size(), 8), ' ');
    std::string why =
        item.why.empty() ? "" : cat("  ", colour.dim, printable(item.why), colour.off);
    print(cat(tint, word, colour.off, printable(item.change.path), why, "\n"));
  }
  if (report.items.empty()) return print("nothing to apply\n");
  print(cat(done, dry_run ? " would be applied" : " applied", left ? cat(", ", left, " left") : "",
            "\n"));
}

void print_json(const store::ApplyReport& report, bool removed) {
  Value::Array items;
  for (const store::ApplyItem& item : report.items) {
    Value::Array flags;
    for (const std::string& flag : item.change.flags) flags.emplace_back(flag);
    Value value;
    value.set("path", item.change.path);
    value.set("kind", to_string(item.change.kind));
    value.set("result", to_string(item.applied));
    value.set("why", item.why);
    value.set("flags", std::move(flags));
    items.push_back(std::move(value));
  }
  Value all;
  all.set("items", std::move(items));
  all.set("discarded", removed);
  print(to_json(all) + "\n");
}

struct Act {
  const char* name;
  std::string change_set;
  std::vector<std::string> paths{};
  bool accept_flagged = false;
};

Result<void> record(const Act& act, Event& recorded) {
  Value data;
  data.set("change_set", act.change_set);
  if (!act.paths.empty()) data.set("paths", text_list(act.paths));
  if (act.accept_flagged) data.set("accept_flagged", true);
  return record::record_act(act.name, std::move(data), &recorded);
}

int discard(const std::string& id, bool json) {
  Event act;
  Result<void> recorded = record({.name = "apply.discard", .change_set = id}, act);
  if (!recorded) return report(recorded.error(), json);
  Result<void> discarded = store::discard_change_set(id);
  if (!discarded) record::note_failure(act, discarded.error());
  if (!discarded) return report(discarded.error(), json);
  if (json)
    print_json({}, true);
  else
    print(cat("discarded ", id, "\n"));
  return 0;
}

}  // namespace

int apply_main(int argc, char** argv) {
  bool json = false, throw_away = false;
  store::ApplyOptions apply_options;
  std::string id;
  std::vector<std::string> paths;
  Options options("apply",
                  "Takes over what a run with a copied workspace changed. A change set that is "
                  "used up is removed.");
  options.flag("--accept-flagged", &apply_options.accept_flagged,
               "also what the host would later execute");
  options.flag("--dry-run", &apply_options.dry_run,
               "check and say what would happen, but write nothing");
  options.flag("--discard", &throw_away, "throw the change set away instead");
  options.flag("--json", &json, "print one JSON object");
  options.positional("ID", &id, "the change set; paddock diff lists them");
  options.positional("PATH", &paths, "only these, or what is below them; names what is flagged");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;

  if (throw_away && (!paths.empty() || apply_options.dry_run || apply_options.accept_flagged))
    return report(Error{Code::invalid, "paddock apply: --discard throws the whole set away",
                        "leave the other arguments out"},
                  json);
  if (throw_away) return discard(id, json);

  Result<store::ChangeSet> set = store::open_change_set(id);
  if (!set) return report(set.error(), json);
  Event act;
  Result<void> recorded;
  if (!apply_options.dry_run)
    recorded = record({.name = "apply",
                       .change_set = id,
                       .paths = paths,
                       .accept_flagged = apply_options.accept_flagged},
                      act);
  if (!recorded) return report(recorded.error(), json);
  Result<store::ApplyReport> applied = store::apply(set.value(), paths, apply_options);
  if (!applied && !apply_options.dry_run) record::note_failure(act, applied.error());
  if (!applied) return report(applied.error(), json);
  bool everything = applied.value().everything;
  if (everything) {
    Result<void> removed = store::discard_change_set(std::move(set).value());
    if (!removed) return report(removed.error(), json);
  }
  if (json)
    print_json(applied.value(), everything);
  else
    print_report(applied.value(), apply_options.dry_run);
  for (const store::ApplyItem& item : applied.value().items)
    if (item.applied == store::Applied::flagged || item.applied == store::Applied::refused)
      return kSomethingLeft;
  return 0;
}

}  // namespace paddock::cli
