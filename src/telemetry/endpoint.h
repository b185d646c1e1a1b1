// Where traces go, and other JSON that is posted: an URL and what is sent along.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock::telemetry {

struct Endpoint {
  bool tls = false;
  std::string host;  // a name or an address, without brackets
  uint16_t port = 0;
  std::string authority;  // for the Host header
  std::string path;       // "/v1/traces", behind what the URL has
  std::map<std::string, std::string> headers;
  std::string service = "paddock";
  std::map<std::string, std::string> resource;  // further attributes of who sends
  // A PEM file that is trusted instead of the system's authorities; may be empty.
  std::string certificate;
};

// Any http: or https: URL; `path` is all that follows the authority, the query too. `what` begins
// the message of an error.
Result<Endpoint> parse_url(const std::string& url, uint16_t http_port, const std::string& what);

// "http://127.0.0.1:4318" or "https://collector.example/otlp".
Result<Endpoint> parse_endpoint(const std::string& url);

// `given` on the command line, or else the policy's, or else the environment's
// (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS,
// OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_SDK_DISABLED).
// None: nobody wants traces.
Result<std::optional<Endpoint>> find_endpoint(const std::string& given,
                                              const TelemetryPolicy& policy);

}  // namespace paddock::telemetry
