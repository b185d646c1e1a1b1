#include "api/http/all_routes.h"

namespace paddock::api {

std::vector<const std::vector<Route>*> all_routes() {
  return {&meta_routes(),          &metrics_routes(),      &sandbox_routes(),
          &exec_routes(),          &file_routes(),         &volume_routes(),
          &admin_routes(),         &audit_routes(),        &event_routes(),
          &code_routes(),          &template_routes(),     &tool_routes(),
          &mcp_routes(),           &e2b::sandbox_routes(), &e2b::metrics_routes(),
          &e2b::snapshot_routes(), &e2b::volume_routes(),  &e2b::volume_content_routes(),
          &e2b::template_routes(), &e2b::other_routes()};
}

}  // namespace paddock::api
