// paddock-server telemetry-send: sends the traces of one run, for `paddock run`, which has no TLS
// and no time. Everything comes on stdin, where nobody else sees it: a line that says where to,
// then an event a line (docs/telemetry.md).
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/instant.h"
#include "base/text.h"
#include "cli/cli.h"
#include "telemetry/exporter.h"

namespace paddock::cli {

namespace {

constexpr size_t kMostInput = 64 << 20;

// Milliseconds. What the caller asks for is bounded, since nobody watches this process.
constexpr int64_t kPatience = 5'000, kMostPatience = 60'000;

// An event from its line of the audit log.
Result<Event> event_from(const Value& line) {
  Event event;
  event.kind = text_in(line, "kind");
  event.trace = text_in(line, "trace");
  event.span = text_in(line, "span");
  event.parent = text_in(line, "parent");
  event.sandbox = text_in(line, "sandbox");
  event.tenant = text_in(line, "tenant");
  event.agent = text_in(line, "agent");
  event.verdict = text_in(line, "verdict");
  event.time_us = TRY(parse_rfc3339(text_in(line, "time")));
  if (const Value* duration = line.find("duration_us"); duration && duration->as_int())
    event.duration_us = *duration->as_int();
  if (const Value* data = line.find("data")) event.data = *data;
  return event;
}

// The first line says where to and how long that may take; the others are events.
Result<void> send(const std::string& input) {
  std::vector<std::string> lines = split(input, '\n');
  Value target = TRY(parse_json(lines.front(), "the first line"));
  TelemetryPolicy policy;
  // Else the environment's.
  if (std::string url = text_in(target, "endpoint"); !url.empty()) policy.endpoint = url;
  if (const Value* headers = target.find("headers"); headers && headers->as_object())
    for (const auto& [name, value] : *headers->as_object())
      policy.headers[name] = value.as_string() ? *value.as_string() : "";
  std::optional<telemetry::Endpoint> endpoint = TRY(telemetry::find_endpoint("", policy));
  if (!endpoint) return {};
  if (std::string service = text_in(target, "service"); !service.empty())
    endpoint->service = service;
  std::vector<Event> events;
  for (size_t i = 1; i < lines.size(); ++i)
    if (!lines[i].empty())
      events.push_back(TRY(event_from(TRY(parse_json(lines[i], cat("line ", i + 1))))));
  const Value* asked = target.find("deadline_ms");
  int64_t patience = asked && asked->as_int()
                         ? std::min(kMostPatience, std::max<int64_t>(1, *asked->as_int()))
                         : kPatience;
  return telemetry::send_all(*endpoint, events, patience);
}

}  // namespace

// Only called by `paddock run`, so it takes no flags.
int telemetry_send_main(int, char**) {
  Result<std::string> input = read_all(STDIN_FILENO, kMostInput);
  Result<void> sent = input ? send(input.value()) : Result<void>(input.error());
  return sent ? 0 : report(sent.error(), false);
}

}  // namespace paddock::cli
