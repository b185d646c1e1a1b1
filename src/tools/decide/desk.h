// The one place that every tool call passes, whichever way it came (MCP, REST, command line,
// library) and whichever provider has the tool: allowlist → schemas → rules → room (rates, at_once)
// → approval → record → call → redaction → limits of the output → record. call.cc reads like that.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/tools/tool.h"
#include "record/event_budget.h"
#include "record/events.h"
#include "tools/decide/approvals.h"
#include "tools/decide/call_slots.h"
#include "tools/decide/denial.h"
#include "tools/decide/desk_call.h"
#include "tools/decide/rates.h"
#include "tools/decide/webhook.h"
#include "tools/provider.h"

namespace paddock::tools {

struct DeskOptions {
  Policy policy;  // combined
  // Its tools/ holds rates, approvals and pins, shared by all Paddock processes of this user.
  std::string state_directory;
  // Where calls are recorded. Null: nowhere, for tests.
  record::Events* events = nullptr;
};

// The outcome of a call, and the reason.
struct Called {
  policy::Decision decision;
  // For a denial: an error result that tells the model which rule, why, and what to do.
  mcp::Answer answer;
  // The id of the call, for explain_denial and the records.
  std::string id;
  // The call was judged, but not made.
  bool dry_run = false;
};

class Desk : public std::enable_shared_from_this<Desk> {
 public:
  static Result<std::shared_ptr<Desk>> open(io::Loop& loop, DeskOptions options);
  // From now on nobody is told of changes. Calls that are under way keep the desk alive.
  void close();

  // The provider lives as long as calls are under way. Two providers with a tool of one name:
  // Code::conflict, and the second one's is not offered.
  Result<void> add(Provider& provider);
  // What the policy allows, by name; with the policy's schema where it has one.
  std::vector<ToolInfo> list() const;
  const ToolInfo* find(std::string_view name) const;

  struct Request {
    std::string tool;
    // Null stands for an empty object.
    Value arguments;
    std::shared_ptr<const CallerPrincipal> caller;
    // Judge only: takes nothing from rates, asks nobody, leaves a record.
    bool dry_run = false;
  };
  io::Task<Called> call(Request request, std::shared_ptr<mcp::Context> context);

  // What servers behind the gateway have besides tools (prompts/get, resources/read,
  // completion/complete): counted against [calls] and recorded like a call, with the method as its
  // tool; then served.
  using Serve = std::function<io::Task<mcp::Answer>(std::shared_ptr<mcp::Context>)>;
  io::Task<mcp::Answer> pass(std::shared_ptr<mcp::Context> context, Serve serve);

  // Why a recent call of the caller's own was denied, as explain_denial tells it. Null: not known.
  Value explain(const CallerPrincipal& caller, const std::string& id) const {
    return denials_.find(caller, id);
  }

  Approvals& approvals() { return *approvals_; }
  const policy::Tools& tools() const { return *policy_; }
  // Called when list() may have changed.
  std::function<void()> on_tools_changed;

 private:
  friend class CallSlot;
  using Decision = policy::Decision;

  Desk(io::Loop& loop, DeskOptions options) : loop_(loop), options_(std::move(options)) {}

  // desk.cc
  std::vector<std::string> index();  // the names that two providers have
  std::shared_ptr<const DeskTool> known(std::string_view name) const;

  // call.cc
  DeskCall begin(Request request, const mcp::Context& context) const;
  Called refuse(const DeskCall& call, Decision decision);
  Called rehearse(const DeskCall& call);
  CallEnd finish(const DeskCall& call, Made& made) const;

  // judge.cc: what the policy says, without asking or telling anybody.
  Decision judge_name(const DeskCall& call) const;  // allowlist
  // What was judged is still what is offered.
  Decision judge_definition(const DeskCall& call) const;
  // at_once and rates, of which nothing is taken.
  Decision look_for_room(const DeskCall& call);
  // Takes from the rates, and a slot.
  Decision take_room(const DeskCall& call, std::optional<CallSlot>& slot);
  // Counts against how often people may be asked.
  Decision take_question(const DeskCall& call);
  Decision judge_slots(const DeskCall& call, std::vector<Fd>& held) const;
  std::vector<Rates::Want> wants_of(const DeskCall& call) const;
  uint64_t output_bytes_of(const DeskCall& call) const;
  int64_t timeout_of(const DeskCall& call) const;

  // get_approval.cc: until somebody has agreed, or not. Fills in call.approval.
  io::Task<Decision> get_approval(DeskCall& call, std::shared_ptr<mcp::Context> context);
  io::Task<Decision> wait_for_approval(DeskCall& call, std::shared_ptr<mcp::Context> context);
  io::Task<Result<Approval>> wait_for_decision(const DeskCall& call, Approval asked,
                                               std::shared_ptr<mcp::Context> context);
  void tell_people(const DeskCall& call, std::shared_ptr<mcp::Context> context,
                   const Approval& approval, std::shared_ptr<WebhookStop> stop);
  io::Task<void> ask_user(std::shared_ptr<mcp::Context> context, Approval approval);
  io::Task<void> ask_webhook(std::shared_ptr<mcp::Context> context, policy::Ask ask,
                             Approval approval, std::shared_ptr<WebhookStop> stop);
  // What the tool asked its client for belongs to the call that was approved: the approval is
  // remembered for the one retry that brings the tool's state.
  void remember_continued(const DeskCall& call, const mcp::Answer& answer);
  void remember(const DeskCall& call, const Value& state, int rounds);
  std::optional<Approval> take_continued(DeskCall& call, const mcp::Context& context);
  // The call was not made after all.
  void keep_approval(const DeskCall& call, const mcp::Context& context);

  // make_call.cc: the tool's answer, in its time.
  io::Task<Made> make_call(const DeskCall& call, std::shared_ptr<mcp::Context> context,
                           CallSlot slot);

  // record.cc
  io::Task<Result<void>> record(const DeskCall& call);  // the call is about to be made
  void note_asked(const DeskCall& call, const Approval& approval);
  void note_verdict(const DeskCall& call, const Decision& decision);  // and nothing is made
  void note_end(const DeskCall& call, const CallEnd& end);
  // Its agent has used up its share of records: the event is counted instead.
  bool is_counted_only(const DeskCall& call);
  io::Task<void> note_dropped(std::string agent);

  io::Loop& loop_;
  DeskOptions options_;
  std::optional<policy::Tools> policy_;
  std::unique_ptr<Rates> rates_;
  std::unique_ptr<Approvals> approvals_;
  std::optional<CallSlots> slots_;
  std::vector<Provider*> providers_;
  std::map<std::string, std::shared_ptr<const DeskTool>, std::less<>> tools_;
  bool closed_ = false;

  // Calls under way, by tool.
  std::map<std::string, uint64_t> running_;
  uint64_t all_running_ = 0;
  // Calls that wait for an approval, by agent.
  std::map<std::string, uint64_t> waiting_;
  // Approvals that this process has told people of.
  std::set<std::string> asked_about_;
  // Webhooks that are being told.
  uint64_t webhooks_ = 0;
  // By the hash of the call.
  std::map<std::string, Continued> continued_;
  DenialMemory denials_;
  // For denials and questions that are recorded, by agent.
  record::EventBudget budget_;
};

}  // namespace paddock::tools
