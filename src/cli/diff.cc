// `paddock diff`: the change sets, or what one of them would change.
#include "store/diff.h"

#include <time.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/options.h"

namespace paddock::cli {

namespace {

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string local_time(int64_t seconds) {
  time_t when = seconds;
  tm parts{};
  char text[32] = "";
  if (::localtime_r(&when, &parts)) (void)::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

int list(bool json) {
  Result<std::vector<store::ChangeSetInfo>> sets = store::list_change_sets();
  if (!sets) return report(sets.error(), json);
  if (json) {
    Value::Array items;
    for (const store::ChangeSetInfo& set : sets.value()) {
      Value item;
      item.set("id", set.id);
      item.set("workspace", set.workspace);
      item.set("started_seconds", set.started_seconds);
      item.set("in_use", set.in_use);
      item.set("problem", set.problem);
      items.push_back(std::move(item));
    }
    Value all;
    all.set("change_sets", std::move(items));
    print(to_json(all) + "\n");
    return 0;
  }
  if (sets.value().empty()) print("no change sets\n");
  for (const store::ChangeSetInfo& set : sets.value()) {
    std::string what = set.problem.empty()
                           ? cat(printable(set.workspace), set.in_use ? "  (running)" : "")
                           : cat("damaged: ", set.problem);
    print(cat(set.id, "  ",
              set.problem.empty() ? local_time(set.started_seconds) : std::string(16, ' '), "  ",
              what, "\n"));
  }
  return 0;
}

// Removes the sets that are older; those of runs that have not ended stay.
int prune(const std::string& age, bool json) {
  Result<uint64_t> milliseconds = parse_age(age);
  if (!milliseconds)
    return report(
        {Code::invalid, cat("--prune: ", milliseconds.error().message), milliseconds.error().hint},
        json);
  Result<std::vector<store::ChangeSetInfo>> sets = store::list_change_sets();
  if (!sets) return report(sets.error(), json);
  int64_t oldest =
      static_cast<int64_t>(::time(nullptr)) - static_cast<int64_t>(milliseconds.value() / 1000);
  std::vector<std::string> removed;
  for (const store::ChangeSetInfo& set : sets.value()) {
    if (set.in_use || set.started_seconds > oldest) continue;
    Result<void> discarded = store::discard_change_set(set.id);
    if (!discarded) return report(discarded.error(), json);
    removed.push_back(set.id);
  }
  size_t left = sets.value().size() - removed.size();
  if (json)
    print(to_json(Value(Value::Object{{"removed", text_list(removed)},
                                      {"left", static_cast<uint64_t>(left)}})) +
          "\n");
  else
    print(cat("removed ", removed.size(), removed.size() == 1 ? " change set" : " change sets",
              ", ", left, " left\n"));
  return 0;
}

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

Value to_value(const store::Change& change) {
  Value::Array flags;
  for (const std::string& flag : change.flags) flags.emplace_back(flag);
  Value item;
  item.set("path", change.path);
  item.set("kind", to_string(change.kind));
  item.set("type", to_string(change.type));
  item.set("size_before", change.size_before);
  item.set("size_after", change.size_after);
  item.set("mode_before", static_cast<int64_t>(change.mode_before));
  item.set("mode_after", static_cast<int64_t>(change.mode_after));
  item.set("flags", std::move(flags));
  item.set("conflict", change.conflict);
  return item;
}

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

}  // namespace

int diff_main(int argc, char** argv) {
  bool json = false, text = false;
  std::string id, age;
  std::vector<std::string> paths;
  Options options(
      "diff",
      "Shows what a run with a copied workspace changed. Without ID: lists the change sets.");
  options.flag("--text", &text, "show the changed lines");
  options.flag("--json", &json, "print one JSON object");
  options.text("--prune", "AGE", &age,
               "throw away all change sets that are older than this, as in 30d or 12h");
  options.positional("ID", &id, "the change set", false);
  options.positional("PATH", &paths, "only these, or what is below them");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  if (!age.empty() && !id.empty())
    return report({Code::invalid, "diff: --prune takes no ID",
                   "throw one away with: paddock apply ID --discard"},
                  json);
  if (!age.empty()) return prune(age, json);
  if (id.empty()) return list(json);

  Result<store::ChangeSet> set = store::open_change_set(id);
  if (!set) return report(set.error(), json);
  Result<std::vector<store::Change>> changes = store::diff(set.value());
  if (!changes) return report(changes.error(), json);
  for (std::string& path : paths) {
    while (starts_with(path, "./")) path.erase(0, 2);
    while (ends_with(path, "/")) path.pop_back();
  }
  std::erase_if(changes.value(), [&](const store::Change& change) {
    return !store::is_selected(change.path, paths);
  });

  Value::Array items;
  for (const store::Change& change : changes.value()) {
    if (!text && !json) break;
    Value item = to_value(change);
    if (text && change.type != store::EntryType::directory) {
      Result<std::string> lines = store::text_diff(set.value(), change);
      if (!lines) return report(lines.error(), json);
      if (json)
        item.set("text", lines.value());
      else
        print(lines.value());
    }
    items.push_back(std::move(item));
  }
  if (json) {
    Value all;
    all.set("id", id);
    all.set("workspace", set.value().workspace);
    all.set("changes", std::move(items));
    print(to_json(all) + "\n");
  } else if (!text) {
    print_changes(set.value(), changes.value());
  }
  return 0;
}

}  // namespace paddock::cli
