// Making an image out of a tarball, a `docker save` archive, or an OCI layout (a directory or a
// tarball of one).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "paddock/error.h"
#include "store/extract.h"
#include "store/image.h"

namespace paddock::store {

struct ImportOptions {
  UnpackLimits limits;
  std::function<void(const UnpackReport&)> progress;
};

struct Imported {
  Image image;
  // What was left out.
  std::vector<std::string> notes;
};

// All or nothing: the image appears under its name when it is complete. An existing name is
// refused.
Result<Imported> import_image(const std::string& name, const std::string& file,
                              const ImportOptions& options);

}  // namespace paddock::store
