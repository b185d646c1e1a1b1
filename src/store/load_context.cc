#include "store/load_context.h"

#include <limits.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/state.h"

namespace paddock::store {

// The reader of policy files for programs; policy/ itself does no I/O.
policy::LoadContext load_context() {
  char path[PATH_MAX];
  const char* directory = ::getcwd(path, sizeof path) ? path : "/";
  return {{directory, store::home_directory()},
          [](const std::string& file) { return read_file(file); }};
}

}  // namespace paddock::store
