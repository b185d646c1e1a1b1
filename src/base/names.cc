#include "paddock/error.h"

#include "paddock/sandbox.h"

namespace paddock {

// These names are part of the API and of result files.
const char* to_string(Code code) {
  switch (code) {
    case Code::invalid: return "invalid";
    case Code::denied: return "denied";
    case Code::unsupported: return "unsupported";
    case Code::not_found: return "not_found";
    case Code::conflict: return "conflict";
    case Code::exhausted: return "exhausted";
    case Code::io: return "io";
    case Code::internal: return "internal";
  }
  return "internal";
}

const char* to_string(Strength strength) {
  return strength == Strength::kernel ? "kernel" : "sampled";
}

}  // namespace paddock
