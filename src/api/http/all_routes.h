// Every resource's routes. Each is defined in the file that answers them.
#pragma once

#include <vector>

#include "api/http/call.h"

namespace paddock::api {

const std::vector<Route>& meta_routes();     // health, version, openapi.json, who am I
const std::vector<Route>& sandbox_routes();  // create, list, look at, pause, resume, …
const std::vector<Route>& exec_routes();     // commands, processes
const std::vector<Route>& file_routes();
const std::vector<Route>& volume_routes();
const std::vector<Route>& admin_routes();  // keys, tenants
const std::vector<Route>& audit_routes();
const std::vector<Route>& event_routes();    // what happens, as it happens
const std::vector<Route>& metrics_routes();  // for Prometheus
const std::vector<Route>& code_routes();     // code interpreter
const std::vector<Route>& template_routes();
const std::vector<Route>& tool_routes();  // tools and what waits for approval
const std::vector<Route>& mcp_routes();

namespace e2b {

const std::vector<Route>& sandbox_routes();  // create, list, connect, pause, …
const std::vector<Route>& metrics_routes();  // and logs
const std::vector<Route>& snapshot_routes();
const std::vector<Route>& volume_routes();
const std::vector<Route>& volume_content_routes();
const std::vector<Route>& template_routes();
const std::vector<Route>& other_routes();  // teams, and what is refused

}  // namespace e2b

std::vector<const std::vector<Route>*> all_routes();

}  // namespace paddock::api
