// A directory of this machine as a tar stream.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::store {

// Takes the next bytes of the archive.
using PackSink = std::function<Result<void>(std::string_view bytes)>;

// Everything beneath `directory`, names relative to it, as pax. Links stay links; devices, sockets
// and pipes are left out. A file that changes meanwhile is cut or filled with zeros to the size it
// had. What `keep` says no to is left out, with all that is beneath it.
using PackFilter = std::function<bool(const std::string& path, bool is_directory)>;
Result<void> pack_directory(int directory, const PackSink& sink, const PackFilter& keep = nullptr);

}  // namespace paddock::store
