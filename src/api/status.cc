#include "api/exchange.h"

namespace paddock::api {

int status_of(Code code) {
  switch (code) {
    case Code::invalid:
    case Code::unsupported: return 400;
    case Code::denied: return 403;
    case Code::not_found: return 404;
    case Code::conflict: return 409;
    case Code::exhausted: return 429;
    case Code::io:
    case Code::internal: return 500;
  }
  return 500;
}

int status_of(const Error& error) {
  if (error.kind == Kind::unrecorded) return error.code == Code::exhausted ? 507 : 503;
  return status_of(error.code);
}

}  // namespace paddock::api
