// paddock ls, logs; and what the other commands about living sandboxes share.
#include "cli/living.h"

#include <chrono>

#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/table.h"

namespace paddock::cli {

// Goes on after a failure, so that one wrong name does not keep the others from being done. The
// exit status tells.
Result<int> for_each(const std::vector<std::string>& names, bool json, const EachAct& act) {
  Client client = TRY(Client::find());
  Value::Array done, failed;
  for (const std::string& name : names) {
    Result<Value> result = act(client, name);
    if (!result) {
      const Error& error = result.error();
      failed.push_back(
          Value::Object{{"id", name}, {"code", to_string(error.code)}, {"message", error.message}});
      if (!json)
        (void)report({error.code, cat(printable(name), ": ", error.message), error.hint}, false);
      continue;
    }
    if (!json) print(printable(name) + "\n");
    Value value = std::move(result.value());
    if (value.is_null()) value.set("id", name);
    done.push_back(std::move(value));
  }
  int status = failed.empty() ? 0 : kFailed;
  if (json)
    print_json(Value::Object{{"sandboxes", std::move(done)}, {"errors", std::move(failed)}});
  return status;
}

// Empty lines keep a connection alive, and mean nothing.
Result<void> for_each_line(Response& response,
                           const std::function<Result<void>(const std::string& line)>& take) {
  while (std::optional<std::string> line = TRY(response.line()))
    if (!line->empty()) TRY(take(*line));
  return {};
}

// Follows the pages, because the server returns a limited number at once.
Result<std::vector<Value>> list_sandboxes(const Client& client, bool all) {
  std::vector<Value> found;
  std::string next;
  do {
    std::string path =
        cat("/v1/sandboxes?limit=100",
            all ? "&state=starting,running,pausing,paused,resuming,ending,ended" : "",
            next.empty() ? "" : cat("&token=", percent_encode(next)));
    Value page = TRY(client.ask("GET", path));
    if (!page.find("sandboxes"))
      return Error{Code::internal, "the server's list has no sandboxes in it", ""};
    for (const Value& sandbox : items_in(page, "sandboxes")) found.push_back(sandbox);
    next = text_in(page, "next");
  } while (!next.empty());
  return found;
}

// By the wall clock, as the server's times are.
int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

namespace {

// Other states are on their way to one of these, and have no colour.
const char* colour_of(const std::string& state, const Colours& colour) {
  if (state == "running") return colour.green;
  if (state == "paused") return colour.yellow;
  return state == "ended" ? colour.dim : "";
}

// A line of `paddock ls`.
std::vector<Cell> row_of(const Value& sandbox, int64_t now, const Colours& colour) {
  std::string state = text_in(sandbox, "state"), ends = "never";
  if (int64_t at = number_in(sandbox, "ends_ms")) ends = cat("in ", short_duration(at - now));
  if (state == "ended")
    ends = cat(short_duration(now - number_in(sandbox, "ended_ms")),
               " ago: ", printable(text_in(sandbox, "ended_because")));
  const Value* usage = sandbox.find("usage");
  std::string memory = usage ? human_size(count_in(*usage, "memory")) : "-";
  if (uint64_t most = count_in(sandbox, "memory_bytes")) memory += cat("/", human_size(most));
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

// {"time_ms":…,"kind":"exec","argv":[…]} → "2026-01-02 03:04:05.678  exec  argv=["ls"]".
std::string readable_log(const std::string& line, const Colours& colour) {
  Result<Value> value = parse_json(line, "the log");
  if (!value || !value.value().as_object()) return printable(line);
  int64_t time_ms = number_in(value.value(), "time_ms");
  std::string text =
      cat(colour.dim, time_ms ? local_time(time_ms, Precision::milliseconds) : "-", colour.off,
          "  ", colour.bold, printable(text_in(value.value(), "kind")), colour.off);
  for (const auto& [key, member] : *value.value().as_object()) {
    if (key == "time_ms" || key == "kind") continue;
    text += cat("  ", printable(key), "=",
                printable(member.as_string() ? *member.as_string() : to_json(member)));
  }
  return text;
}

}  // namespace

// The list of ended sandboxes is only asked for with --all.
int ls_main(int argc, char** argv) {
  bool all = false;
  Options options("ls", "Lists the living sandboxes.");
  options.flag("-a, --all", &all, "those that ended in the last day too, and why");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    Client client = TRY(Client::find());
    std::vector<Value> sandboxes = TRY(list_sandboxes(client, all));
    if (json) return show(json, Value::Object{{"sandboxes", Value(std::move(sandboxes))}}, "");
    std::vector<std::vector<Cell>> rows;
    Colours colour = colours();
    for (const Value& sandbox : sandboxes) rows.push_back(row_of(sandbox, now_ms(), colour));
    print_table({{.heading = "ID"},
                 {.heading = "NAME", .least = 6, .optional = true},
                 {.heading = "TEMPLATE", .least = 8, .optional = true},
                 {.heading = "STATE"},
                 {.heading = "AGE", .right = true},
                 {.heading = "ENDS", .right = true},
                 {.heading = "MEMORY", .right = true, .optional = true},
                 {.heading = "CPU", .right = true, .optional = true}},
                rows, "no sandboxes; make one with: paddock create\n");
    return 0;
  });
}

// With --follow the response ends when the sandbox does.
int logs_main(int argc, char** argv) {
  bool follow = false;
  std::string id;
  Options options("logs",
                  "Shows what happened to a sandbox: commands, states, requests to the network.");
  options.flag("-f, --follow", &follow, "go on with what happens next, until the sandbox ends");
  options.positional("ID", &id, "the sandbox, by id or name");
  auto act = [&](bool json) -> Result<int> {
    Client client = TRY(Client::find());
    Response response =
        TRY(client.open("GET", sandbox_path(id, follow ? "/logs?follow=1" : "/logs")));
    Colours colour = colours();
    TRY(for_each_line(response, [&](const std::string& line) -> Result<void> {
      print((json ? line : readable_log(line, colour)) + "\n");
      return {};
    }));
    return 0;
  };
  return options.run(argc, argv, act, "a JSON object on each line");
}

}  // namespace paddock::cli
