// What this process itself uses, under the names that Prometheus' own libraries have for it.
#pragma once

#include "monitor/prometheus.h"

namespace paddock::api {

void add_process(monitor::Exposition& out);

}  // namespace paddock::api
