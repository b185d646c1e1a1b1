// Unpacking tarballs of any compression. Only archive.cc knows libarchive; extract.cc does the
// writing.
#pragma once

#include <functional>
#include <string>

#include "paddock/error.h"
#include "store/extract.h"

namespace paddock::store {

struct UnpackOptions {
  // A layer of an image holds whiteouts (".wh.name", ".wh..wh..opq") that speak of the layers below
  // it only. So they are carried out in a first pass over the layer, and left out in the second.
  enum class Pass : uint8_t { plain, whiteouts, content } pass = Pass::plain;
  UnpackLimits limits;
  std::function<void(const UnpackReport&)> progress;
};

// Unpacks from the start of `archive` (a pipe: from where it is) into the directory `root`.
// `report` adds up over calls and with it the limits. On failure some entries may have been
// written; the caller removes the directory.
Result<void> unpack_archive(int archive, int root, const UnpackOptions& options,
                            UnpackReport& report);

}  // namespace paddock::store
