#include "tools/decide/call_slots.h"

#include <fcntl.h>

#include <cstring>

#include "base/digest.h"
#include "base/text.h"
#include "tools/private_directory.h"

namespace paddock::tools {

namespace {

// Each key has bytes of its own in a file that stays empty: a lock may lie beyond its end.
off_t first_byte(const std::string& key) {
  uint64_t number = 0;
  std::string digest = sha256_bytes(key);
  std::memcpy(&number, digest.data(), sizeof number);
  return static_cast<off_t>(number % (uint64_t{1} << 50) * CallSlots::kMost);
}

}  // namespace

// Takes a slot at once, to find out now whether locks work in this directory.
Result<CallSlots> CallSlots::open(const std::string& directory) {
  CallSlots slots(TRY(open_private_directory(directory)));
  (void)TRY(slots.take("", 1));
  return slots;
}

// Tries the locks of the key one after the other until one is free.
Result<std::optional<Fd>> CallSlots::take(const std::string& key, uint64_t most) const {
  // A lock belongs to the open file, not to the process: every slot opens its own.
  Fd file(::openat(directory_.get(), "places",
                   O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file) return errno_error(errno, "open tools/places in the state directory");
  TRY(check_private_file(file.get(), "use tools/places in the state directory"));
  off_t first = first_byte(key);
  for (uint64_t i = 0; i < most && i < kMost; ++i) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = first + static_cast<off_t>(i);
    lock.l_len = 1;
    if (::fcntl(file.get(), F_OFD_SETLK, &lock) == 0) return std::optional<Fd>(std::move(file));
    if (errno != EAGAIN && errno != EACCES)
      return errno_error(errno, "lock tools/places in the state directory");
  }
  return std::optional<Fd>();
}

}  // namespace paddock::tools
