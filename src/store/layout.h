// Finding the layers of an image in a directory: an OCI layout, or what `docker save` packs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::store {

// Layers from the bottom up, opened and with their digests verified; nothing if the directory is
// neither kind of layout. Refuses a layout that holds several images for this machine.
Result<std::optional<std::vector<Fd>>> open_layers(int directory);

}  // namespace paddock::store
