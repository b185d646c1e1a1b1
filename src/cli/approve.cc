// paddock approve: the calls of tools that wait for a decision, and the decision.
#include <unistd.h>

#include "base/event.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/recorded.h"
#include "cli/table.h"
#include "store/state.h"
#include "tools/decide/approvals.h"

namespace paddock::cli {

namespace {

using tools::Approval;

// The same directory that the desk of every process uses.
Result<std::unique_ptr<tools::Approvals>> open_approvals() {
  return tools::Approvals::open(TRY(store::state_directory()) + "/tools/approvals");
}

// What is asked for, by whom, and how long there is to decide. Arguments are shown whole: what is
// approved must be what was seen.
std::string describe(const Approval& approval) {
  int64_t now = wall_clock_us() / 1000;
  Colours colour = colours();
  std::string hidden = hidden_words(approval);
  return cat(
      colour.bold, approval.id, colour.off, "  ", printable(approval.tool), "  for ",
      printable(approval.agent), "  asked ", short_duration(now - approval.asked_ms), " ago, ",
      short_duration(approval.expires_ms - now), " left",
      approval.remember_ms ? cat(", then good for ", short_duration(approval.remember_ms)) : "",
      "\n  ", printable(to_json(approval.arguments)), "\n  ",
      hidden.empty() ? "" : cat(colour.bold, hidden, colour.off, "\n  "), colour.dim, "sha256 ",
      approval.hash, colour.off, "\n");
}

// The calls that wait now.
Result<int> list(const tools::Approvals& approvals, bool json) {
  Value::Array waiting;
  std::string text;
  for (const Approval& approval : TRY(approvals.list())) {
    if (approval.state != Approval::State::waiting) continue;
    waiting.push_back(to_value(approval));
    text += describe(approval);
  }
  text += waiting.empty() ? "nothing waits for approval\n"
                          : "\nyes: paddock approve ID      no: paddock approve ID --deny\n";
  return show(json, Value::Object{{"waiting", std::move(waiting)}}, text);
}

// The decision is recorded before it takes effect, with the user who made it.
Result<Approval> decide(tools::Approvals& approvals, const std::string& id, bool approve,
                        const std::string& why) {
  Approval approval = TRY(approvals.find(id));
  Value data = Value::Object{{"id", id},
                             {"tool", approval.tool},
                             {"agent", approval.agent},
                             {"hash", approval.hash},
                             {"why", why}};
  std::string who = cat("user ", ::getuid(), " with paddock approve");
  TRY(recorded(approve ? "approval.approve" : "approval.deny", std::move(data),
               [&] { return approvals.decide(id, approve, who, why); }));
  approval.state = approve ? Approval::State::approved : Approval::State::denied;
  return approval;
}

}  // namespace

int approve_main(int argc, char** argv) {
  bool deny = false;
  std::string id, why;
  Options options("approve",
                  "Shows the calls of tools that wait for somebody's decision, or decides.");
  options.positional("ID", &id, "the call that is meant (default: list what waits)", false);
  options.flag("--deny", &deny,
               "refuse it, or take back an approval that was not used yet or is remembered");
  options.text("--why", "TEXT", &why, "told to the agent, and recorded");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    if (id.empty() && (deny || !why.empty()))
      return Error{Code::invalid, "--deny and --why need the ID of a call",
                   "see what waits: paddock approve"};
    std::unique_ptr<tools::Approvals> approvals = TRY(open_approvals());
    if (id.empty()) return list(*approvals, json);
    Approval decided = TRY(decide(*approvals, id, !deny, why));
    return show(json, to_value(decided),
                cat(deny ? "denied: " : "approved: ", printable(decided.tool), " ",
                    printable(to_json(decided.arguments)), "\n"));
  });
}

}  // namespace paddock::cli
