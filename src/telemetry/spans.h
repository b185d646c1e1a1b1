// Events into spans, as OTLP writes them in JSON. What ended makes a span, from its end alone if
// need be; its beginning adds attributes, and what happened meanwhile without taking time stands in
// it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/event.h"

namespace paddock::telemetry {

class Spans {
 public:
  // Spans that are whole now are added to `whole`, each as JSON.
  void take(const Event& event, std::vector<std::string>& whole);
  size_t open() const { return open_.size(); }

 private:
  struct Open {
    Event start;
    std::vector<Event> instants;
    uint64_t left_out = 0;
  };
  // By span.
  std::map<std::string, Open> open_;
};

// The body of a request that carries these spans.
std::string make_request(const std::map<std::string, std::string>& resource,
                         const std::vector<std::string>& spans);

}  // namespace paddock::telemetry
