#include "api/all_routes.h"

namespace paddock::api {

std::vector<const std::vector<Route>*> all_routes() {
  return {
      &meta_routes(), &sandbox_routes(), &exec_routes(), &file_routes(), &volume_routes(), &admin_routes(),
#if __has_include("api/code_routes.cc")
      &code_routes(),
#endif
#if __has_include("api/template_routes.cc")
      &template_routes(),
#endif
#if __has_include("api/e2b_control.cc")
      &e2b_control_routes(),
#endif
  };
}

}  // namespace paddock::api
