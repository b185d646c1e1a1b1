// Where traces go, and other JSON that is posted: a URL and what is sent along.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "net/http_url.h"
#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock::telemetry {

struct Endpoint {
  // Its path is that of the traces: "/v1/traces" after what was given.
  net::HttpUrl url;
  std::map<std::string, std::string> headers;
  std::string service = "paddock";
  // Further attributes of the sender.
  std::map<std::string, std::string> resource;
  // A PEM file that is trusted instead of the system's authorities; may be empty.
  std::string certificate;
};

// "http://127.0.0.1:4318" or "https://collector.example/otlp".
Result<Endpoint> parse_endpoint(const std::string& url);

// `given` on the command line, or else the policy's, or else the environment's
// (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS,
// OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_SDK_DISABLED).
// None: no traces are wanted.
Result<std::optional<Endpoint>> find_endpoint(const std::string& given,
                                              const TelemetryPolicy& policy);

}  // namespace paddock::telemetry
