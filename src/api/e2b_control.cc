// E2B's control plane: which handler answers what. docs/e2b.md says what of it is there.
#include "api/all_routes.h"
#include "api/e2b.h"

namespace paddock::api {

const std::vector<Route>& e2b_control_routes() {
  static const std::vector<Route> kRoutes = {
      {"POST", "/sandboxes", "sandboxes", e2b::create_v1, nullptr},
      {"POST", "/v2/sandboxes", "sandboxes", e2b::create_v2, nullptr},
      {"GET", "/sandboxes", "read", e2b::list_v1, nullptr},
      {"GET", "/v2/sandboxes", "read", e2b::list_v2, nullptr},
      {"GET", "/sandboxes/metrics", "read", e2b::bulk_metrics, nullptr},
      {"GET", "/sandboxes/{id}", "read", e2b::get_info, nullptr},
      {"DELETE", "/sandboxes/{id}", "sandboxes", e2b::kill, nullptr},
      {"POST", "/sandboxes/{id}/connect", "sandboxes", e2b::connect, nullptr},
      {"POST", "/v2/sandboxes/{id}/connect", "sandboxes", e2b::connect, nullptr},
      {"POST", "/sandboxes/{id}/resume", "sandboxes", e2b::resume, nullptr},
      {"POST", "/sandboxes/{id}/timeout", "sandboxes", e2b::set_timeout, nullptr},
      {"POST", "/sandboxes/{id}/refreshes", "sandboxes", e2b::refresh, nullptr},
      {"POST", "/sandboxes/{id}/pause", "sandboxes", e2b::pause, nullptr},
      {"PUT", "/sandboxes/{id}/network", "sandboxes", e2b::update_network, nullptr},
      {"GET", "/sandboxes/{id}/metrics", "read", e2b::metrics, nullptr},
      {"GET", "/sandboxes/{id}/logs", "read", e2b::logs_v1, nullptr},
      {"GET", "/v2/sandboxes/{id}/logs", "read", e2b::logs_v2, nullptr},
      {"POST", "/sandboxes/{id}/snapshots", "sandboxes", e2b::create_snapshot, nullptr},
      {"GET", "/snapshots", "read", e2b::list_snapshots, nullptr},
      {"POST", "/sandboxes/{id}/fork", "sandboxes", e2b::fork, nullptr},
      {"GET", "/teams", "read", e2b::teams, nullptr},
      {"POST", "/volumes", "sandboxes", e2b::create_volume, nullptr},
      {"GET", "/volumes", "read", e2b::list_volumes, nullptr},
      {"GET", "/volumes/{id}", "read", e2b::get_volume, nullptr},
      {"DELETE", "/volumes/{id}", "sandboxes", e2b::remove_volume, nullptr},
      // By the volume's own token, not by an API key.
      {"GET", "/volumecontent/{id}/dir", "", e2b::volume_list, nullptr},
      {"POST", "/volumecontent/{id}/dir", "", e2b::volume_make_directory, nullptr},
      {"GET", "/volumecontent/{id}/path", "", e2b::volume_stat, nullptr},
      {"PATCH", "/volumecontent/{id}/path", "", e2b::volume_change, nullptr},
      {"DELETE", "/volumecontent/{id}/path", "", e2b::volume_remove, nullptr},
      {"GET", "/volumecontent/{id}/file", "", e2b::volume_read, nullptr},
      {"PUT", "/volumecontent/{id}/file", "", e2b::volume_write, nullptr},
      {"GET", "/secrets", "read", e2b::not_offered, nullptr},
      {"POST", "/secrets", "sandboxes", e2b::not_offered, nullptr},
      {"GET", "/secrets/{name}", "read", e2b::not_offered, nullptr},
      {"POST", "/secrets/{name}", "sandboxes", e2b::not_offered, nullptr},
      {"DELETE", "/secrets/{name}", "sandboxes", e2b::not_offered, nullptr},
  };
  return kRoutes;
}

}  // namespace paddock::api
