// The OpenAPI 3.1 document, from the table of routes and what is known of each one's request and
// answer.
#pragma once

#include <vector>

#include "api/http/call.h"
#include "base/value.h"

namespace paddock::api {

Value make_openapi(const std::vector<Route>& routes);

}  // namespace paddock::api
