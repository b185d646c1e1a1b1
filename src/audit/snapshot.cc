#include "audit/snapshot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/head.h"
#include "audit/log_directory.h"
#include "base/text.h"

namespace paddock::audit {

// Under a shared lock: sizes, head and key belong to one moment.
Result<Snapshot> Snapshot::take(const std::string& path, std::string_view boot) {
  Snapshot snapshot;
  snapshot.directory = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int directory = snapshot.directory.get();
  if (directory < 0) return errno_error(errno, cat("open the audit log '", printable(path), "'"));
  Lock lock = TRY(Lock::take(directory, true));
  Result<Fd> head = open_in(directory, "head", O_RDONLY);
  snapshot.has_head = static_cast<bool>(head);
  if (!head && head.error().code != Code::not_found) return head.error();
  Result<std::string> seed = read_seed(directory);
  if (seed)
    snapshot.seed = std::move(seed.value());
  else if (seed.error().code != Code::not_found && seed.error().code != Code::denied)
    return seed.error();
  for (uint64_t number : TRY(segment_numbers(directory))) {
    struct stat info;
    if (::fstatat(directory, segment_name(number).c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return errno_error(errno, "look at the audit log");
    snapshot.segments.push_back({number, static_cast<uint64_t>(info.st_size)});
  }
  if (!snapshot.seed) return snapshot;
  std::string bytes(kHeadSize + 1, '\0');
  ssize_t count = head ? ::pread(head.value().get(), bytes.data(), bytes.size(), 0) : 0;
  if (count < 0) return errno_error(errno, "read the audit log's head");
  bytes.resize(static_cast<size_t>(count));
  snapshot.log_end = TRY(
      examine(directory, read_heads(bytes, mac_key_of(*snapshot.seed)), snapshot.has_head, boot));
  const LogEnd& log_end = *snapshot.log_end;
  if (log_end.kind == LogEnd::Kind::damaged || log_end.torn == 0) return snapshot;
  // These bytes are not part of the log; the next writer removes them.
  for (Segment& segment : snapshot.segments)
    if (segment.number == log_end.cut) segment.size = log_end.cut_at;
  return snapshot;
}

uint64_t Snapshot::bytes() const {
  uint64_t sum = 0;
  for (const Segment& segment : segments) sum += segment.size;
  return sum;
}

// The size of the snapshot counts, not that of the file, which may have grown.
Result<Fd> Snapshot::open(const Segment& segment) const {
  return open_in(directory.get(), segment_name(segment.number), O_RDONLY);
}

}  // namespace paddock::audit
