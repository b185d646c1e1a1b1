// paddock logs: what happened to a sandbox and in it.
#include <ctime>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/living.h"
#include "cli/options.h"

namespace paddock::cli {

namespace {

std::string time_of(int64_t milliseconds) {
  time_t seconds = milliseconds / 1000;
  tm local{};
  char text[32];
  if (!milliseconds || !::localtime_r(&seconds, &local) ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local) == 0)
    return "-";
  std::string fraction = std::to_string(1000 + milliseconds % 1000);
  return cat(text, ".", fraction.substr(1));
}

// {"time_ms":…,"kind":"exec","argv":[…]} → "2026-01-02 03:04:05.678  exec  argv=["ls"]".
std::string readable(const std::string& line, const Colours& colour) {
  Result<Value> value = parse_json(line, "the log");
  if (!value || !value.value().as_object()) return printable(line);
  std::string text = cat(colour.dim, time_of(number_in(value.value(), "time_ms")), colour.off, "  ",
                         colour.bold, printable(text_in(value.value(), "kind")), colour.off);
  for (const auto& [key, member] : *value.value().as_object()) {
    if (key == "time_ms" || key == "kind") continue;
    text += cat("  ", printable(key), "=",
                printable(member.as_string() ? *member.as_string() : to_json(member)));
  }
  return text;
}

Result<void> logs(const std::string& id, bool follow, bool json) {
  Client client = TRY(Client::find());
  Response response =
      TRY(client.open("GET", sandbox_path(id, follow ? "/logs?follow=1" : "/logs")));
  Colours colour = colours();
  while (std::optional<std::string> line = TRY(response.line())) {
    if (!line->empty()) print((json ? *line : readable(*line, colour)) + "\n");
  }
  return {};
}

}  // namespace

int logs_main(int argc, char** argv) {
  bool follow = false, json = false;
  std::string id;
  Options options("logs",
                  "Shows what happened to a sandbox: commands, states, requests to the network.");
  options.flag("-f, --follow", &follow, "go on with what happens next, until the sandbox ends");
  options.flag("--json", &json, "a JSON object on each line");
  options.positional("ID", &id, "the sandbox, by id or name");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<void> shown = logs(id, follow, json);
  return shown ? 0 : report(shown.error(), json);
}

}  // namespace paddock::cli
