// paddock verify: tries, in a sandbox made from a policy, everything that the policy forbids.
#include "cli/verify.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "doctor/verify.h"
#include "policy/load.h"
#include "store/load_context.h"
#include "store/state.h"

namespace paddock::cli {

namespace {

using doctor::Probe;
using doctor::Verification;

struct Flags {
  std::vector<std::string> policies;
  std::string wall;
  bool json = false;
};

std::string pad(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

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
    text += cat("  ", pad(printable(probe.name), width), "  ", colour_of(probe.state, colours),
                pad(state, 14), colours.off, "  ", colours.dim, printable(probe.detail),
                colours.off, "\n");
  }
  bool failed = found.count(Probe::State::failed) > 0;
  return cat(text, "\n", failed ? colours.red : colours.green, "wall ", to_string(found.wall), ": ",
             counts(found), colours.off, "\n");
}

Value to_value(const Verification& found) {
  Value::Array probes;
  for (const Probe& probe : found.probes) {
    Value entry;
    entry.set("group", probe.group);
    entry.set("probe", probe.name);
    entry.set("state", to_string(probe.state));
    entry.set("detail", probe.detail);
    probes.push_back(std::move(entry));
  }
  Value value;
  value.set("ok", found.count(Probe::State::failed) == 0);
  value.set("wall", to_string(found.wall));
  value.set("held", static_cast<uint64_t>(found.count(Probe::State::held)));
  value.set("failed", static_cast<uint64_t>(found.count(Probe::State::failed)));
  value.set("not_applicable", static_cast<uint64_t>(found.count(Probe::State::not_applicable)));
  value.set("not_claimed", static_cast<uint64_t>(found.count(Probe::State::not_claimed)));
  value.set("probes", std::move(probes));
  return value;
}

Result<int> verify(const Flags& flags, const EditPrepared& edit) {
  Policy call;
  call.name = "the command line";
  if (!flags.wall.empty()) {
    call.wall = wall_from_string(flags.wall);
    if (!call.wall)
      return Error{Code::invalid, cat("--wall: there is no wall '", printable(flags.wall), "'"),
                   "process or container"};
  }
  doctor::VerifyInput input{
      .policy = TRY(policy::load(flags.policies, call, store::load_context())).policy,
      .edit = edit};
  if (input.policy.env.pass)
    for (const std::string& name : *input.policy.env.pass)
      if (const char* value = std::getenv(name.c_str())) input.env.emplace(name, value);
  Verification found = TRY(doctor::verify(input));
  print(flags.json ? to_json(to_value(found)) + "\n" : table(found));
  return found.count(Probe::State::failed) == 0 ? 0 : 1;
}

// The probes get no input: what the caller has there is not for them.
void close_stdin() {
  Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null) (void)::dup2(null.get(), STDIN_FILENO);
}

}  // namespace

int verify_main(int argc, char** argv) { return verify_edited(argc, argv, nullptr); }

int verify_edited(int argc, char** argv, const EditPrepared& edit) {
  Flags flags;
  Options options("verify",
                  "Tries, in a sandbox, everything that a policy forbids. Exits with 1 if anything "
                  "of it works.");
  options.list("--policy", "FILE|PRESET", &flags.policies,
               "what is to be verified; several are combined, each can only narrow");
  options.text("--wall", "WALL", &flags.wall,
               "process or container (default: the policy's, else container)");
  options.flag("--json", &flags.json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  close_stdin();
  Result<int> status = verify(flags, edit);
  return status ? status.value() : report(status.error(), flags.json);
}

}  // namespace paddock::cli
