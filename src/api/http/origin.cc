#include "api/http/origin.h"

#include "base/text.h"

namespace paddock::api {

namespace {

constexpr size_t kLongestAgent = 128;

}  // namespace

std::string agent_name(std::string_view told) {
  std::string name = printable(told.substr(0, kLongestAgent));
  if (name.size() > kLongestAgent) name.resize(kLongestAgent);
  return name;
}

void take_origin(const Exchange& exchange, manager::Caller& caller) {
  caller.agent = agent_name(exchange.header("X-Paddock-Agent"));
  std::string parent = exchange.header("traceparent");
  caller.cause = Cause::from_traceparent(parent);
  bool is_told = !parent.empty() && parent.find(caller.cause.span) != std::string::npos;
  if (!is_told) caller.cause.span.clear();
}

}  // namespace paddock::api
