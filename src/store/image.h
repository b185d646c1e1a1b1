// Images: root filesystems by name, for `paddock run --root NAME`. Importing one is in
// store/import.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "paddock/error.h"

namespace paddock::store {

struct Image {
  std::string name;
  // The directory that becomes "/".
  std::string root;
  // The file it came from, without its directories.
  std::string source;
  uint64_t bytes = 0;
  uint64_t files = 0;
  // 0 for a plain tarball.
  uint64_t layers = 0;
  int64_t imported_seconds = 0;
};

// Matches [a-z0-9][a-z0-9._-]*, at most 128.
bool is_image_name(const std::string& name);

Result<Image> find_image(const std::string& name);

// By name.
Result<std::vector<Image>> list_images();
Result<void> remove_image(const std::string& name);

// Beside the root in the image's directory.
std::string image_meta(const Image& image);

// Removes what an interrupted import or removal left. Harmless while others are at work: they hold
// a lock.
Result<void> sweep_images(int images);

}  // namespace paddock::store
