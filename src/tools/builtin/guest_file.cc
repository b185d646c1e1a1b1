#include "tools/builtin/guest_file.h"

#include "base/text.h"
#include "tools/builtin/progress.h"
#include "wall/request.h"

namespace paddock::tools::builtin {

using guest::Channel;
using io::Task;

std::string placed(const manager::Sandbox& sandbox, const std::string& path) {
  bool is_relative = !path.empty() && path[0] != '/' && path[0] != '~';
  return is_relative && !sandbox.info().workspace.empty() ? cat(wall::kWorkspace, "/", path) : path;
}

uint64_t size_of(const Value& entry) {
  const Value* size = entry.find("size");
  return size && size->as_int() && *size->as_int() > 0 ? static_cast<uint64_t>(*size->as_int()) : 0;
}

std::string path_in(const Value& entry, const std::string& otherwise) {
  const Value* path = entry.find("path");
  return path && path->as_string() ? *path->as_string() : otherwise;
}

Task<Result<FilePart>> read_beginning(io::Loop& loop, std::shared_ptr<mcp::Context> context,
                                      manager::RunningSandbox inside, std::string path,
                                      size_t most) {
  constexpr io::Milliseconds kPatience = 60'000;
  Value request = Value::Object{{"op", "read"},
                                {"own_rights", true},
                                {"path", path},
                                {"length", static_cast<uint64_t>(most)}};
  std::shared_ptr<Channel> channel = inside.guest->open(request);
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
  part.is_whole = part.bytes.size() < most || size_of(part.entry) == part.bytes.size();
  co_return part;
}

}  // namespace paddock::tools::builtin
