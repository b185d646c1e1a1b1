// paddock ls: the living sandboxes as a table.
#include "base/text.h"
#include "cli/cli.h"
#include "cli/living.h"
#include "cli/options.h"
#include "cli/table.h"

namespace paddock::cli {

namespace {

const std::vector<Column> kColumns = {
    {.heading = "ID"},
    {.heading = "NAME", .least = 6, .optional = true},
    {.heading = "TEMPLATE", .least = 8, .optional = true},
    {.heading = "STATE"},
    {.heading = "AGE", .right = true},
    {.heading = "ENDS", .right = true},
    {.heading = "MEMORY", .right = true, .optional = true},
    {.heading = "CPU", .right = true, .optional = true},
};

const char* colour_of(const std::string& state, const Colours& colour) {
  if (state == "running") return colour.green;
  if (state == "paused") return colour.yellow;
  return state == "ended" ? colour.dim : "";
}

std::vector<Cell> row_of(const Value& sandbox, int64_t now, const Colours& colour) {
  std::string state = text_in(sandbox, "state"), ends = "never";
  if (int64_t at = number_in(sandbox, "ends_ms")) ends = cat("in ", short_duration(at - now));
  if (state == "ended")
    ends = cat(short_duration(now - number_in(sandbox, "ended_ms")),
               " ago: ", printable(text_in(sandbox, "ended_because")));
  const Value* usage = sandbox.find("usage");
  std::string memory = usage ? human_size(static_cast<uint64_t>(number_in(*usage, "memory"))) : "-";
  if (int64_t most = number_in(sandbox, "memory_bytes"))
    memory += cat("/", human_size(static_cast<uint64_t>(most)));
  std::string cpu = usage ? cat(static_cast<int>(real_in(*usage, "cpu_percent") + 0.5), "%") : "-";
  return {{printable(text_in(sandbox, "id"))},
          {printable(text_in(sandbox, "name"))},
          {printable(text_in(sandbox, "template"))},
          {state, colour_of(state, colour)},
          {short_duration(now - number_in(sandbox, "created_ms"))},
          {ends},
          {memory},
          {cpu}};
}

Result<void> list(bool all, bool json) {
  Client client = TRY(Client::find());
  std::vector<Value> sandboxes = TRY(list_sandboxes(client, all));
  if (json) {
    Value out;
    out.set("sandboxes", Value::Array(sandboxes.begin(), sandboxes.end()));
    print(to_json(out) + "\n");
    return {};
  }
  std::vector<std::vector<Cell>> rows;
  Colours colour = colours();
  for (const Value& sandbox : sandboxes) rows.push_back(row_of(sandbox, now_ms(), colour));
  if (rows.empty())
    print_error("no sandboxes; make one with: paddock create\n");
  else
    print(render_table(kColumns, rows, terminal_width(), colour.bold, colour.off));
  return {};
}

}  // namespace

int ls_main(int argc, char** argv) {
  bool all = false, json = false;
  Options options("ls", "Lists the living sandboxes.");
  options.flag("-a, --all", &all, "those that ended in the last day too, and why");
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<void> listed = list(all, json);
  return listed ? 0 : report(listed.error(), json);
}

}  // namespace paddock::cli
