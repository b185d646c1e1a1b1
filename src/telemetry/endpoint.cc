#include "telemetry/endpoint.h"

#include <cstdlib>

#include "base/percent.h"
#include "base/text.h"
#include "net/http.h"

namespace paddock::telemetry {

namespace {

// OTLP over HTTP, by its specification.
constexpr uint16_t kHttpPort = 4318;
constexpr std::string_view kTraces = "/v1/traces";

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// A variable of the form "name=value,name=value", values percent-encoded (W3C Baggage).
Result<void> add_pairs(const char* from, std::map<std::string, std::string>& pairs) {
  std::string text = variable(from);
  if (text.empty()) return {};
  for (const std::string& pair : split(text, ',')) {
    size_t equals = pair.find('=');
    if (equals == std::string::npos)
      return Error{Code::invalid, cat(from, ": a part of it is not NAME=VALUE"), ""};
    pairs.emplace(std::string(trimmed(std::string_view(pair).substr(0, equals))),
                  percent_decode(trimmed(std::string_view(pair).substr(equals + 1))));
  }
  return {};
}

// A value with a line break in it would become a header of its own.
Result<void> check_headers(const Endpoint& endpoint) {
  for (const auto& [name, value] : endpoint.headers)
    if (!net::parse_header_line(cat(name, ": ", value)))
      return Error{Code::invalid,
                   cat("telemetry: '", printable(name), "' cannot be sent as a header"), ""};
  return {};
}

}  // namespace

// "/v1/traces" is added to whatever path was given, as OpenTelemetry's own exporters do.
Result<Endpoint> parse_endpoint(const std::string& text) {
  Result<net::HttpUrl> url = net::parse_http_url(text, kHttpPort);
  std::string why = !url                                              ? url.error().message
                    : url.value().path.find('?') != std::string::npos ? "has a query"
                                                                      : "";
  if (!why.empty())
    return Error{Code::invalid, cat("telemetry endpoint ", why), "as in http://127.0.0.1:4318"};
  Endpoint endpoint{.url = std::move(url).value()};
  std::string& path = endpoint.url.path;
  while (ends_with(path, "/")) path.pop_back();
  path += kTraces;
  return endpoint;
}

// What is given on the command line wins over the policy, and the policy over the environment.
Result<std::optional<Endpoint>> find_endpoint(const std::string& given,
                                              const TelemetryPolicy& policy) {
  if (same_ignoring_case(variable("OTEL_SDK_DISABLED"), "true")) return std::optional<Endpoint>();
  bool by_policy = given.empty() && policy.endpoint;
  std::string whole =
      given.empty() && !by_policy ? variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") : "";
  std::string url = !given.empty()   ? given
                    : by_policy      ? *policy.endpoint
                    : !whole.empty() ? whole
                                     : variable("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (url.empty()) return std::optional<Endpoint>();
  Endpoint endpoint = TRY(parse_endpoint(url));
  // That variable has the whole path.
  std::string& path = endpoint.url.path;
  if (!whole.empty()) path.resize(path.size() - kTraces.size());
  if (path.empty()) path = "/";
  // Headers stay with the endpoint that they were given for: another's must not be sent them.
  if (by_policy)
    endpoint.headers = policy.headers;
  else
    TRY(add_pairs("OTEL_EXPORTER_OTLP_HEADERS", endpoint.headers));
  TRY(check_headers(endpoint));
  endpoint.certificate = variable("OTEL_EXPORTER_OTLP_CERTIFICATE");
  TRY(add_pairs("OTEL_RESOURCE_ATTRIBUTES", endpoint.resource));
  std::string service = variable("OTEL_SERVICE_NAME");
  if (!service.empty()) endpoint.service = service;
  return std::optional<Endpoint>(std::move(endpoint));
}

}  // namespace paddock::telemetry
