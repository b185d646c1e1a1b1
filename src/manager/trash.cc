// Removing what may be large: out of sight at once, by rename; from the disk when the cleaner comes
// to it.
#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "linux/tree.h"
#include "manager/manager.h"
#include "store/state.h"

namespace paddock::manager {

void Manager::discard(const std::string& path) {
  Result<std::string> name = store::random_name(16);
  if (!name) return;  // stays, without a record; the next start removes it
  if (::renameat(AT_FDCWD, path.c_str(), trash_fd_.get(), name.value().c_str()) != 0) return;
  io::spawn(remove_trash(std::move(name).value()));
}

io::Task<void> Manager::remove_trash(std::string name) {
  if (stopping_) co_return;
  Busy busy(*this);
  int trash = trash_fd_.get();
  std::function<void()> work = [trash, name] { (void)kernel::remove_tree(trash, name); };
  co_await cleaner_->run(work);
}

}  // namespace paddock::manager
