// paddock doctor: what works on this host, wall by wall and limit by limit, found out by doing it.
#include <algorithm>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/table.h"
#include "doctor/facts.h"
#include "doctor/walls.h"

namespace paddock::cli {

namespace {

using wall::Fact;
using wall::LimitSupport;
using wall::Support;

struct Diagnosis {
  std::vector<Support> walls;
  std::vector<Fact> facts;

  // Enough to run something safely.
  bool good() const {
    return std::any_of(walls.begin(), walls.end(), [](const Support& support) {
      return support.state == Support::State::works;
    });
  }
};

// Runs something behind each wall, and looks at the host.
Diagnosis diagnose() {
  Diagnosis found;
  for (WallKind wall : {WallKind::process, WallKind::container, WallKind::runc, WallKind::crun,
                        WallKind::gvisor, WallKind::docker, WallKind::vm})
    found.walls.push_back(doctor::probe_wall(wall));
  found.facts = doctor::probe_facts();
  return found;
}

// One line of a table; the fix, if there is one, stands below.
struct Row {
  std::string name, state, text, fix;
  const char* colour = "";
};

// A table with a title: names, states in colour, and the fix on a line of its own.
std::string rows(const std::string& title, const std::vector<Row>& rows, const Colours& colours) {
  size_t name_width = 0, state_width = 0;
  for (const Row& row : rows) {
    name_width = std::max(name_width, std::min<size_t>(row.name.size(), 30));
    state_width = std::max(state_width, row.state.size());
  }
  std::string text = cat(colours.bold, title, colours.off, "\n");
  for (const Row& row : rows) {
    text +=
        cat("  ", padded(row.name, name_width), "  ", row.colour, padded(row.state, state_width),
            *row.colour ? colours.off : "", "  ", row.text, "\n");
    if (!row.fix.empty())
      text += cat("  ", padded("", name_width), "  ", padded("", state_width), "  ", colours.yellow,
                  "fix: ", row.fix, colours.off, "\n");
  }
  return text + "\n";
}

const char* colour_of(Support::State state, const Colours& colours) {
  switch (state) {
    case Support::State::works: return colours.green;
    case Support::State::fails: return colours.red;
    case Support::State::absent: return colours.dim;
  }
  return "";
}

// Says who holds the limit, or why nobody does and how to change that.
Row limit_row(const LimitSupport& limit, const Colours& colours) {
  if (limit.works)
    return {info(limit.kind).name, to_string(limit.enforced.strength), limit.enforced.by, "",
            colours.green};
  return {info(limit.kind).name, "refused", limit.why, limit.fix, colours.yellow};
}

// All that was found out: the walls, what holds in those that work, and the host.
std::string table(const Diagnosis& found) {
  Colours colours = cli::colours();
  std::vector<Row> walls, facts;
  for (const Support& support : found.walls) {
    std::string why = support.state == Support::State::works ? "a program ran in it" : support.why;
    walls.push_back({to_string(support.wall), to_string(support.state), why, support.fix,
                     colour_of(support.state, colours)});
  }
  std::string text = rows("walls", walls, colours);
  for (const Support& support : found.walls) {
    if (support.state != Support::State::works) continue;
    std::vector<Row> limits, controls;
    for (const LimitSupport& limit : support.limits) limits.push_back(limit_row(limit, colours));
    for (const auto& [name, control] : support.enforced)
      controls.push_back({name, to_string(control.strength), control.by, "", colours.green});
    text += rows(cat("wall ", to_string(support.wall), ": what holds"), controls, colours);
    text += rows(cat("wall ", to_string(support.wall), ": limits"), limits, colours);
  }
  for (const Fact& fact : found.facts)
    facts.push_back({fact.name, fact.good ? "ok" : "lacking", fact.value, fact.fix,
                     fact.good ? colours.green : colours.yellow});
  text += rows("this host", facts, colours);
  return cat(text, found.good() ? colours.green : colours.red,
             found.good() ? "Paddock works here." : "Paddock does not work here.", colours.off,
             "\n");
}

Value to_value(const Enforced& enforced) {
  return Value::Object{{"by", enforced.by}, {"strength", to_string(enforced.strength)}};
}

Value to_value(const LimitSupport& limit) {
  if (!limit.works) return Value::Object{{"works", false}, {"why", limit.why}, {"fix", limit.fix}};
  return Value::Object{
      {"works", true}, {"by", limit.enforced.by}, {"strength", to_string(limit.enforced.strength)}};
}

// What a wall that works holds is told only of such a wall.
Value to_value(const Support& support) {
  Value value = Value::Object{{"wall", to_string(support.wall)},
                              {"status", to_string(support.state)},
                              {"why", support.why},
                              {"fix", support.fix}};
  if (support.state != Support::State::works) return value;
  Value limits(Value::Object{}), controls(Value::Object{});
  for (const LimitSupport& limit : support.limits)
    limits.set(info(limit.kind).name, to_value(limit));
  for (const auto& [name, control] : support.enforced) controls.set(name, to_value(control));
  value.set("limits", std::move(limits));
  value.set("enforced", std::move(controls));
  return value;
}

Value to_value(const Diagnosis& found) {
  Value::Array walls, facts;
  for (const Support& support : found.walls) walls.push_back(to_value(support));
  for (const Fact& fact : found.facts)
    facts.push_back(Value::Object{
        {"name", fact.name}, {"value", fact.value}, {"good", fact.good}, {"fix", fact.fix}});
  return Value::Object{
      {"ok", found.good()}, {"walls", std::move(walls)}, {"facts", std::move(facts)}};
}

}  // namespace

// Standard input is closed: the probes start programs that must not read it.
int doctor_main(int argc, char** argv) {
  Options options("doctor",
                  "Tries what this host can enforce, and says how to fix what it cannot. Exits "
                  "with 1 if no wall works.");
  return options.run(argc, argv, [](bool json) -> Result<int> {
    close_stdin();
    Diagnosis found = diagnose();
    print(json ? to_json(to_value(found)) + "\n" : table(found));
    return found.good() ? 0 : 1;
  });
}

}  // namespace paddock::cli
