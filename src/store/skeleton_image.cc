// The root of a template made from an imported image.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "linux/tree.h"
#include "store/skeleton.h"
#include "store/skeleton_accounts.h"
#include "store/skeleton_tree.h"

namespace paddock::store {

namespace {

// A file of the image as text; "" when there is none. Its links are the image's, and lead nowhere
// else.
std::string text_in(int image, const std::string& path) {
  Result<Fd> file = kernel::open_as_root(image, path, O_RDONLY);
  if (!file) return "";
  Result<std::string> text = read_all(file.value().get(), 1 << 20);
  return text ? std::move(text).value() : "";
}

// The image has been unpacked without links that lead out; this relies on it and follows none.
Result<void> copy_tree(SkeletonTree& tree, int folder, const std::string& path) {
  for (const std::string& name : TRY(kernel::list_directory(folder))) {
    std::string below = path.empty() ? name : cat(path, "/", name);
    TRY(tree.copy_beneath(folder, name, below));
    Result<Fd> inner = kernel::open_beneath(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (inner) TRY(copy_tree(tree, inner.value().get(), below));
  }
  return {};
}

}  // namespace

// An image keeps its own accounts and gets `user` as well, as every template has it. Directories
// that mounts need are made where the image lacks them.
Result<void> copy_image_root(const std::string& image_root, const std::string& root) {
  Fd image = TRY(open_file(image_root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  SkeletonTree tree = TRY(SkeletonTree::create(root));
  TRY(copy_tree(tree, image.get(), ""));
  for (const char* path : {"dev", "proc", "sys", "run", "tmp", "etc", "home"})
    if (!kernel::open_as_root(image.get(), path, O_PATH | O_DIRECTORY))
      TRY(tree.directory(path, std::string_view(path) == "tmp" ? 01777 : 0755));

  Accounts accounts = standard_accounts();
  bool bash = static_cast<bool>(kernel::open_as_root(image.get(), "bin/bash", O_PATH));
  std::string passwd = text_in(image.get(), "etc/passwd"),
              group = text_in(image.get(), "etc/group");
  if (passwd.empty()) passwd = cat("root:x:0:0:root:/root:", bash ? "/bin/bash" : "/bin/sh", "\n");
  if (group.empty()) group = accounts.group;
  TRY(tree.file("etc/passwd", with_account(passwd, cat("user:x:1000:1000::/home/user:",
                                                       bash ? "/bin/bash" : "/bin/sh"))));
  TRY(tree.file("etc/group", with_account(group, "user:x:1000:")));
  std::string shadow = text_in(image.get(), "etc/shadow");
  if (!shadow.empty())
    TRY(tree.file("etc/shadow", with_account(shadow, "user:*:19700:0:99999:7:::"), 0640,
                  {0, kShadowGroup}));
  if (!kernel::open_as_root(image.get(), "etc/resolv.conf", O_PATH))
    TRY(tree.file("etc/resolv.conf", ""));

  Owner user{kUserId, kUserId};
  TRY(tree.directory("home/user", 0755, user));
  for (const char* name : {".bashrc", ".profile"}) {
    std::string text = text_in(image.get(), cat("etc/skel/", name));
    if (!text.empty()) TRY(tree.file(cat("home/user/", name), text, 0644, user));
  }
  for (const char* bin : {"usr/bin", "bin"}) {
    if (!kernel::open_beneath(image.get(), bin, O_PATH | O_DIRECTORY)) continue;
    TRY(tree.remove(cat(bin, "/sudo")));
    return tree.link(cat(bin, "/sudo"), "/run/paddock/bin/sudo");
  }
  return {};
}

}  // namespace paddock::store
