#include "api/http/all_routes.h"

namespace paddock::api {

namespace {

using Routes = std::vector<Route> (*)();

constexpr Routes kNative[] = {meta_routes,  metrics_routes, sandbox_routes,  exec_routes,
                              file_routes,  volume_routes,  admin_routes,    audit_routes,
                              event_routes, code_routes,    template_routes, tool_routes,
                              mcp_routes};
constexpr Routes kE2b[] = {e2b::sandbox_routes, e2b::metrics_routes,        e2b::snapshot_routes,
                           e2b::volume_routes,  e2b::volume_content_routes, e2b::template_routes,
                           e2b::other_routes};

}  // namespace

std::vector<Route> all_routes() {
  std::vector<Route> all;
  for (Routes routes : kNative)
    for (const Route& route : routes()) all.push_back(route);
  for (Routes routes : kE2b)
    for (Route route : routes()) {
      route.plane = Plane::e2b;
      all.push_back(route);
    }
  return all;
}

}  // namespace paddock::api
