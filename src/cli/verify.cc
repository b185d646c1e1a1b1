// paddock verify: tries, in a sandbox made from a policy, everything that the policy forbids.
#include "cli/run.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/table.h"
#include "doctor/verify.h"
#include "policy/load.h"
#include "store/load_context.h"

namespace paddock::cli {

namespace {

using doctor::Probe;
using doctor::Verification;

struct Flags {
  std::vector<std::string> policies;
  std::string wall;
};

// What was not tried is dim: it is neither good nor bad.
const char* colour_of(Probe::State state, const Colours& colours) {
  switch (state) {
    case Probe::State::held: return colours.green;
    case Probe::State::failed: return colours.red;
    default: return colours.dim;
  }
}

std::string counts(const Verification& found) {
  return cat(found.count(Probe::State::held), " held, ", found.count(Probe::State::failed),
             " failed, ", found.count(Probe::State::not_applicable), " not applicable, ",
             found.count(Probe::State::not_claimed), " not claimed");
}

// A line for each probe, by group, and the sums.
std::string table(const Verification& found) {
  Colours colours = cli::colours();
  size_t width = 0;
  for (const Probe& probe : found.probes)
    width = std::max(width, std::min<size_t>(probe.name.size(), 48));
  std::string text, group;
  for (const Probe& probe : found.probes) {
    if (probe.group != group)
      text += cat(text.empty() ? "" : "\n", colours.bold, probe.group, colours.off, "\n");
    group = probe.group;
    std::string state = probe.state == Probe::State::failed ? "FAILED" : to_string(probe.state);
    text += cat("  ", padded(printable(probe.name), width), "  ", colour_of(probe.state, colours),
                padded(state, 14), colours.off, "  ", colours.dim, printable(probe.detail),
                colours.off, "\n");
  }
  bool failed = found.count(Probe::State::failed) > 0;
  return cat(text, "\n", failed ? colours.red : colours.green, "wall ", to_string(found.wall), ": ",
             counts(found), colours.off, "\n");
}

Value to_value(const Verification& found) {
  Value::Array probes;
  for (const Probe& probe : found.probes)
    probes.push_back(Value::Object{{"group", probe.group},
                                   {"probe", probe.name},
                                   {"state", to_string(probe.state)},
                                   {"detail", probe.detail}});
  auto count = [&](Probe::State state) { return static_cast<uint64_t>(found.count(state)); };
  return Value::Object{{"ok", count(Probe::State::failed) == 0},
                       {"wall", to_string(found.wall)},
                       {"held", count(Probe::State::held)},
                       {"failed", count(Probe::State::failed)},
                       {"not_applicable", count(Probe::State::not_applicable)},
                       {"not_claimed", count(Probe::State::not_claimed)},
                       {"probes", std::move(probes)}};
}

// Verifies the policies together as they would hold for a run.
Result<int> verify(const Flags& flags, const EditPrepared& edit, bool json) {
  Policy call;
  call.name = "the command line";
  if (!flags.wall.empty()) {
    call.wall = wall_from_string(flags.wall);
    if (!call.wall)
      return Error{Code::invalid, cat("--wall: there is no wall '", printable(flags.wall), "'"),
                   "process, container, runc, crun or gvisor; see: paddock doctor"};
  }
  doctor::VerifyInput input{
      .policy = TRY(policy::load(flags.policies, call, store::load_context())).policy,
      .edit = edit};
  if (input.policy.env.pass)
    for (const std::string& name : *input.policy.env.pass)
      if (const char* value = std::getenv(name.c_str())) input.env.emplace(name, value);
  Verification found = TRY(doctor::verify(input));
  print(json ? to_json(to_value(found)) + "\n" : table(found));
  return found.count(Probe::State::failed) == 0 ? 0 : 1;
}

}  // namespace

int verify_main(int argc, char** argv) { return verify_edited(argc, argv, nullptr); }

// `edit` lets tests weaken the sandbox on purpose, to see that the probes notice.
int verify_edited(int argc, char** argv, const EditPrepared& edit) {
  Flags flags;
  Options options("verify",
                  "Tries, in a sandbox, everything that a policy forbids. Exits with 1 if anything "
                  "of it works.");
  options.list("--policy", "FILE|PRESET", &flags.policies,
               "what is to be verified; several are combined, each can only narrow");
  options.text(
      "--wall", "WALL", &flags.wall,
      "process, container, runc, crun, gvisor or auto (default: the policy's, else container)");
  return options.run(argc, argv, [&](bool json) {
    close_stdin();
    return verify(flags, edit, json);
  });
}

}  // namespace paddock::cli
