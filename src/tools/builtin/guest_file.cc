#include "tools/builtin/guest_file.h"

#include "base/text.h"
#include "guest/protocol.h"
#include "tools/builtin/progress.h"
#include "wall/request.h"

namespace paddock::tools::builtin {

using guest::Channel;
using io::Task;

// Leaves absolute paths and those beginning with `~` to the guest, which knows the user's home.
std::string placed(const manager::Sandbox& sandbox, const std::string& path) {
  bool is_relative = !path.empty() && path[0] != '/' && path[0] != '~';
  return is_relative && !sandbox.info().workspace.empty() ? cat(wall::kWorkspace, "/", path) : path;
}

// The guest sends the entry first, then the bytes.
Task<Result<FilePart>> read_beginning(io::Loop& loop, std::shared_ptr<mcp::Context> context,
                                      manager::RunningSandbox inside, std::string path,
                                      size_t most) {
  constexpr io::Milliseconds kPatience = 60'000;
  guest::ReadRequest request{
      .path = path, .length = static_cast<int64_t>(most), .own_rights = true};
  std::shared_ptr<Channel> channel = inside.guest->open(guest::to_value(request));
  std::shared_ptr<void> watched = manager::cancel_with(inside, channel);
  OnCancel cancel(context, [channel] { channel->cancel(); });
  FilePart part;
  io::Milliseconds deadline = loop.now() + kPatience;
  while (true) {
    Channel::Item item = co_await channel->next(deadline);
    if (item.kind == Channel::Item::Kind::message) {
      if (const Value* entry = item.value.find("entry")) part.entry = *entry;
    } else if (item.kind == Channel::Item::Kind::data) {
      part.bytes.append(item.bytes, 0, most - part.bytes.size());
    } else if (item.kind == Channel::Item::Kind::end) {
      break;
    } else {
      co_return item.kind == Channel::Item::Kind::failed
          ? manager::from_guest(item.error)
          : Error{Code::io, "the sandbox does not answer", ""};
    }
  }
  // Files of /proc say that they are empty and are not.
  part.is_whole = part.bytes.size() < most || count_in(part.entry, "size") == part.bytes.size();
  co_return part;
}

}  // namespace paddock::tools::builtin
