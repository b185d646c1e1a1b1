// Host ids that belong to one sandbox alone for as long as they are held. Sandboxes that shared an
// id would have rights over each other's files and processes.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::runs {

struct UidSlot {
  uint32_t uid = 0;
  uint32_t spare = 0;  // an id that no process keeps: for a root that is unused
  Fd lock;             // pass it to the keeper: the slot is free again when the last holder is gone
};

// Only for root. The uids come from a range that no account, container manager or systemd uses;
// inside a user namespace that does not map that range, from its upper end.
Result<UidSlot> take_uid_slot();

// The same for all the ids of a living sandbox: store::kIdCount of them, uids and gids alike.
struct IdRange {
  uint32_t first = 0;
  Fd lock;
};
Result<IdRange> take_id_range();

}  // namespace paddock::runs
