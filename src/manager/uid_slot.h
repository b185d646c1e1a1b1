// A host uid that belongs to one sandbox alone, for as long as the slot is held.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::manager {

struct UidSlot {
  uint32_t uid = 0;
  Fd lock;  // pass it to the keeper: the slot is free again when the last holder is gone
};

// Only for root. The uids come from a range that no account, container manager or systemd uses; inside a user
// namespace that does not map that range, from its upper end.
Result<UidSlot> take_uid_slot();

}  // namespace paddock::manager
