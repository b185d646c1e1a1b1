#include "telemetry/endpoint.h"

#include <cstdlib>

#include "base/text.h"
#include "base/url.h"
#include "net/http.h"

namespace paddock::telemetry {

namespace {

constexpr uint16_t kHttpPort = 4318;  // OTLP over HTTP, by its specification
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

std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    auto digit = [](char c) {
      return c >= '0' && c <= '9'   ? c - '0'
             : c >= 'a' && c <= 'f' ? c - 'a' + 10
             : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                    : -1;
    };
    int high = text[i] == '%' && i + 2 < text.size() ? digit(text[i + 1]) : -1;
    int low = high >= 0 ? digit(text[i + 2]) : -1;
    if (low < 0) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

// A variable of the form "name=value,name=value", values percent-encoded (W3C Baggage).
Result<void> add_pairs(const char* from, std::map<std::string, std::string>& pairs) {
  std::string text = variable(from);
  if (text.empty()) return {};
  for (const std::string& pair : split(text, ',')) {
    size_t equals = pair.find('=');
    if (equals == std::string::npos)
      return Error{Code::invalid, cat(from, ": a part of it is no NAME=VALUE"), ""};
    pairs.emplace(std::string(trimmed(std::string_view(pair).substr(0, equals))),
                  unescaped(trimmed(std::string_view(pair).substr(equals + 1))));
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

Result<Endpoint> parse_url(const std::string& url, uint16_t http_port, const std::string& what) {
  Error wrong{Code::invalid,
              cat(what, " '", printable(url.substr(0, 200)), "': not an http:// or https:// URL"),
              ""};
  Result<Url> parsed = paddock::parse_url(url);
  if (!parsed) return wrong;
  const Url& parts = parsed.value();
  Result<net::Authority> authority = net::parse_authority(parts.authority);
  Endpoint endpoint;
  endpoint.tls = parts.scheme == "https";
  bool web = endpoint.tls || parts.scheme == "http";
  if (!web || !authority || parts.path.find('#') != std::string::npos) return wrong;
  endpoint.host = authority.value().host;
  if (endpoint.host.front() == '[')
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  endpoint.port = parts.port.value_or(endpoint.tls ? 443 : http_port);
  endpoint.authority = parts.authority;
  endpoint.path = starts_with(parts.path, "/") ? parts.path : cat("/", parts.path);
  return endpoint;
}

Result<Endpoint> parse_endpoint(const std::string& url) {
  Result<Endpoint> parsed = parse_url(url, kHttpPort, "telemetry endpoint");
  if (parsed && parsed.value().path.find('?') != std::string::npos)
    parsed =
        Error{Code::invalid,
              cat("telemetry endpoint '", printable(url.substr(0, 200)), "': it has a query"), ""};
  if (!parsed) parsed.error().hint = "as in http://127.0.0.1:4318";
  if (!parsed) return parsed.error();
  Endpoint endpoint = std::move(parsed).value();
  while (ends_with(endpoint.path, "/")) endpoint.path.pop_back();
  endpoint.path += kTraces;
  return endpoint;
}

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
  // It is the whole of it.
  if (!whole.empty()) endpoint.path.resize(endpoint.path.size() - kTraces.size());
  if (endpoint.path.empty()) endpoint.path = "/";
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
