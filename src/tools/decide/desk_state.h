// The inside of tools/decide/desk.h: what its files share.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "record/event_budget.h"
#include "tools/decide/call_slots.h"
#include "tools/decide/desk.h"
#include "tools/decide/output.h"
#include "tools/decide/webhook.h"

namespace paddock::tools {

// A tool as the desk knows it.
struct DeskTool {
  Provider* provider = nullptr;  // null: the policy lists it, and nobody here has it
  ToolInfo info;                 // as the provider tells it
  ToolInfo shown;                // with what the policy says about it
  // null: a server's, which its entry in [mcp.servers] lists.
  const policy::Tool* rules = nullptr;
  const policy::McpServer* server = nullptr;

  // The provider's own schemas, compiled when they are needed first.
  struct Schemas {
    std::optional<schema::Schema> input;
    std::vector<schema::Schema> outputs;  // and the policy's
    std::string broken;                   // why it cannot be held to them: then it is not called
  };
  const Schemas& schemas() const;

 private:
  mutable std::optional<Schemas> schemas_;
};

// One call on its way through the desk.
struct DeskCall {
  std::string id;                        // also its span
  Cause cause, from;                     // of this call, and what it follows from
  std::shared_ptr<const DeskTool> tool;  // null: there is none of that name
  std::string name;                      // as it was asked for
  Value arguments;
  // That the client brings to what the tool asked for; null: none.
  Value answers;
  std::shared_ptr<const CallerPrincipal> caller;
  std::string agent;
  std::string hash;  // tools/decide/call_hash.h
  bool dry_run = false;
  bool is_too_large = false;  // its arguments were dropped; it is refused
  RuleList redaction;
  int64_t began_us = 0;
  std::optional<Approval> approval;  // that it is made with
  int continued = 0;                 // how often the tool has asked its client under it
};

// A tool that was called with an approval and asked its client for something goes on with the
// client's retry, and with that approval.
struct Continued {
  Approval approval;
  Value state;  // that the retry brings: the tool's own, or null
  int rounds = 0;
  io::Milliseconds until = 0;
};

// The denials of late, of each caller apart.
class DenialMemory {
 public:
  static constexpr size_t kOfEach = 256, kCallers = 64;
  void add(const CallerPrincipal& caller, const std::string& id, Value denial);
  Value find(const CallerPrincipal& caller, const std::string& id) const;

 private:
  struct Memory {
    std::deque<std::pair<std::string, Value>> denials;
    uint64_t used = 0;
  };
  std::map<std::string, Memory> callers_;
  uint64_t turn_ = 0;
};

struct Desk::State {
  State(io::Loop& in, DeskOptions given) : loop(in), options(std::move(given)) {}

  io::Loop& loop;
  DeskOptions options;
  std::optional<policy::Tools> policy;
  std::unique_ptr<Rates> rates;
  std::unique_ptr<Approvals> approvals;
  std::optional<Places> places;
  std::vector<Provider*> providers;
  std::map<std::string, std::shared_ptr<const DeskTool>, std::less<>> tools;
  std::map<std::string, uint64_t> running;  // calls under way, by tool
  uint64_t all_running = 0;
  std::map<std::string, uint64_t> waiting;     // for an approval, by agent
  std::set<std::string> told;                  // approvals that people were told of by this process
  uint64_t webhooks = 0;                       // that are being told
  std::map<std::string, Continued> continued;  // by the call's hash
  DenialMemory denials;
  record::EventBudget budget;  // of denials and questions that are recorded, by agent
  Desk* owner = nullptr;

  // desk.cc
  std::vector<std::string> index();  // names that two providers have
  std::shared_ptr<const DeskTool> find(std::string_view name) const;

  // desk_record.cc
  Event event_of(const DeskCall& call, const char* kind) const;
  io::Task<Result<void>> record(const DeskCall& call);  // that it is made
  void note_asked(std::shared_ptr<State> self, const DeskCall& call, const Approval& approval);
  // And nothing is made.
  void note_verdict(std::shared_ptr<State> self, const DeskCall& call,
                    const policy::Decision& decision);
  struct End {
    // "ok", "error", "timeout", "cancelled", "refused", "input_required", "nobody".
    std::string outcome;
    uint64_t bytes = 0;
    Cut cut;
    redact::Counts redactions;
  };
  void note_end(const DeskCall& call, const End& end);
  // Its agent has had its share of records.
  bool is_counted_only(std::shared_ptr<State> self, const DeskCall& call);
};

// One of the calls that may be made at once. Freed when the tool has really ended, also when nobody
// waits for it any more.
class Place {
 public:
  Place() = default;
  Place(std::shared_ptr<Desk::State> desk, std::string tool, std::vector<Fd> shared);
  Place(Place&& other) noexcept = default;
  Place& operator=(Place&&) = delete;
  ~Place();

 private:
  std::shared_ptr<Desk::State> desk_;
  std::string tool_;
  std::vector<Fd> shared_;  // of all processes
};

// desk_judge.cc: what the policy says, without asking or telling anybody.
policy::Decision judge_name(const Desk::State& desk, const DeskCall& call);  // allowlist
// Schemas and rules.
policy::Decision judge_arguments(const DeskCall& call);
// at_once and rates, of which nothing is taken.
policy::Decision look_for_room(Desk::State& desk, const DeskCall& call);
// Rates, and a place.
policy::Decision take_room(std::shared_ptr<Desk::State> desk, const DeskCall& call,
                           std::optional<Place>& place);
// How often people may be asked is counted, too.
policy::Decision take_question(Desk::State& desk, const DeskCall& call);
// What was judged is what is offered still.
policy::Decision judge_definition(const Desk::State& desk, const DeskCall& call);
// null: nobody has to agree.
const policy::Ask* ask_of(const DeskCall& call);
uint64_t output_bytes_of(const Desk::State& desk, const DeskCall& call);
int64_t timeout_of(const Desk::State& desk, const DeskCall& call);

// desk_approval.cc: until somebody has agreed, or not. Fills in call.approval.
// What the tool asked its client for belongs to the call that was approved: remembered for the one
// retry that brings its state.
void remember_continued(Desk::State& desk, const DeskCall& call, const mcp::Answer& answer);
// The call was not made after all.
void keep_approval(Desk::State& desk, const DeskCall& call, const mcp::Context& context);
io::Task<policy::Decision> get_approval(std::shared_ptr<Desk::State> desk, DeskCall& call,
                                        std::shared_ptr<mcp::Context> context);

// desk_make.cc: the tool's answer, in its time.
struct Made {
  mcp::Answer answer;
  std::string outcome;
};
io::Task<Made> make_call(std::shared_ptr<Desk::State> desk, const DeskCall& call,
                         std::shared_ptr<mcp::Context> context, Place place);
// The tool's answer against what it said it would be.
void check_output(const DeskCall& call, Made& made);

// desk_answer.cc: what the caller is told.
Value denial_value(const DeskCall& call, const policy::Decision& decision);
mcp::Answer denial_answer(const DeskCall& call, const policy::Decision& decision, bool is_unknown);
mcp::Answer rehearsal_answer(const DeskCall& call, const policy::Decision& decision);
bool is_same(const ToolInfo& a, const ToolInfo& b);  // desk.cc
policy::Decision denial(std::string rule, std::string why, std::string hint);
std::string in_words(int64_t milliseconds);  // "12s"

}  // namespace paddock::tools
