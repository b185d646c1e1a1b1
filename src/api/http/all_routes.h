// Every resource's routes. Each is defined in the file that answers them.
#pragma once

#include <vector>

#include "api/http/call.h"

namespace paddock::api {

std::vector<Route> meta_routes();     // health, version, openapi.json, who am I
std::vector<Route> sandbox_routes();  // create, list, look at, pause, resume, …
std::vector<Route> exec_routes();     // commands, processes
std::vector<Route> file_routes();
std::vector<Route> volume_routes();
std::vector<Route> admin_routes();  // keys, tenants
std::vector<Route> audit_routes();
std::vector<Route> event_routes();    // what happens, as it happens
std::vector<Route> metrics_routes();  // for Prometheus
std::vector<Route> code_routes();     // code interpreter
std::vector<Route> template_routes();
std::vector<Route> tool_routes();  // tools and what waits for approval
std::vector<Route> mcp_routes();

namespace e2b {

std::vector<Route> sandbox_routes();  // create, list, connect, pause, …
std::vector<Route> metrics_routes();  // and logs
std::vector<Route> snapshot_routes();
std::vector<Route> volume_routes();
std::vector<Route> volume_content_routes();
std::vector<Route> template_routes();
std::vector<Route> other_routes();  // teams, and what is refused

}  // namespace e2b

// Handlers that both APIs have.
io::Task<Result<Reply>> remove_volume(Call& call);    // "/…/{id}"
io::Task<Result<Reply>> remove_template(Call& call);  // "/…/{template}"

std::vector<Route> all_routes();

}  // namespace paddock::api
