// `paddock apply`: takes the changes of a change set over into its workspace.
#include "store/apply.h"

#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/recorded.h"

namespace paddock::cli {

namespace {

// The exit status when something was left because it was flagged or refused.
constexpr int kSomethingLeft = 1;

// A line for each change, what became of it, and the sums.
std::string describe(const store::ApplyReport& report, bool dry_run) {
  if (report.items.empty()) return "nothing to apply\n";
  Colours colour = colours();
  size_t done = 0, left = 0;
  std::string text;
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
    text += cat(tint, word, colour.off, printable(item.change.path), why, "\n");
  }
  return cat(text, done, dry_run ? " would be applied" : " applied",
             left ? cat(", ", left, " left") : "", "\n");
}

// The same as JSON; `discarded`: the change set is used up and was removed.
Value to_value(const store::ApplyReport& report, bool discarded) {
  Value::Array items;
  for (const store::ApplyItem& item : report.items)
    items.push_back(Value::Object{{"path", item.change.path},
                                  {"kind", to_string(item.change.kind)},
                                  {"result", to_string(item.applied)},
                                  {"why", item.why},
                                  {"flags", text_list(item.change.flags)}});
  return Value::Object{{"items", std::move(items)}, {"discarded", discarded}};
}

// Recorded before it is done, since nothing of it is left afterwards.
Result<int> discard(const std::string& id, bool json) {
  TRY(recorded("apply.discard", Value::Object{{"change_set", id}},
               [&] { return store::discard_change_set(id); }));
  return show(json, to_value({}, true), cat("discarded ", id, "\n"));
}

// A dry run changes nothing, and leaves no record.
Result<store::ApplyReport> apply(const store::ChangeSet& set, const std::string& id,
                                 const std::vector<std::string>& paths,
                                 const store::ApplyOptions& how) {
  if (how.dry_run) return store::apply(set, paths, how);
  Value data = Value::Object{{"change_set", id}};
  if (!paths.empty()) data.set("paths", text_list(paths));
  if (how.accept_flagged) data.set("accept_flagged", true);
  return recorded("apply", std::move(data), [&] { return store::apply(set, paths, how); });
}

}  // namespace

// The change set is removed only when all of it was taken over.
int apply_main(int argc, char** argv) {
  bool throw_away = false;
  store::ApplyOptions how;
  std::string id;
  std::vector<std::string> paths;
  Options options("apply",
                  "Takes over what a run with a copied workspace changed. A change set that is "
                  "used up is removed.");
  options.flag("--accept-flagged", &how.accept_flagged, "also what the host would later execute");
  options.flag("--dry-run", &how.dry_run, "check and say what would happen, but write nothing");
  options.flag("--discard", &throw_away, "throw the change set away instead");
  options.positional("ID", &id, "the change set; paddock diff lists them");
  options.positional("PATH", &paths, "only these, or what is below them; names what is flagged");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    if (throw_away && (!paths.empty() || how.dry_run || how.accept_flagged))
      return Error{Code::invalid, "paddock apply: --discard throws the whole set away",
                   "leave the other arguments out"};
    if (throw_away) return discard(id, json);
    store::ChangeSet set = TRY(store::open_change_set(id));
    store::ApplyReport applied = TRY(apply(set, id, paths, how));
    if (applied.everything) TRY(store::discard_change_set(std::move(set)));
    (void)show(json, to_value(applied, applied.everything), describe(applied, how.dry_run));
    for (const store::ApplyItem& item : applied.items)
      if (item.applied == store::Applied::flagged || item.applied == store::Applied::refused)
        return kSomethingLeft;
    return 0;
  });
}

}  // namespace paddock::cli
