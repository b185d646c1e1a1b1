// `paddock diff`: the change sets, or what one of them would change.
#include "store/diff.h"

#include <time.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "cli/table.h"

namespace paddock::cli {

namespace {

// All change sets of this user.
Result<int> list(bool json) {
  Value::Array items;
  std::vector<std::vector<Cell>> rows;
  for (const store::ChangeSetInfo& set : TRY(store::list_change_sets())) {
    items.push_back(Value::Object{{"id", set.id},
                                  {"workspace", set.workspace},
                                  {"started_seconds", set.started_seconds},
                                  {"in_use", set.in_use},
                                  {"problem", set.problem}});
    bool good = set.problem.empty();
    rows.push_back({{set.id},
                    {good ? local_time(set.started_seconds * 1000, Precision::minutes) : ""},
                    {good ? cat(printable(set.workspace), set.in_use ? "  (running)" : "")
                          : cat("damaged: ", set.problem)}});
  }
  if (json) return show(json, Value::Object{{"change_sets", std::move(items)}}, "");
  print_table({{.heading = "ID"}, {.heading = "STARTED"}, {.heading = "WORKSPACE"}}, rows,
              "no change sets\n");
  return 0;
}

// Removes the sets that are older; those of runs that have not ended stay.
Result<int> prune(const std::string& age, bool json) {
  uint64_t milliseconds = TRY(of_flag("--prune", parse_age(age)));
  std::vector<store::ChangeSetInfo> sets = TRY(store::list_change_sets());
  int64_t oldest =
      static_cast<int64_t>(::time(nullptr)) - static_cast<int64_t>(milliseconds / 1000);
  std::vector<std::string> removed;
  for (const store::ChangeSetInfo& set : sets) {
    if (set.in_use || set.started_seconds > oldest) continue;
    TRY(store::discard_change_set(set.id));
    removed.push_back(set.id);
  }
  size_t left = sets.size() - removed.size();
  return show(json,
              Value::Object{{"removed", text_list(removed)}, {"left", static_cast<uint64_t>(left)}},
              cat("removed ", removed.size(), removed.size() == 1 ? " change set" : " change sets",
                  ", ", left, " left\n"));
}

// What changed about a file, in short: "0644 → 0755", "1.2K → 3.4K".
std::string sizes(const store::Change& change) {
  if (change.kind == store::ChangeKind::mode) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%04o → %04o", change.mode_before, change.mode_after);
    return text;
  }
  if (change.type != store::EntryType::file)
    return change.kind == store::ChangeKind::removed ? "" : to_string(change.type);
  if (change.kind == store::ChangeKind::added) return human_size(change.size_after);
  if (change.kind == store::ChangeKind::removed) return human_size(change.size_before);
  return cat(human_size(change.size_before), " → ", human_size(change.size_after));
}

// The path may not be UTF-8; to_json() replaces what is not.
Value to_value(const store::Change& change) {
  return Value::Object{{"path", change.path},
                       {"kind", to_string(change.kind)},
                       {"type", to_string(change.type)},
                       {"size_before", change.size_before},
                       {"size_after", change.size_after},
                       {"mode_before", static_cast<int64_t>(change.mode_before)},
                       {"mode_after", static_cast<int64_t>(change.mode_after)},
                       {"flags", text_list(change.flags)},
                       {"conflict", change.conflict}};
}

// A line for each change, those that need attention with the reason below, and the sums.
void print_changes(const store::ChangeSet& set, const std::vector<store::Change>& changes) {
  Colours colour = colours();
  size_t width = 0, flagged = 0, conflicts = 0;
  for (const store::Change& change : changes)
    width = std::max(width, std::min<size_t>(printable(change.path).size(), 50));
  for (const store::Change& change : changes) {
    const char* tint = change.kind == store::ChangeKind::added     ? colour.green
                       : change.kind == store::ChangeKind::removed ? colour.red
                                                                   : "";
    print(cat(tint, padded(to_string(change.kind), 8), colour.off,
              padded(printable(change.path), width), "  ", colour.dim, sizes(change), colour.off,
              "\n"));
    if (!change.conflict.empty())
      print(cat("        ", colour.red, "cannot be applied: ", colour.off, change.conflict, "\n"));
    else
      for (const std::string& flag : change.flags)
        print(cat("        ", colour.yellow, "flagged: ", colour.off, flag, "\n"));
    if (!change.conflict.empty())
      ++conflicts;
    else if (!change.flags.empty())
      ++flagged;
  }
  if (changes.empty()) return print("no changes\n");
  print(cat(changes.size(), changes.size() == 1 ? " change" : " changes",
            flagged ? cat(", ", flagged, " flagged") : "",
            conflicts ? cat(", ", conflicts, " that cannot be applied") : "",
            "; take over with: paddock apply ", set.id, "\n"));
}

// The changes that lie at or below one of `paths`; all of them without paths.
Result<std::vector<store::Change>> selected(const store::ChangeSet& set,
                                            std::vector<std::string> paths) {
  for (std::string& path : paths) {
    while (starts_with(path, "./")) path.erase(0, 2);
    while (ends_with(path, "/")) path.pop_back();
  }
  std::vector<store::Change> changes = TRY(store::diff(set));
  std::erase_if(changes, [&](const store::Change& change) {
    return !store::is_selected(change.path, paths);
  });
  return changes;
}

// The text of changes is only made on request: it may be long.
Result<int> show_changes(const std::string& id, const std::vector<std::string>& paths, bool text,
                         bool json) {
  store::ChangeSet set = TRY(store::open_change_set(id));
  std::vector<store::Change> changes = TRY(selected(set, paths));
  if (!text && !json) {
    print_changes(set, changes);
    return 0;
  }
  Value::Array items;
  for (const store::Change& change : changes) {
    Value item = to_value(change);
    if (text && change.type != store::EntryType::directory) {
      std::string lines = TRY(store::text_diff(set, change));
      if (!json) print(lines);
      item.set("text", lines);
    }
    items.push_back(std::move(item));
  }
  if (json)
    print_json(
        Value::Object{{"id", id}, {"workspace", set.workspace}, {"changes", std::move(items)}});
  return 0;
}

}  // namespace

int diff_main(int argc, char** argv) {
  bool text = false;
  std::string id, age;
  std::vector<std::string> paths;
  Options options(
      "diff",
      "Shows what a run with a copied workspace changed. Without ID: lists the change sets.");
  options.flag("--text", &text, "show the changed lines");
  options.text("--prune", "AGE", &age,
               "throw away all change sets that are older than this, as in 30d or 12h");
  options.positional("ID", &id, "the change set", false);
  options.positional("PATH", &paths, "only these, or what is below them");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    if (!age.empty() && !id.empty())
      return Error{Code::invalid, "diff: --prune takes no ID",
                   "throw one away with: paddock apply ID --discard"};
    if (!age.empty()) return prune(age, json);
    return id.empty() ? list(json) : show_changes(id, paths, text, json);
  });
}

}  // namespace paddock::cli
