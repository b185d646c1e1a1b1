// paddock approve: what waits for somebody's word, and the word.
#include <unistd.h>

#include "base/event.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/table.h"
#include "record/own_log.h"
#include "store/state.h"
#include "tools/decide/approvals.h"

namespace paddock::cli {

namespace {

using tools::Approval;

Result<std::unique_ptr<tools::Approvals>> open_approvals() {
  return tools::Approvals::open(TRY(store::state_directory()) + "/tools/approvals");
}

void show(const Approval& approval) {
  int64_t now = wall_clock_us() / 1000;
  Colours colour = colours();
  std::string hidden = hidden_words(approval);
  print(
      cat(colour.bold, approval.id, colour.off, "  ", printable(approval.tool), "  for ",
          printable(approval.agent), "  asked ", short_duration(now - approval.asked_ms), " ago, ",
          short_duration(approval.expires_ms - now), " left",
          approval.remember_ms ? cat(", then good for ", short_duration(approval.remember_ms)) : "",
          "\n  ", printable(to_json(approval.arguments)), "\n  ",
          hidden.empty() ? "" : cat(colour.bold, hidden, colour.off, "\n  "), colour.dim, "sha256 ",
          approval.hash, colour.off, "\n"));
}

int list(const tools::Approvals& approvals, bool json) {
  Result<std::vector<Approval>> all = approvals.list();
  if (!all) return report(all.error(), json);
  Value::Array waiting;
  for (const Approval& approval : all.value()) {
    if (approval.state != Approval::State::waiting) continue;
    waiting.push_back(to_value(approval));
    if (!json) show(approval);
  }
  if (json)
    print(to_json(Value::Object{{"waiting", std::move(waiting)}}) + "\n");
  else if (waiting.empty())
    print("nothing waits for approval\n");
  else
    print("\nyes: paddock approve ID      no: paddock approve ID --deny\n");
  return 0;
}

// Recorded before it counts, as other acts of the user's own.
Result<Approval> decide(tools::Approvals& approvals, const std::string& id, bool approve,
                        const std::string& why) {
  Approval approval = TRY(approvals.find(id));
  Event act;
  Value data = Value::Object{{"id", id},
                             {"tool", approval.tool},
                             {"agent", approval.agent},
                             {"hash", approval.hash},
                             {"why", why}};
  TRY(record::record_act(approve ? "approval.approve" : "approval.deny", std::move(data), &act));
  Result<void> decided =
      approvals.decide(id, approve, cat("user ", ::getuid(), " with paddock approve"), why);
  if (!decided) record::note_failure(act, decided.error());
  TRY(std::move(decided));
  approval.state = approve ? Approval::State::approved : Approval::State::denied;
  return approval;
}

}  // namespace

int approve_main(int argc, char** argv) {
  bool json = false, deny = false;
  std::string id, why;
  Options options("approve", "Shows the calls of tools that wait for somebody's word, or says it.");
  options.positional("ID", &id, "the call that is meant (default: list what waits)", false);
  options.flag("--deny", &deny,
               "refuse it, or take back an approval that was not used yet or is remembered");
  options.text("--why", "TEXT", &why, "told to the agent, and recorded");
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  if (id.empty() && (deny || !why.empty()))
    return report({Code::invalid, "--deny and --why need the ID of a call",
                   "see what waits: paddock approve"},
                  json);
  Result<std::unique_ptr<tools::Approvals>> approvals = open_approvals();
  if (!approvals) return report(approvals.error(), json);
  if (id.empty()) return list(*approvals.value(), json);
  Result<Approval> decided = decide(*approvals.value(), id, !deny, why);
  if (!decided) return report(decided.error(), json);
  if (json)
    print(to_json(to_value(decided.value())) + "\n");
  else
    print(cat(deny ? "denied: " : "approved: ", printable(decided.value().tool), " ",
              printable(to_json(decided.value().arguments)), "\n"));
  return 0;
}

}  // namespace paddock::cli
